// A word that no code corrects, and what a program may do about it.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::dnv {

/// A word of the pool whose bits were flipped beyond repair. Plain data.
struct damage {
    const void* address = nullptr;   ///< in the window, as the program has it
    std::uint64_t word = 0;          ///< as found
    std::uint64_t code = 0;          ///< as found
    const void* block = nullptr;     ///< the block that it is in; nullptr: it is in none
    std::uint64_t block_bytes = 0;
    bool is_of_heap = false;         ///< the library's own: a free list, a bin, the Chunk Table. Nobody can supply it
};

/// What happens next.
struct verdict {
    enum class choice : std::uint8_t {
        supply,  ///< `word` is stored there, and the transaction runs again; leave, where the word is the heap's
        leave,   ///< dnv_atomically returns an error; other blocks end the program
        end,     ///< the program ends with a message
    };
    choice what = choice::end;
    std::uint64_t word = 0;

    static verdict supply(std::uint64_t word) { return {choice::supply, word}; }
    static verdict leave() { return {choice::leave, 0}; }
    static verdict end() { return {choice::end, 0}; }
};

using damage_handler = std::function<verdict(const damage&)>;

}  // namespace holdfast::dnv
