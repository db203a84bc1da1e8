// The volatile heap behind `heap`: cursors over the zones, free runs, lists of slabs, arenas.
//
// Words used here:
//   cursor    each zone's descriptors are read once, in order and only as far as an allocation needs. Pages
//             before the cursor are known to the page table; those behind it nobody has changed since open.
//   arena     what one open session allocates small blocks from: one slab per class. Held from the session's
//             first small allocation to its end, so nobody else allocates from a slab of uncommitted creation.
//   gather    under pressure: read the remaining slabs, and take idle arenas' slabs back.
//   reclaim   under pressure: take wholly free slabs apart, in the asking transaction.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/heap/page_table.hpp>
#include <holdfast/heap/slab.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace holdfast::detail {

struct alignas(64) arena {
    std::atomic<bool> held{false};
    std::array<slab*, heap_format::class_count> slabs{};
};

/// What an open session did, in order; undone backwards.
enum class op_kind : std::uint8_t {
    small_allocated,  ///< block `index` of `view`
    small_released,   ///< the same
    run_taken,        ///< `run`, from the free runs
    run_pending,      ///< `run` becomes free at commit: the rest of a slab taken apart
    slab_created,     ///< `view`
    slab_dissolved,   ///< `view`
    large_allocated,  ///< `run`
    large_released,   ///< `run`
};
struct heap_op {
    op_kind kind;
    std::uint32_t index;  ///< of the block; or the run's length
    union {
        slab* view;
        std::uint64_t sequence;
    };
    std::uint32_t page;

    static heap_op of_block(op_kind kind, slab* view, std::uint32_t index) noexcept {
        heap_op made{kind, index, {}, 0};
        made.view = view;
        return made;
    }
    static heap_op of_run(op_kind kind, free_run run) noexcept {
        heap_op made{kind, run.pages, {}, run.page};
        made.sequence = run.sequence;
        return made;
    }
    free_run run() const noexcept { return {page, index, sequence}; }
};

/// Room for `count` more, growing in doublings; afterwards push_back does not throw.
inline void make_room(std::vector<heap_op>& ops, std::size_t count) {
    if (ops.capacity() - ops.size() >= count) return;
    ops.reserve(std::max(ops.capacity() * 2, ops.size() + count + 62));
}

/// Pages for a slab or a large block. page 0: none.
struct taken_pages {
    std::uint32_t page = 0;
    bool clean = false;
};

/// A slab with a free block, or nullptr.
struct refilled {
    slab* view = nullptr;
    bool created = false;  ///< its head descriptor and state bytes are still to be stored
};

/// A block's place: in a slab, or a large block.
struct located {
    slab* view = nullptr;
    free_run large;
};

class heap_state {
public:
    heap_state(std::byte* pool, std::span<const heap_zone> zones, std::uint64_t reserved_bytes);

    const std::uint64_t id;  ///< never the same for two heaps of a process
    std::byte* const pool;
    std::mutex mutex;
    std::atomic<std::uint64_t> truncated_sequence{0};
    /// What records of the lives before name. Not said yet: everything.
    std::optional<named_pages> named_at_open;

    page_entry entry_of(const void* address) const noexcept {
        return pages_.entry(static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pool) /
                            heap_format::page_bytes);
    }
    std::byte* address_of(std::uint32_t page) const noexcept {
        return pool + std::uint64_t{page} * heap_format::page_bytes;
    }
    /// The home location of a page's descriptor, and the word that makes it a head.
    std::byte* descriptor_home(std::uint32_t page) const noexcept;
    std::uint64_t descriptor_word(std::uint32_t page, heap_format::descriptor what) const noexcept;

    /// An arena nobody holds, now held; `hint` when it is free. Takes the mutex if it is not.
    arena* hold_arena(arena* hint);

    // All below require the mutex.

    std::vector<heap_zone> zones() const;
    void add_zone(const heap_zone& each) noexcept;
    /// A slab of the class with a free block, in `mine`. Records what it took in `ops`.
    refilled refill(arena& mine, std::uint8_t class_index, std::vector<heap_op>& ops);
    /// Pages for a large block, marked as allocated. `mine` may be null.
    taken_pages allocate_large(std::uint32_t pages, arena* mine, std::vector<heap_op>& ops);
    /// The allocated block that begins at `address`; reads metadata behind the cursor when it must.
    /// Throws failure: misuse, corrupt.
    located locate(const void* address);
    /// Marks a large block as freed by an open session.
    void start_large_release(std::uint32_t page, std::uint32_t pages) noexcept {
        pages_.set(page, page_entry::make(page_tag::releasing, pages));
    }
    /// Puts a slab that no arena owns into the list it belongs to.
    void settle(slab* view) noexcept;
    /// Throws corrupt when a damaged descriptor keeps pages from being used, else out_of_space.
    [[noreturn]] void fail_out_of_space(std::size_t bytes) const;

    void commit(const heap_op& op, std::uint64_t sequence) noexcept;
    void roll_back(const heap_op& op, arena* mine) noexcept;

