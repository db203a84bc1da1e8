// Where the addresses that a program holds lie, and where their words are.
//
//   program     window    a         no access: only blocks touch what is there
//   pool, with codes      2 a       word     8 bytes
//                         2 a + 8   code     8 bytes, the word's code (ecc/word_code.hpp)
//   pool, without         2 w + (a - w)      the word, where w is the window's begin
//
// A pool's window begins at half of the pool's address and is as long as the pool. If the pool has codes, the window's
// first half covers it, and so does the second half: blocks that are known by an address there have no codes. So one
// comparison of an address tells a word of the heap that has a code. Without codes the window is the pool, moved.
//
// Static variables have a window of their own, the section of the program that they are in; their words are in a region
// of the pool, which has another distance.
// Source: DNV Memory, section 3.2, Figure 3.
#pragma once

#include <holdfast/ecc/word_code.hpp>

#include <cstdint>

namespace holdfast::dnv {

/// Bytes of a pool with codes for a byte of the window. The window of any pool begins at the pool's address over it.
inline constexpr std::uintptr_t coded_expansion = 2;
/// Bytes of the pool for a byte of the window.
constexpr std::uintptr_t expansion_of(bool is_coded) noexcept { return is_coded ? coded_expansion : 1; }

/// The window of the open pool. Set while no thread is in a block; plain loads afterwards.
struct placement {
    std::uintptr_t heap_begin = 0;
    std::uintptr_t coded_bytes = 0;       ///< of the heap's window, from its begin on: words there have codes
    std::uintptr_t heap_bytes = 0;        ///< of the whole window
    std::uintptr_t expansion = 1;         ///< bytes of the pool for a byte of a window
    std::uintptr_t doubled_bits = 0;      ///< of an address that expansion doubles: all or none
    std::uintptr_t uncoded_distance = 0;  ///< from an expanded address behind the coded bytes to its place
    std::uintptr_t statics_begin = 0;
    std::uintptr_t statics_bytes = 0;
    std::uintptr_t statics_distance = 0;  ///< from an expanded address in the statics' window to its place
    bool is_coded = false;  ///< the pool has codes

    [[gnu::always_inline]] bool coded_heap_holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < coded_bytes;
    }
    [[gnu::always_inline]] bool heap_holds(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - heap_begin < heap_bytes;
    }
    [[gnu::always_inline]] bool statics_hold(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - statics_begin < statics_bytes;
    }
    [[gnu::always_inline]] bool holds(const void* at) const noexcept {
        return heap_holds(at) || statics_hold(at);
    }
    bool has_code(const void* at) const noexcept { return find(at).has_code; }
    [[gnu::always_inline]] static ecc::coded_word* doubled(const void* at) noexcept {
        return reinterpret_cast<ecc::coded_word*>(reinterpret_cast<std::uintptr_t>(at) * coded_expansion);
    }
    /// Where a word is, if a window holds it. Requires: 8-aligned.
    struct found {
        ecc::coded_word* place;  ///< nullptr: none does
        bool has_code;           ///< if not, another word may be behind it
    };
    [[gnu::always_inline]] found find(const void* at) const noexcept {
        if (coded_heap_holds(at)) [[likely]] return {doubled(at), true};
        if (heap_holds(at)) [[likely]] return {uncoded(at), false};
        if (statics_hold(at)) return {moved(at, statics_distance), is_coded};
        return {nullptr, false};
    }
    /// Where a word of the heap that has no code is.
    [[gnu::always_inline]] ecc::coded_word* uncoded(const void* at) const noexcept {
        return moved(at, uncoded_distance);
    }
    [[gnu::always_inline]] ecc::coded_word* moved(const void* at, std::uintptr_t distance) const noexcept {
        // Faster than a product.
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        return reinterpret_cast<ecc::coded_word*>(address + distance + (address & doubled_bits));
    }
    /// The address in the window's coded part, or without codes in all of it, of what lies there. Requires: a place of
    /// the pool that is mapped at coded_expansion * heap_begin.
    std::uint64_t* window_of(const void* place) const noexcept {
        const auto offset = reinterpret_cast<std::uintptr_t>(place) - coded_expansion * heap_begin;
        return reinterpret_cast<std::uint64_t*>(heap_begin + offset / expansion);
    }
    /// From the address of a word that has a code to the one that has none, and has the same place. Requires: the pool
    /// has codes.
    std::uintptr_t uncoded_offset() const noexcept { return coded_bytes; }

    /// Of a pool that is mapped at `base` and may grow to `reserved_bytes`; it has no static variables yet.
    static placement of_pool(const void* base, std::uint64_t reserved_bytes, bool is_coded) noexcept {
        placement made;
        made.heap_begin = reinterpret_cast<std::uintptr_t>(base) / coded_expansion;
        made.heap_bytes = reserved_bytes;
        made.coded_bytes = is_coded ? reserved_bytes / coded_expansion : 0;
        made.expansion = expansion_of(is_coded);
        made.doubled_bits = is_coded ? ~std::uintptr_t{0} : 0;
        // Without codes the pool's address is twice the window's begin.
        made.uncoded_distance = is_coded ? 0 - coded_expansion * made.coded_bytes : made.heap_begin;
        made.is_coded = is_coded;
        return made;
    }
    /// Static variables of `bytes` are at `window`, and their words at `region`.
    void put_statics(std::uintptr_t window, std::uint64_t bytes, const void* region) noexcept {
        statics_distance = reinterpret_cast<std::uintptr_t>(region) - window * expansion;
        statics_begin = window;
        statics_bytes = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    }
};
inline constinit placement the_placement;

/// Where the word of a window address is. Requires: the placement holds it; 8-aligned.
[[gnu::always_inline]] inline ecc::coded_word* place_of(const void* at) noexcept {
    return the_placement.find(at).place;
}
/// The window address of what lies at a place of the heap.
inline std::uint64_t* window_of(const void* place) noexcept { return the_placement.window_of(place); }

}  // namespace holdfast::dnv
