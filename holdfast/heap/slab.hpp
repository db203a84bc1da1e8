// The volatile view of one slab: which blocks are live, free, or freed by a transaction still open.
// Once built from the state bytes it is the truth; the bytes are never read again, because inside a
// transaction they may be stale (an engine that stores at commit) or uncommitted (one that stores in place).
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/heap/heap_format.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast::detail {

/// Where a slab stands. Changed under the heap's mutex.
enum class slab_place : std::uint8_t {
    nowhere,   ///< no slab: an unused view, or one taken apart by an open session
    owned,     ///< in an arena
    detached,  ///< in no list: no block is free
    partial,   ///< in its class's list of partly free slabs
    empty,     ///< in its class's list of wholly free slabs
};

struct arena;

/// 64 blocks. A block is live (`live`), free and given back by some session (`returned`), free and at the
/// owning arena's disposal (`local`), or none of them: freed by an open session, or damaged.
struct slab_word {
    std::atomic<std::uint64_t> live{0};
    std::atomic<std::uint64_t> returned{0};
    std::uint64_t local = 0;
};

/// Aligned so that a page entry can carry its address, and hot fields share one line.
/// Thread safety: `live`, `returned` and `place` may be touched by any thread; `local` only by the holder of
/// the owning arena, or under the mutex while no arena owns the slab (it is 0 then).
struct alignas(64) slab {
    std::byte* states = nullptr;  ///< also the slab's first byte
    std::byte* blocks = nullptr;
    std::uint32_t page = 0;
    std::uint32_t block_bytes = 0;
    std::uint8_t class_index = 0;
    std::uint8_t word_count = 0;
    std::atomic<slab_place> place{slab_place::nowhere};
    bool damaged = false;  ///< some state bytes cannot be
    /// Held by the open session that creates the slab; nullptr once that is committed.
    std::atomic<const arena*> creator{nullptr};
    std::array<slab_word, heap_format::slab_blocks_max / 64> words;
    slab* next = nullptr;
    slab* previous = nullptr;

    const heap_format::slab_class& geometry() const noexcept { return heap_format::slab_classes[class_index]; }
    std::byte* block(std::uint32_t index) const noexcept { return blocks + std::size_t{index} * block_bytes; }

    /// Makes the view one of a slab at `home` with every block free, in an arena's hands.
    void reset(std::byte* home, std::uint32_t first_page, std::uint8_t class_of_slab) noexcept {
        class_index = class_of_slab;
        const heap_format::slab_class& shape = geometry();
        states = home;
        blocks = home + shape.first_block;
        page = first_page;
        block_bytes = shape.block_bytes;
        word_count = static_cast<std::uint8_t>((shape.blocks + 63) / 64);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i].live.store(0, std::memory_order_relaxed);
            words[i].returned.store(0, std::memory_order_relaxed);
            words[i].local = full_mask(i);
        }
        next = previous = nullptr;
        creator.store(nullptr, std::memory_order_relaxed);
        damaged = false;
    }

    /// Makes the view from the state bytes. Damaged ones become neither free nor live.
    void read_states() noexcept {
        for (std::size_t i = 0; i < words.size(); ++i) words[i].local = 0;
        for (std::uint32_t i = 0; i < geometry().blocks; ++i) {
            const std::uint8_t state = state_byte(i);
            slab_word& word = words[i / 64];
            if (state == heap_format::block_free) {
                word.returned.fetch_or(bit_of(i), std::memory_order_relaxed);
            } else if (state == heap_format::block_allocated) {
                word.live.fetch_or(bit_of(i), std::memory_order_relaxed);
            } else {
                damaged = true;
            }
        }
    }

    std::uint8_t state_byte(std::uint32_t index) const noexcept {
        return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(states + index), __ATOMIC_RELAXED);
    }

    static std::uint64_t bit_of(std::uint32_t index) noexcept { return std::uint64_t{1} << index % 64; }
    static std::uint64_t mask_of(const heap_format::slab_class& shape, std::size_t word) noexcept {
        const std::size_t before = word * 64;
        const std::size_t blocks_here = shape.blocks <= before ? 0 : shape.blocks - before;
        return blocks_here >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << blocks_here) - 1;
    }
    std::uint64_t full_mask(std::size_t word) const noexcept { return mask_of(geometry(), word); }

    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A free block, now live; none if the arena has none at its disposal. Requires: owned by the caller's arena.
    std::uint32_t take() noexcept {
        for (std::uint32_t i = 0; i < word_count; ++i) {
            slab_word& word = words[i];
            if (word.local == 0) continue;
            const std::uint64_t lowest = word.local & (~word.local + 1);
            word.local ^= lowest;
            [[maybe_unused]] const auto live_before = word.live.fetch_or(lowest, std::memory_order_relaxed);
            HOLDFAST_ASSERT((live_before & lowest) == 0, "a block has one owner");
            return i * 64 + static_cast<std::uint32_t>(std::countr_zero(lowest));
        }
        return none;
    }

    /// Takes over what other sessions gave back. Requires: owned by the caller's arena.
    bool collect() noexcept {
        std::uint64_t found = 0;
        for (std::uint32_t i = 0; i < word_count; ++i) {
            slab_word& word = words[i];
            if (word.returned.load(std::memory_order_seq_cst) != 0) word.local |= word.returned.exchange(0);
            found |= word.local;
        }
        return found != 0;
    }

    /// Marks a block as freed by an open session. False: it was not live.
    bool start_release(std::uint32_t index) noexcept {
        const std::uint64_t before = words[index / 64].live.fetch_and(~bit_of(index), std::memory_order_acq_rel);
        return (before & bit_of(index)) != 0;
    }
    void undo_release(std::uint32_t index) noexcept {
        [[maybe_unused]] const std::uint64_t before = words[index / 64].live.fetch_or(bit_of(index));
        HOLDFAST_ASSERT((before & bit_of(index)) == 0, "a block whose release is taken back was released");
    }

    /// Makes a block free for the next request. True: the slab may now be in the wrong list, `settle` it.
    // The bit is set before `place` is read, and an arena that lets go sets `place` before it looks
    // for bits, all sequentially consistent: one of the two sees the other. Once the bit is set others may
    // take the slab apart and reuse the view, so its shape is read before; a wrong answer then costs a look.
    bool give_back(std::uint32_t index) noexcept {
        const heap_format::slab_class& shape = geometry();
        [[maybe_unused]] const std::uint64_t before = words[index / 64].returned.fetch_or(bit_of(index));
        HOLDFAST_ASSERT((before & bit_of(index)) == 0, "a block is given back once");
        switch (place.load()) {
            case slab_place::detached: return true;
            case slab_place::partial: return wholly_free_as(shape);
            default: return false;
        }
    }

    /// Requires: no arena owns the slab.
    bool wholly_free() const noexcept { return wholly_free_as(geometry()); }
    bool wholly_free_as(const heap_format::slab_class& shape) const noexcept {
        for (std::size_t i = 0; i * 64 < shape.blocks; ++i)
            if (words[i].returned.load() != mask_of(shape, i)) return false;
        return true;
    }
    bool any_returned() const noexcept {
        for (std::size_t i = 0; i < word_count; ++i)
            if (words[i].returned.load() != 0) return true;
        return false;
    }

    /// The block that begins at `address`; none when no block begins there.
    std::uint32_t index_of(const std::byte* address) const noexcept {
        if (address < blocks) return none;
        const auto distance = static_cast<std::uint32_t>(address - blocks);
        const std::uint32_t index = distance / block_bytes;
        return index * block_bytes == distance && index < geometry().blocks ? index : none;
    }
};

/// A list of slabs, last in, first out. Guarded by the heap's mutex.
struct slab_list {
    slab* first = nullptr;
    std::uint64_t count = 0;

    void push(slab* added) noexcept {
        added->next = first;
        added->previous = nullptr;
        if (first != nullptr) first->previous = added;
        first = added;
        ++count;
    }
    void remove(slab* gone) noexcept {
        HOLDFAST_ASSERT(count != 0 && (gone->previous != nullptr || first == gone), "what leaves a list is in it");
        (gone->previous != nullptr ? gone->previous->next : first) = gone->next;
        if (gone->next != nullptr) gone->next->previous = gone->previous;
        gone->next = gone->previous = nullptr;
        --count;
    }
};

}  // namespace holdfast::detail
