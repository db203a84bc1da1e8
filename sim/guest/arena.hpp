// The persistent arena: the addresses that the simulated machine has in NVRAM, and an allocator in them. Its metadata
// lies in the arena, too, and is changed through the access of whoever allocates, in its transaction: what logs those
// stores, hardware or software, makes the allocator crash-consistent.
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

    /// Aligned to 16, contents arbitrary. Gives up when the thread's part is full. `by` loads and stores.
    template <class Access>
    void* allocate(const Access& by, std::uint32_t thread, std::size_t bytes) noexcept;
    template <class Access>
    void free(const Access& by, std::uint32_t thread, void* address) noexcept;
    /// Makes all of the thread's part free again, as it was at first. Requires: nothing of it is in use.
    template <class Access>
    void clear(const Access& by, std::uint32_t thread) noexcept;

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

    static constexpr std::size_t in_slabs(std::size_t bytes) noexcept {
        return (bytes + slab_bytes - 1) & ~(slab_bytes - 1);
    }
    template <class Access>
    static char* take(const Access& by, part& from, std::size_t bytes) noexcept;

    std::uint64_t threads_;
    part parts_[most_threads];
    alignas(64) unsigned char root_[root_bytes];
};

template <class Access>
char* arena::take(const Access& by, part& from, std::size_t bytes) noexcept {
    char* const taken = by.load(&from.next);
    bytes = in_slabs(bytes);
    if (bytes > static_cast<std::size_t>(from.end - taken)) give_up("the arena is full");
    by.store(&from.next, taken + bytes);
    return taken;
}

template <class Access>
void* arena::allocate(const Access& by, std::uint32_t thread, std::size_t bytes) noexcept {
    part& mine = parts_[thread];
    const std::size_t size = (bytes + step - 1) / step;
    if (size >= sizes) {
        char* const large = take(by, mine, slab_header_bytes + bytes);
        by.store(&reinterpret_cast<slab_header*>(large)->size, 0);
        return large + slab_header_bytes;
    }
    supply& of_size = mine.supplies[size];
    if (free_block* const block = by.load(&of_size.freed); block != nullptr) {
        by.store(&of_size.freed, by.load(&block->next));
        return block;
    }
    const std::size_t block_bytes = size * step;
    char* block = by.load(&of_size.next);
    if (block == nullptr || block_bytes > static_cast<std::size_t>(by.load(&of_size.end) - block)) {
        char* const slab = take(by, mine, slab_bytes);
        by.store(&reinterpret_cast<slab_header*>(slab)->size, size);
        block = slab + slab_header_bytes;
        by.store(&of_size.end, slab + slab_bytes);
    }
    by.store(&of_size.next, block + block_bytes);
    return block;
}

template <class Access>
void arena::free(const Access& by, std::uint32_t thread, void* address) noexcept {
    const auto slab = reinterpret_cast<std::uintptr_t>(address) & ~(slab_bytes - 1);
    const std::uint64_t size = by.load(&reinterpret_cast<const slab_header*>(slab)->size);
    if (size == 0) return;
    auto* const block = static_cast<free_block*>(address);
    supply& of_size = parts_[thread].supplies[size];
    by.store(&block->next, by.load(&of_size.freed));
    by.store(&of_size.freed, block);
}

template <class Access>
void arena::clear(const Access& by, std::uint32_t thread) noexcept {
    part& mine = parts_[thread];
    by.store(&mine.next, mine.begin);
    for (supply& of_size : mine.supplies) {
        if (by.load(&of_size.end) == nullptr) continue;
        by.store(&of_size.freed, nullptr);
        by.store(&of_size.next, nullptr);
        by.store(&of_size.end, nullptr);
    }
}

}  // namespace holdfast::guest
