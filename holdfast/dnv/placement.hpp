// Where the addresses that a program holds lie, and where their words are.
//
//   program     window   a        no access: only blocks touch what is there
//   pool        2 a      word     8 bytes
//               2 a + 8  code     8 bytes, the word's code (ecc/word_code.hpp), if the pool has codes
//
// A pool's window begins at half of the pool's address. Its first half covers the pool, and so does its second half:
// blocks that are known by an address there have no codes. So one comparison of an address tells a word of the heap
// that has a code. In a pool without codes the first half has none either, and its words are where they would be with.
//
// Static variables have a window of their own, the section of the program that they are in; their words are in a region
// of the pool, which has another distance.
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
    std::uintptr_t coded_bytes = 0;       ///< of the heap's window, from its begin on: words there have codes
    std::uintptr_t doubled_bytes = 0;     ///< of the heap's window: the first half
    std::uintptr_t heap_bytes = 0;        ///< both halves
    std::uintptr_t uncoded_distance = 0;  ///< from twice an address of the heap without codes to its place
    std::uintptr_t statics_begin = 0;
    std::uintptr_t statics_bytes = 0;
    std::uintptr_t statics_distance = 0;  ///< from twice an address in the statics' window to its place
    bool is_coded = false;  ///< the pool has codes

    [[gnu::always_inline]] bool coded_heap_holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < coded_bytes;
    }
    [[gnu::always_inline]] bool first_half_holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < doubled_bytes;
    }
    [[gnu::always_inline]] bool statics_hold(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - statics_begin < statics_bytes;
    }
    [[gnu::always_inline]] bool holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < heap_bytes || statics_hold(at);
    }
    bool has_code(const void* at) const noexcept { return find(at).has_code; }
    [[gnu::always_inline]] static ecc::coded_word* doubled(const void* at) noexcept {
        return reinterpret_cast<ecc::coded_word*>(reinterpret_cast<std::uintptr_t>(at) * expansion);
    }
    /// Where a word is, if a window holds it. Requires: 8-aligned.
    struct found {
        ecc::coded_word* place;  ///< nullptr: none does
        bool has_code;
    };
    [[gnu::always_inline]] found find(const void* at) const noexcept {
        if (first_half_holds(at)) [[likely]] return {doubled(at), is_coded};
        if (statics_hold(at)) return {moved(at, statics_distance), is_coded};
        if (holds(at)) return {moved(at, uncoded_distance), false};
        return {nullptr, false};
    }
    static ecc::coded_word* moved(const void* at, std::uintptr_t distance) noexcept {
        return reinterpret_cast<ecc::coded_word*>(reinterpret_cast<std::uintptr_t>(doubled(at)) + distance);
    }
    /// From the address of a word that has a code to the one that has none, and has the same place.
    std::uintptr_t uncoded_offset() const noexcept { return heap_bytes / 2; }
};
inline constinit placement the_placement;

/// Where the word of a window address is. Requires: the placement holds it; 8-aligned.
[[gnu::always_inline]] inline ecc::coded_word* place_of(const void* at) noexcept {
    return the_placement.find(at).place;
}
/// The window address of a word of the heap, in the first half.
inline std::uint64_t* window_of(const void* place) noexcept {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(place) / expansion);
}

}  // namespace holdfast::dnv
