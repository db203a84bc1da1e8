// Cursors, views and lists of the volatile heap. page_source.cpp holds the other half: where pages come from.
#include <holdfast/heap/heap_state.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/heap/planted.hpp>

#include <algorithm>
#include <cassert>

namespace holdfast::detail {

using namespace heap_format;

namespace {

std::uint64_t next_heap_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

std::uint64_t page_limit_of(std::span<const heap_zone> zones, std::uint64_t reserved_bytes) noexcept {
    std::uint64_t end = reserved_bytes;
    for (const heap_zone& each : zones) end = std::max(end, each.offset + each.bytes);
    return std::min(end / page_bytes, pool_pages_max);
}

}  // namespace

heap_state::heap_state(std::byte* first_byte, std::span<const heap_zone> zones, std::uint64_t reserved_bytes)
    : id(next_heap_id()), pool(first_byte), pages_(page_limit_of(zones, reserved_bytes)) {
    for (const heap_zone& each : zones) add_zone(each);
}

void heap_state::add_zone(const heap_zone& each) noexcept {
    const zone_header header = header_for(each.offset, each.bytes);
    const std::size_t index = zone_count_.load(std::memory_order_relaxed);
    zone& made = zones_[index];
    made.where = each;
    made.first_page = static_cast<std::uint32_t>(header.data_offset / page_bytes);
    made.end_page = static_cast<std::uint32_t>(made.first_page + header.page_count);
    made.cursor = made.first_page;
    made.table = pool + header.table_offset;
    zone_count_.store(index + 1, std::memory_order_release);
}

std::vector<heap_zone> heap_state::zones() const {
    std::vector<heap_zone> all;
    for (const zone& each : known_zones()) all.push_back(each.where);
    return all;
}

heap_state::zone* heap_state::zone_of(std::uint64_t page) noexcept {
    for (zone& each : known_zones())
        if (page >= each.first_page && page < each.end_page) return &each;
    return nullptr;
}

const heap_state::zone& heap_state::zone_of_known(std::uint32_t page) const noexcept {
    const auto zones = known_zones();
    return *std::find_if(zones.begin(), zones.end(),
                         [page](const zone& each) { return page >= each.first_page && page < each.end_page; });
}

std::byte* heap_state::descriptor_home(std::uint32_t page) const noexcept {
    const zone& in = zone_of_known(page);
    return in.table + std::uint64_t{page - in.first_page} * 8;
}

std::uint64_t heap_state::descriptor_word(std::uint32_t page, descriptor what) const noexcept {
    return encode(what, page - zone_of_known(page).first_page);
}

std::uint64_t heap_state::word_at(const zone& in, std::uint32_t page) const noexcept {
    const auto* words = reinterpret_cast<const std::uint64_t*>(in.table);
    return __atomic_load_n(words + (page - in.first_page), __ATOMIC_RELAXED);
}

decoded heap_state::read_descriptor(const zone& in, std::uint32_t page) const noexcept {
    return decode(word_at(in, page), page - in.first_page, page, in.end_page - in.first_page);
}

void heap_state::fail_damaged(const zone& in, std::uint32_t page) const {
    throw failure({.code = errc::corrupt,
                   .what = "a page descriptor of the heap is damaged",
                   .offset = static_cast<std::uint64_t>(in.table - pool) + std::uint64_t{page - in.first_page} * 8,
                   .expected = "a checked descriptor, or 0 inside a block",
                   .found = std::to_string(word_at(in, page))});
}

void heap_state::fail_out_of_space(std::size_t bytes) const {
    for (const zone& each : known_zones())
        if (each.damaged) fail_damaged(each, each.cursor);
    throw failure({.code = errc::out_of_space,
                   .what = "the heap has no free block of " + std::to_string(bytes) + " bytes",
                   .remedy = "grow the pool (its member grow, or holdfast pool grow)"});
}

// ---- cursors

void heap_state::pass_free(zone& in, std::uint32_t wanted_pages) {
    constexpr std::uint32_t least = 256;
    const std::uint32_t limit = std::min(std::max(wanted_pages, least), in.end_page - in.cursor);
    std::uint32_t pages = 1;
    while (pages < limit && word_at(in, in.cursor + pages) == 0) ++pages;
    pages_.ensure(in.cursor, pages);
    const std::uint32_t end = in.cursor + pages;
    while (in.cursor != end) {
        const free_run run = named_alike({in.cursor, end - in.cursor, 0});
        // Clean pages stay apart from those that log records may still name, so that clean room stays clean.
        HOLDFAST_ASSERT_ALWAYS(run.pages != 0 && run.pages <= in.end_page - in.cursor, "free pages are in their zone");
        runs_.insert(run, truncated_sequence.load(std::memory_order_relaxed));
        in.cursor += run.pages;
    }
}

/// The first pages of a run that the log of the lives before names, or those that it does not.
free_run heap_state::named_alike(free_run run) const noexcept {
    if (!named_at_open) return {run.page, run.pages, free_runs::any_sequence};
    const auto& named = named_at_open->pages;
    auto next = std::lower_bound(named.begin(), named.end(), run.page);
    if (next == named.end() || *next >= run.page + run.pages) return run;
    if (*next != run.page) return {run.page, *next - run.page, 0};
    std::uint32_t pages = 0;
    for (; pages < run.pages && next != named.end() && *next == run.page + pages; ++next) ++pages;
    return {run.page, pages, named_at_open->up_to};
}

bool heap_state::pass_head(zone& in, descriptor what) {
    // What a head covers must hold no other: otherwise one of the two is damage, and reading on would
    // hand out pages that are in use.
    for (std::uint32_t i = 1; i < what.pages; ++i)
        if (word_at(in, in.cursor + i) != 0) return false;
    if (what.kind == kind_large) {
        pages_.ensure(in.cursor, what.pages);
        pages_.set(in.cursor, page_entry::make(page_tag::large, what.pages));
    } else if (pages_.entry(in.cursor).tag() != page_tag::slab) {
        pages_.ensure(in.cursor, what.pages);
        chain_unscanned(in.cursor, what.slab_class);
    }
    in.cursor += what.pages;
    HOLDFAST_ASSERT_ALWAYS(in.cursor <= in.end_page, "a block ends in its zone");
    return true;
}

heap_state::step heap_state::advance(zone& in, std::uint32_t wanted_pages) {
    if (in.damaged || in.cursor == in.end_page) return step::stuck;
    const decoded read = read_descriptor(in, in.cursor);
    if (!read.valid) {
        in.damaged = true;
        return step::stuck;
    }
    if (read.what.kind == kind_none) {
        pass_free(in, wanted_pages);
        return step::found_free;
    }
    if (pass_head(in, read.what)) return step::passed_head;
    in.damaged = true;
    return step::stuck;
}

bool heap_state::read_more_of_the_table(std::uint32_t wanted_pages) {
    for (zone& each : known_zones()) {
        step last = step::passed_head;
        while (last == step::passed_head) last = advance(each, wanted_pages);
        if (last == step::found_free) return true;
    }
    return false;
}

// ---- views

slab* heap_state::unused_view() {
    if (unused_views_ == nullptr) return &views_.emplace_back();
    slab* view = unused_views_;
    unused_views_ = view->next;
    view->next = nullptr;
    return view;
}

void heap_state::discard(slab* view) noexcept {
    view->place = slab_place::nowhere;
    view->previous = nullptr;
    view->next = unused_views_;
    unused_views_ = view;
}

void heap_state::mark_pages(std::uint32_t page, std::uint32_t count, page_entry entry) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) pages_.set(page + i, entry);
}

