// The allocations and frees of one transaction: fast paths, the stores, and the end.
//
// Every store is of bytes that only this transaction may change: the state byte of a block it allocates or
// frees, the state bytes of a slab it creates, the descriptor of a head it makes or unmakes. All go through the
// writer, so the heap adds no fence and no write-back of its own.
#include <holdfast/base/assertion.hpp>
#include <holdfast/heap/heap_state.hpp>
#include <holdfast/heap/planted.hpp>


#include <algorithm>
#include <array>
#include <bit>

namespace holdfast {

using namespace heap_format;
using detail::heap_op;
using detail::heap_state;
using detail::located;
using detail::op_kind;
using detail::refilled;
using detail::session_state;
using detail::slab;
using detail::taken_pages;

namespace {

void enter(session_state& mine, heap_state& all) {
    if (mine.heap_id != all.id) [[unlikely]] {
        if (!mine.ops.empty() || mine.held != nullptr)
            fail(errc::misuse, "one transaction allocates from two heaps");
        mine.heap = &all;
        mine.heap_id = all.id;
        mine.hint = nullptr;
    }
    if (mine.writer_failed) [[unlikely]]
        fail(errc::aborted, "a store of this transaction failed; it can only be rolled back");
}

void store(session_state& mine, heap_writer& writer, void* home, const void* bytes, std::size_t size) {
    mine.writer_failed = true;
    writer.store(home, bytes, size);
    mine.writer_failed = false;
}

void store_descriptor(session_state& mine, heap_writer& writer, std::uint32_t page, descriptor what) {
    const std::uint64_t word = what.kind == kind_none ? 0 : mine.heap->descriptor_word(page, what);
    store(mine, writer, mine.heap->descriptor_home(page), &word, sizeof word);
}

/// Unmakes the heads of slabs taken apart since `mark`, but for the page that becomes a head again.
void unmake_dissolved(session_state& mine, std::size_t mark, std::uint32_t new_head, heap_writer& writer) {
    for (std::size_t i = mark; i < mine.ops.size(); ++i)
        if (mine.ops[i].kind == op_kind::slab_dissolved && mine.ops[i].view->page != new_head)
            store_descriptor(mine, writer, mine.ops[i].view->page, {});
}

heap_block allocate_large(session_state& mine, std::size_t bytes, std::size_t pages, heap_writer& writer) {
    heap_state& all = *mine.heap;
    if (pages > pool_pages_max) all.fail_out_of_space(bytes);
    const auto length = static_cast<std::uint32_t>(pages);
    const std::size_t mark = mine.ops.size();
    taken_pages taken;
    {
        const std::lock_guard lock(all.mutex);
        taken = all.allocate_large(length, mine.held, mine.ops);
        if (taken.page == 0) all.fail_out_of_space(bytes);
    }
    unmake_dissolved(mine, mark, taken.page, writer);
    store_descriptor(mine, writer, taken.page, {kind_large, 0, length});
    return {all.address_of(taken.page), pages * page_bytes, taken.clean};
}

void store_new_slab(session_state& mine, const slab& view, heap_writer& writer) {
    static constexpr std::array<std::byte, slab_blocks_max> zeros{};
    store(mine, writer, view.states, zeros.data(), view.geometry().blocks);
    store_descriptor(mine, writer, view.page, {kind_slab, view.class_index, view.geometry().pages});
}

/// The arena's slab of the class after its free blocks ran out; nullptr: no slab can be had.
slab* refill(session_state& mine, std::uint8_t class_index, heap_writer& writer) {
    slab* view = mine.held->slabs[class_index];
    if (view != nullptr && view->collect()) return view;
    const std::size_t mark = mine.ops.size();
    refilled got;
    {
        const std::lock_guard lock(mine.heap->mutex);
        got = mine.heap->refill(*mine.held, class_index, mine.ops);
    }
    if (got.created) {
        unmake_dissolved(mine, mark, got.view->page, writer);
        store_new_slab(mine, *got.view, writer);
    }
    return got.view;
}

[[noreturn]] void fail_not_live(const heap_state& all, const slab& view, std::uint32_t index) {
    // Only of a damaged slab is a state byte read again: the damaged ones are those nobody ever stores to.
    const std::uint8_t state = view.damaged ? view.state_byte(index) : block_free;
    if (state == block_free || state == block_allocated)
        fail(errc::misuse, "the block is not allocated: was it already released?");
    throw failure({.code = errc::corrupt,
                   .what = "the state of a heap block is damaged",
                   .offset = static_cast<std::uint64_t>(view.states + index - all.pool),
                   .expected = std::to_string(block_free) + " or " + std::to_string(block_allocated),
                   .found = std::to_string(state)});
}

void release_large(session_state& mine, detail::free_run block, heap_writer& writer) {
    mine.ops.push_back(heap_op::of_run(op_kind::large_released, block));
    store_descriptor(mine, writer, block.page, {});
}

}  // namespace

heap::session::session() : state_(std::make_unique<session_state>()) {}

heap::session::~session() {
    if (used()) rolled_back();
}

bool heap::session::used() const noexcept { return !state_->ops.empty() || state_->held != nullptr; }

bool heap::session::writer_failed() const noexcept { return state_->writer_failed; }

heap_block heap::session::allocate(heap& from, std::size_t bytes, std::size_t alignment, heap_writer& writer) {
    session_state& mine = *state_;
    enter(mine, *from.state_);
    if (bytes == 0 || !std::has_single_bit(alignment) || alignment > alignment_max) [[unlikely]]
        fail(errc::invalid_argument, "a block needs a size above 0 and an alignment of 1, 2, 4, 8, 16, 32 or 64");
    // A multiple of the alignment has a class whose blocks are so aligned: see natural_alignment.
    if (bytes <= small_bytes_max) bytes = (bytes + alignment - 1) & ~(alignment - 1);
    if (bytes > small_bytes_max)
        return allocate_large(mine, bytes, bytes / page_bytes + (bytes % page_bytes != 0), writer);

    const std::uint8_t class_index = class_of(bytes);
    if (mine.held == nullptr) mine.held = mine.hint = mine.heap->hold_arena(mine.hint);
    HOLDFAST_ASSERT(mine.held->held.load(std::memory_order_relaxed), "a session allocates from an arena that it holds");
    make_room(mine.ops, 1);
    slab* view = mine.held->slabs[class_index];
    std::uint32_t index = view != nullptr ? view->take() : slab::none;
    if (index == slab::none) [[unlikely]] {
        view = refill(mine, class_index, writer);
        if (view == nullptr) {
            if (slab_classes[class_index].pages == 1) {
                const std::lock_guard lock(mine.heap->mutex);
                mine.heap->fail_out_of_space(bytes);
            }
            return allocate_large(mine, bytes, 1, writer);
        }
        make_room(mine.ops, 1);
        index = view->take();
    }
    HOLDFAST_ASSERT(view->place.load() == detail::slab_place::owned, "a block is from a slab of the session's own");
    mine.ops.push_back(heap_op::of_block(op_kind::small_allocated, view, index));
    store(mine, writer, view->states + index, &block_allocated, 1);
    return {view->block(index), view->block_bytes, false};
}

void heap::session::release(heap& from, void* address, heap_writer& writer) {
    session_state& mine = *state_;
    enter(mine, *from.state_);
    make_room(mine.ops, 1);
    heap_state& all = *mine.heap;
    const detail::page_entry entry = all.entry_of(address);
    slab* view = nullptr;
    if (entry.tag() == detail::page_tag::slab) [[likely]] {
        view = entry.view<slab>();
    } else {
        located found;
        {
            const std::lock_guard lock(all.mutex);
            found = all.locate(address);
            if (found.view == nullptr) all.start_large_release(found.large.page, found.large.pages);
        }
        if (found.view == nullptr) return release_large(mine, found.large, writer);
        view = found.view;
    }
    const std::uint32_t index = view->index_of(static_cast<const std::byte*>(address));
    if (index == slab::none) fail(errc::misuse, "the address is not the beginning of an allocated block");
    if (!view->start_release(index)) fail_not_live(all, *view, index);
    if (is_planted(planted::freed_block_reused_early)) {
        store(mine, writer, view->states + index, &block_free, 1);
        view->give_back(index);
        return;
    }
    mine.ops.push_back(heap_op::of_block(op_kind::small_released, view, index));
    store(mine, writer, view->states + index, &block_free, 1);
}

void heap::session::committed(std::uint64_t sequence) noexcept {
    session_state& mine = *state_;
    if (mine.heap == nullptr) return;
    std::unique_lock lock(mine.heap->mutex, std::defer_lock);
    for (const heap_op& op : mine.ops) {
        if (op.kind == op_kind::small_allocated) continue;
        if (op.kind == op_kind::small_released && !op.view->give_back(op.index)) continue;
        if (!lock.owns_lock()) lock.lock();
        if (op.kind == op_kind::small_released) {
            mine.heap->settle(op.view);
        } else {
            mine.heap->commit(op, sequence);
        }
    }
    mine.ops.clear();
    mine.writer_failed = false;
    if (mine.held != nullptr) mine.held->held.store(false, std::memory_order_release);
    mine.held = nullptr;
}

std::size_t heap::session::mark() const noexcept { return state_->ops.size(); }

bool heap::session::did_little_since(std::size_t mark) const noexcept {
    const auto is_little = [](const heap_op& op) {
        return op.kind == op_kind::small_allocated || op.kind == op_kind::small_released;
    };
    return std::all_of(state_->ops.begin() + static_cast<std::ptrdiff_t>(mark), state_->ops.end(), is_little);
}

void heap::session::roll_back_to(std::size_t mark) noexcept {
    session_state& mine = *state_;
    if (mine.ops.size() > mark) {
        const std::lock_guard lock(mine.heap->mutex);
        for (; mine.ops.size() > mark; mine.ops.pop_back()) mine.heap->roll_back(mine.ops.back(), mine.held);
    }
    mine.writer_failed = false;
}

void heap::session::rolled_back() noexcept {
    session_state& mine = *state_;
    if (mine.heap == nullptr) return;
    roll_back_to(0);
    if (mine.held != nullptr) mine.held->held.store(false, std::memory_order_release);
    mine.held = nullptr;
}

void heap::session::forget() noexcept {
    session_state& mine = *state_;
    mine.ops.clear();
    mine.heap = nullptr;
    mine.heap_id = 0;
    mine.held = mine.hint = nullptr;
    mine.writer_failed = false;
}

}  // namespace holdfast
