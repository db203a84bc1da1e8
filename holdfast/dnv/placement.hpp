// Where the addresses that a program holds lie, and where their words are.
//
//   program     window   a        no access: only blocks touch what is there
//   pool        2 a      word     8 bytes
//               2 a + 8  code     8 bytes, the word's code (ecc/word_code.hpp), if the pool has codes
//
// A pool's window begins at half of the pool's address. Static variables have a window of their own, the section of the
// program that they are in, and behind it, at twice its address, a second mapping of their part of the pool. (The
// observed build has no second mapping: who observes stores and loads knows the pool at one place.)
// Source: DNV Memory, section 3.2, Figure 3.
#pragma once

#include <holdfast/ecc/word_code.hpp>

#include <cstdint>

namespace holdfast::dnv {

/// Window bytes to pool bytes, and addresses.
inline constexpr std::uintptr_t expansion = 2;

/// The window of the open pool. Set while no thread is in a block; plain loads afterwards.
struct placement {
    std::uintptr_t heap_begin = 0;
    std::uintptr_t heap_bytes = 0;
    std::uintptr_t statics_begin = 0;
    std::uintptr_t statics_bytes = 0;
    bool is_coded = false;
#ifdef HOLDFAST_OBSERVED
    std::uintptr_t statics_homes = 0;  ///< where the static variables' part of the pool is mapped
#endif

    bool holds(const void* at) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        return address - heap_begin < heap_bytes || address - statics_begin < statics_bytes;
    }
    bool heap_holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < heap_bytes;
    }
};
inline constinit placement the_placement;

/// Where the word of a window address is. Requires: the placement holds it; 8-aligned.
inline ecc::coded_word* place_of(const void* at) noexcept {
#ifdef HOLDFAST_OBSERVED
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - the_placement.statics_begin;
    if (offset < the_placement.statics_bytes)
        return reinterpret_cast<ecc::coded_word*>(the_placement.statics_homes + offset * expansion);
#endif
    return reinterpret_cast<ecc::coded_word*>(reinterpret_cast<std::uintptr_t>(at) * expansion);
}
/// The window address of a word of the pool.
inline std::uint64_t* window_of(const void* place) noexcept {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(place) / expansion);
}

}  // namespace holdfast::dnv