void heap_state::chain_unscanned(std::uint32_t page, std::uint8_t class_index) noexcept {
    page_info& info = pages_.at(page);
    info.previous = 0;
    info.next = unscanned_[class_index];
    if (info.next != 0) pages_.at(info.next).previous = page;
    unscanned_[class_index] = page;
    mark_pages(page, slab_classes[class_index].pages,
               page_entry::make(page_tag::unscanned, std::uint64_t{page} << 8 | class_index));
}

void heap_state::unchain(std::uint32_t page, std::uint8_t class_index) noexcept {
    const page_info& info = pages_.at(page);
    (info.previous != 0 ? pages_.at(info.previous).next : unscanned_[class_index]) = info.next;
    if (info.next != 0) pages_.at(info.next).previous = info.previous;
}

slab* heap_state::scan(std::uint32_t page, std::uint8_t class_index) {
    slab* view = unused_view();
    if (pages_.entry(page).tag() == page_tag::unscanned) unchain(page, class_index);
    view->reset(address_of(page), page, class_index);
    view->read_states();
    view->place = slab_place::detached;
    mark_pages(page, view->geometry().pages, page_entry::of_view(view));
    return view;
}

void heap_state::unlist(slab* view) noexcept {
    const slab_place place = view->place.load();
    if (place == slab_place::partial) partial_[view->class_index].remove(view);
    if (place == slab_place::empty) empty_[view->class_index].remove(view);
}

void heap_state::settle(slab* view) noexcept {
    const slab_place place = view->place.load();
    if (place == slab_place::owned || place == slab_place::nowhere) return;
    slab_place next = slab_place::detached;
    if (view->any_returned()) next = view->wholly_free() ? slab_place::empty : slab_place::partial;
    if (next == place) return;
    unlist(view);
    view->place = next;
    if (next == slab_place::partial) partial_[view->class_index].push(view);
    if (next == slab_place::empty) empty_[view->class_index].push(view);
}

// ---- finding a block by its address

slab* heap_state::locate_ahead(zone& in, std::uint32_t page) {
    for (std::uint32_t pages = 1; pages <= slab_pages_max; pages *= 2) {
        const std::uint32_t head = page & ~(pages - 1);
        if (head < in.cursor || head < in.first_page) return nullptr;
        const decoded read = read_descriptor(in, head);
        if (!read.valid) fail_damaged(in, head);
        if (read.what.kind == kind_none) continue;
        if (read.what.kind != kind_slab || page - head >= read.what.pages) return nullptr;
        pages_.ensure(head, read.what.pages);
        slab* view = scan(head, read.what.slab_class);
        settle(view);
        return view;
    }
    return nullptr;
}

