// Where pages and partly free slabs come from, in order of preference:
//  1. the arena's slab of the class, with what other sessions gave back;
//  2. a partly, then a wholly free slab of the class; then one whose states were not yet read;
//  3. a wholly free slab of a class that has more than a few of them;
//  4. a free run, reading on through the zones as far as needed;
//  5. under pressure: everything idle arenas and unread slabs hold, and then wholly free slabs of any class,
//     for long blocks together with the free runs between them.
// Whatever is taken is recorded in the session's ops before anything is stored.
#include <holdfast/base/assertion.hpp>
#include <holdfast/heap/heap_state.hpp>

#include <algorithm>

namespace holdfast::detail {

using namespace heap_format;

// ---- slabs

bool heap_state::keep_current(arena& mine, std::uint8_t class_index) noexcept {
    slab* view = mine.slabs[class_index];
    if (view == nullptr) return false;
    if (view->collect()) return true;
    view->place = slab_place::detached;
    if (view->any_returned()) {
        view->place = slab_place::owned;
        return view->collect();
    }
    mine.slabs[class_index] = nullptr;
    return false;
}

slab* heap_state::own(arena& mine, slab* view) noexcept {
    unlist(view);
    view->place = slab_place::owned;
    view->collect();
    mine.slabs[view->class_index] = view;
    return view;
}

slab* heap_state::listed(arena& mine, std::uint8_t class_index) {
    if (slab* view = partial_[class_index].first) return own(mine, view);
    if (slab* view = empty_[class_index].first) return own(mine, view);
    // Full slabs are read in vain; a few at a time keep one allocation from paying for all.
    for (int reads = 0; reads < 16 && unscanned_[class_index] != 0; ++reads) {
        slab* view = scan(unscanned_[class_index], class_index);
        if (view->any_returned()) return own(mine, view);
    }
    return nullptr;
}

refilled heap_state::refill(arena& mine, std::uint8_t class_index, std::vector<heap_op>& ops) {
    if (keep_current(mine, class_index)) return {mine.slabs[class_index], false};
    if (slab* view = listed(mine, class_index)) return {view, false};
    make_room(ops, 4);
    slab* created = unused_view();
    const std::uint32_t pages = slab_classes[class_index].pages;
    taken_pages taken = take_surplus(pages, ops);
    if (taken.page == 0) taken = take_pages(pages, pages, ops);
    if (taken.page == 0) {
        gather(&mine);
        if (slab* view = listed(mine, class_index)) {
            discard(created);
            return {view, false};
        }
        taken = reclaim(pages, pages, ops);
    }
    if (taken.page == 0) {
        discard(created);
        return {};
    }
    created->reset(address_of(taken.page), taken.page, class_index);
    created->creator = &mine;
    created->place = slab_place::owned;
    mark_pages(taken.page, pages, page_entry::of_view(created));
    ops.push_back(heap_op::of_block(op_kind::slab_created, created, 0));
    mine.slabs[class_index] = created;
    return {created, true};
}

// ---- pages

taken_pages heap_state::take_free(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                                  free_runs::effort looks, std::vector<heap_op>& ops) noexcept {
    const std::uint32_t head = runs_.find(pages, alignment, sequence_max, looks);
    if (head == 0) return {};
    const free_run run = runs_.take(head, (head + alignment - 1) / alignment * alignment, pages);
    ops.push_back(heap_op::of_run(op_kind::run_taken, run));
    return {run.page, run.sequence <= truncated_sequence.load(std::memory_order_relaxed)};
}

taken_pages heap_state::take_free_or_read_on(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                                             std::vector<heap_op>& ops) {
    do {
        const taken_pages taken = take_free(pages, alignment, sequence_max, free_runs::effort::few, ops);
        if (taken.page != 0) return taken;
    } while (read_more_of_the_table(pages));
    return take_free(pages, alignment, sequence_max, free_runs::effort::all, ops);
}

taken_pages heap_state::take_pages(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops) {
    // From 64 KiB on, room whose bytes no log record names is worth a look: the block need not be logged.
    constexpr std::uint32_t worth_clean = 16;
    if (pages >= worth_clean) {
        const std::uint64_t truncated = truncated_sequence.load(std::memory_order_relaxed);
        const taken_pages taken = take_free_or_read_on(pages, alignment, truncated, ops);
        if (taken.page != 0) return taken;
    }
    return take_free_or_read_on(pages, alignment, free_runs::any_sequence, ops);
}

taken_pages heap_state::allocate_large(std::uint32_t pages, arena* mine, std::vector<heap_op>& ops) {
    make_room(ops, 4);
    taken_pages taken = take_pages(pages, 1, ops);
    if (taken.page == 0) {
        gather(mine);
        taken = reclaim(pages, 1, ops);
    }
    if (taken.page == 0) return {};
    make_room(ops, 1);
    pages_.set(taken.page, page_entry::make(page_tag::large, pages));
    ops.push_back(heap_op::of_run(op_kind::large_allocated, {taken.page, pages, 0}));
    return taken;
}

// ---- taking wholly free slabs apart

// A slab found ahead of the cursor is not taken apart: the cursor has yet to check what is around it. Nor is one
// whose creator has yet to hear of its commit, though others that saw it have already emptied it.
bool heap_state::can_dissolve(const slab& view) const noexcept {
    return view.place.load() == slab_place::empty && view.creator.load() == nullptr &&
           view.page < zone_of_known(view.page).cursor;
}

slab* heap_state::dissolvable(std::uint8_t class_index) noexcept {
    for (slab* view = empty_[class_index].first; view != nullptr; view = view->next)
        if (can_dissolve(*view)) return view;
    return nullptr;
}

void heap_state::dissolve(slab* view, std::uint32_t pages_used, std::vector<heap_op>& ops) noexcept {
    const std::uint32_t pages = view->geometry().pages;
    HOLDFAST_ASSERT_ALWAYS(view->creator.load() == nullptr, "a slab is taken apart when its creation is committed");
    HOLDFAST_ASSERT(view->wholly_free(), "a slab is taken apart when all its blocks are free");
    unlist(view);
    view->place = slab_place::nowhere;
    mark_pages(view->page, pages, {});
    ops.push_back(heap_op::of_block(op_kind::slab_dissolved, view, 0));
    if (pages_used < pages)
        ops.push_back(heap_op::of_run(op_kind::run_pending, {view->page + pages_used, pages - pages_used, 0}));
}

taken_pages heap_state::take_surplus(std::uint32_t pages, std::vector<heap_op>& ops) noexcept {
    for (std::size_t i = 0; i < class_count; ++i) {
        if (slab_classes[i].pages != pages || empty_[i].count <= idle_slabs_max) continue;
        slab* view = dissolvable(static_cast<std::uint8_t>(i));
        if (view == nullptr) continue;
        dissolve(view, pages, ops);
        return {view->page, false};
    }
    return {};
}

// What this transaction took apart for less than a slab's length before is its own until it ends.
taken_pages heap_state::take_pending(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops) {
    make_room(ops, 4);
    constexpr std::size_t looks = 512;
    const std::size_t oldest = ops.size() > looks ? ops.size() - looks : 0;
    for (std::size_t i = ops.size(); i-- > oldest;) {
        if (ops[i].kind != op_kind::run_pending || ops[i].index < pages) continue;
        const free_run rest = ops[i].run();
        const std::uint32_t end = rest.page + rest.pages;
        const std::uint32_t page = (end - pages) / alignment * alignment;
        if (page < rest.page) continue;
        ops[i].index = page - rest.page;
        if (page + pages != end)
            ops.push_back(heap_op::of_run(op_kind::run_pending, {page + pages, end - page - pages, 0}));
        return {page, false};
    }
    return {};
}

taken_pages heap_state::reclaim(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops) {
    const taken_pages pending = take_pending(pages, alignment, ops);
    if (pending.page != 0) return pending;
    slab* best = nullptr;
    for (std::size_t i = 0; i < class_count && pages <= slab_pages_max; ++i) {
        if (slab_classes[i].pages < pages) continue;
        if (best != nullptr && slab_classes[i].pages >= best->geometry().pages) continue;
        if (slab* view = dissolvable(static_cast<std::uint8_t>(i))) best = view;
    }
    if (best == nullptr) return reclaim_window(pages, alignment, ops);
    dissolve(best, pages, ops);
    return {best->page, false};
}

heap_state::piece heap_state::piece_at(std::uint32_t page) const noexcept {
    const page_entry entry = pages_.entry(page);
    switch (entry.tag()) {
        case page_tag::slab: {
            slab* view = entry.view<slab>();
            return {view->geometry().pages, can_dissolve(*view)};
        }
        case page_tag::free: return {entry.pages(), true};
        case page_tag::large:
        case page_tag::releasing: return {entry.pages(), false};
        case page_tag::unscanned:
        case page_tag::unknown: break;
    }
    return {1, false};
}

// Slabs shorter than an aligned window begin and end on its border or inside; longer ones served alone.
taken_pages heap_state::reclaim_window(std::uint32_t pages, std::uint32_t alignment, std::vector<heap_op>& ops) {
    for (const zone& in : known_zones()) {
        std::uint32_t start = in.first_page;
        std::size_t parts = 0;
        for (std::uint32_t page = in.first_page; page < in.cursor;) {
            const piece here = piece_at(page);
            page += here.pages;
            ++parts;
            if (!here.usable) {
                start = page;
                parts = 0;
                continue;
            }
            const std::uint32_t first = (start + alignment - 1) / alignment * alignment;
            if (first >= page || page - first < pages) continue;
            make_room(ops, parts + 3);
            take_window(start, {first, pages, 0}, ops);
            return {first, false};
        }
    }
    return {};
}

void heap_state::take_window(std::uint32_t start, free_run window, std::vector<heap_op>& ops) noexcept {
    const std::uint32_t end = window.page + window.pages;
    for (std::uint32_t page = start; page < end;) {
        const std::uint32_t next = page + piece_at(page).pages;
        const std::uint32_t first = std::max(page, window.page);
        if (next <= window.page) {
            page = next;
            continue;
        }
        const std::uint32_t length = std::min(next, end) - first;
        const page_entry entry = pages_.entry(page);
        if (entry.tag() == page_tag::slab) {
            dissolve(entry.view<slab>(), length, ops);
        } else {
            ops.push_back(heap_op::of_run(op_kind::run_taken, runs_.take(page, first, length)));
        }
        page = next;
    }
}

}  // namespace holdfast::detail
