// The persistent arena: the addresses that the simulated machine has in NVRAM, and an allocator in them. Its metadata
// lies in the arena, too, and is changed by ordinary stores, in the transaction of whoever allocates: what logs those
// stores makes the allocator crash-consistent.
#pragma once

#include <sim/guest/threads.hpp>

namespace holdfast::guest {

/// Slabs of one size of block each, found by the address; what is larger than a block can be is never reused. Each
/// thread allocates in a part of its own, so that which address it gets does not depend on the others; what it frees
/// it keeps. Thread safety: each thread with its own number.
class arena {
public:
    /// Maps the arena, from sim::arena_begin on, and divides it. Requires: once; at most most_threads threads.
    static arena& create(std::size_t bytes_per_thread, std::uint32_t threads) noexcept;

    /// Aligned to 16, contents arbitrary. Gives up when the thread's part is full.
    void* allocate(std::uint32_t thread, std::size_t bytes) noexcept;
    void free(std::uint32_t thread, void* address) noexcept;

    /// A sum over all words that have been allocated, by their places: the same for equal images only.
    std::uint64_t image_checksum() const noexcept;

    /// Where programs keep what they find the rest by. All zero at first.
    static constexpr std::size_t root_bytes = 65536;
    void* root() noexcept { return root_; }

private:
    static constexpr std::size_t slab_bytes = 65536;
    static constexpr std::size_t slab_header_bytes = 64;  ///< so that blocks of a line's size are lines
    static constexpr std::size_t step = 16;
    static constexpr std::size_t sizes = 64;

    struct free_block {
        free_block* next;
    };
    struct slab_header {
        std::uint64_t size;  ///< of its blocks, in steps; 0: something large
    };
    /// Blocks of one size: freed ones first, then those of the slab that were never used.
    struct supply {
        free_block* freed;
        char* next;
        char* end;
    };
    struct alignas(64) part {
        char* begin;
        char* next;
        char* end;
        supply supplies[sizes];
    };

    char* take(part& from, std::size_t bytes) noexcept;

    std::uint64_t threads_;
    part parts_[most_threads];
    alignas(64) unsigned char root_[root_bytes];
};

}  // namespace holdfast::guest