located heap_state::locate_large(zone& in, std::uint32_t page, const void* address) {
    // The cursor goes past the block first: afterwards it can no longer take its pages for free ones.
    while (in.cursor <= page)
        if (advance(in, 0) == step::stuck) fail_damaged(in, in.cursor);
    const page_entry entry = pages_.entry(page);
    if (entry.tag() == page_tag::releasing) fail(errc::misuse, "the block was already released");
    if (entry.tag() != page_tag::large || address != address_of(page))
        fail(errc::misuse, "the address is not that of an allocated block");
    return {nullptr, {page, entry.pages(), 0}};
}

located heap_state::locate(const void* address) {
    const auto distance = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pool);
    zone* in = zone_of(distance / page_bytes);
    if (in == nullptr) fail(errc::misuse, "the address is not in this heap");
    const auto page = static_cast<std::uint32_t>(distance / page_bytes);
    const page_entry entry = pages_.entry(page);
    if (entry.tag() == page_tag::slab) return {entry.view<slab>(), {}};
    if (entry.tag() == page_tag::unscanned) {
        slab* view = scan(static_cast<std::uint32_t>(entry.payload() >> 8),
                          static_cast<std::uint8_t>(entry.payload()));
        settle(view);
        return {view, {}};
    }
    if (page >= in->cursor)
        if (slab* view = locate_ahead(*in, page)) return {view, {}};
    return locate_large(*in, page, address);
}

// ---- arenas

arena* heap_state::hold_arena(arena* hint) {
    if (hint != nullptr && !hint->held.exchange(true, std::memory_order_acquire)) return hint;
    const std::lock_guard lock(mutex);
    for (arena& each : arenas_)
        if (!each.held.exchange(true, std::memory_order_acquire)) return &each;
    arena& made = arenas_.emplace_back();
    made.held.store(true, std::memory_order_relaxed);
    return &made;
}

void heap_state::strip(arena& idle) noexcept {
    for (slab*& each : idle.slabs) {
        if (each == nullptr || each->creator.load() != nullptr) continue;
        for (std::uint32_t i = 0; i < each->word_count; ++i) {
            slab_word& word = each->words[i];
            word.returned.fetch_or(word.local);
            word.local = 0;
        }
        each->place = slab_place::detached;
        settle(each);
        each = nullptr;
    }
}

void heap_state::gather(arena* mine) {
    for (std::size_t i = 0; i < class_count; ++i)
        while (unscanned_[i] != 0) settle(scan(unscanned_[i], static_cast<std::uint8_t>(i)));
    if (mine != nullptr) strip(*mine);
    for (arena& each : arenas_) {
        if (&each == mine || each.held.exchange(true, std::memory_order_acquire)) continue;
        strip(each);
        each.held.store(false, std::memory_order_release);
    }
}

// ---- the end of a transaction

void heap_state::commit(const heap_op& op, std::uint64_t sequence) noexcept {
    switch (op.kind) {
        case op_kind::run_pending:
            if (op.index != 0) runs_.insert({op.page, op.index, sequence});
            break;
        case op_kind::slab_created: op.view->creator = nullptr; break;
        case op_kind::slab_dissolved: discard(op.view); break;
        case op_kind::large_released:
            pages_.set(op.page, {});
            runs_.insert({op.page, op.index, is_planted(planted::freed_block_taken_for_clean) ? 0 : sequence});
            break;
        case op_kind::run_taken:
        case op_kind::large_allocated:
        case op_kind::small_allocated:
        case op_kind::small_released: break;
    }
}

void heap_state::roll_back(const heap_op& op, arena* mine) noexcept {
    switch (op.kind) {
        case op_kind::small_allocated:
            // Blocks of a slab created here go with the slab: nobody may be told that they are free.
            if (mine != nullptr && op.view->creator.load() == mine) break;
            op.view->start_release(op.index);
            if (op.view->give_back(op.index)) settle(op.view);
            break;
        case op_kind::small_released: op.view->undo_release(op.index); break;
        case op_kind::run_taken: runs_.insert(op.run()); break;
        case op_kind::run_pending: break;
        case op_kind::slab_created:
            if (mine != nullptr && mine->slabs[op.view->class_index] == op.view)
                mine->slabs[op.view->class_index] = nullptr;
            mark_pages(op.view->page, op.view->geometry().pages, {});
            discard(op.view);
            break;
        case op_kind::slab_dissolved:
            mark_pages(op.view->page, op.view->geometry().pages, page_entry::of_view(op.view));
            op.view->place = slab_place::detached;
            settle(op.view);
            break;
        case op_kind::large_allocated: pages_.set(op.page, {}); break;
        case op_kind::large_released: pages_.set(op.page, page_entry::make(page_tag::large, op.index)); break;
    }
}

}  // namespace holdfast::detail