private:
    struct zone {
        heap_zone where;
        std::uint32_t first_page = 0;
        std::uint32_t end_page = 0;
        std::uint32_t cursor = 0;
        std::byte* table = nullptr;
        bool damaged = false;  ///< the descriptor under the cursor cannot be; the cursor stays
    };
    /// A stretch of pages that stand and fall together; usable: free, or a wholly free slab.
    struct piece {
        std::uint32_t pages;
        bool usable;
    };
    enum class step : std::uint8_t { passed_head, found_free, stuck };

    /// Any thread, without the mutex: what it sees of a zone never changes, but for cursor and damage.
    std::span<const zone> known_zones() const noexcept {
        return {zones_.data(), zone_count_.load(std::memory_order_acquire)};
    }
    std::span<zone> known_zones() noexcept { return {zones_.data(), zone_count_.load(std::memory_order_acquire)}; }
    zone* zone_of(std::uint64_t page) noexcept;
    const zone& zone_of_known(std::uint32_t page) const noexcept;
    std::uint64_t word_at(const zone& in, std::uint32_t page) const noexcept;
    heap_format::decoded read_descriptor(const zone& in, std::uint32_t page) const noexcept;
    [[noreturn]] void fail_damaged(const zone& in, std::uint32_t page) const;

    step advance(zone& in, std::uint32_t wanted_pages);
    void pass_free(zone& in, std::uint32_t wanted_pages);
    free_run named_alike(free_run run) const noexcept;
    bool pass_head(zone& in, heap_format::descriptor what);
    bool read_more_of_the_table(std::uint32_t wanted_pages);

    slab* unused_view();
    void discard(slab* view) noexcept;
    void mark_pages(std::uint32_t page, std::uint32_t count, page_entry entry) noexcept;
    void chain_unscanned(std::uint32_t page, std::uint8_t class_index) noexcept;
    void unchain(std::uint32_t page, std::uint8_t class_index) noexcept;
    slab* scan(std::uint32_t page, std::uint8_t class_index);
    slab* locate_ahead(zone& in, std::uint32_t page);
    located locate_large(zone& in, std::uint32_t page, const void* address);

    slab* listed(arena& mine, std::uint8_t class_index);
    slab* own(arena& mine, slab* view) noexcept;
    bool keep_current(arena& mine, std::uint8_t class_index) noexcept;
    void unlist(slab* view) noexcept;

    taken_pages take_free(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                          free_runs::effort looks, std::vector<heap_op>& ops) noexcept;
    taken_pages take_free_or_read_on(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                                     std::vector<heap_op>& ops);
    taken_pages take_pages(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops);
    taken_pages take_surplus(std::uint32_t pages, std::vector<heap_op>& ops) noexcept;
    taken_pages take_pending(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops);
    taken_pages reclaim(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops);
    taken_pages reclaim_window(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops);
    void take_window(std::uint32_t start, free_run window, std::vector<heap_op>& ops) noexcept;
    piece piece_at(std::uint32_t page) const noexcept;
    void dissolve(slab* view, std::uint32_t pages_used, std::vector<heap_op>& ops) noexcept;
    bool can_dissolve(const slab& view) const noexcept;
    slab* dissolvable(std::uint8_t class_index) noexcept;
    void gather(arena* mine);
    void strip(arena& idle) noexcept;

    /// Wholly free slabs of a class beyond which other classes take them before fresh pages.
    static constexpr std::uint64_t idle_slabs_max = 4;

    std::array<zone, format::zone_limit> zones_;
    std::atomic<std::size_t> zone_count_{0};
    page_table pages_;
    free_runs runs_{pages_};
    std::array<slab_list, heap_format::class_count> partial_;
    std::array<slab_list, heap_format::class_count> empty_;
    std::array<std::uint32_t, heap_format::class_count> unscanned_{};
    std::deque<slab> views_;  ///< never shrinks: a view's memory stays one for any late reader
    slab* unused_views_ = nullptr;
    std::deque<arena> arenas_;
};

/// The ops of one open transaction.
struct session_state {
    heap_state* heap = nullptr;
    std::uint64_t heap_id = 0;
    arena* held = nullptr;
    arena* hint = nullptr;       ///< the arena held last; valid while the heap is the same
    bool writer_failed = false;  ///< set around each store: still set when one threw
    std::vector<heap_op> ops;
};

}  // namespace holdfast::detail
