#include <holdfast/heap/page_table.hpp>

#include <holdfast/base/assertion.hpp>

#include <algorithm>
#include <bit>
#include <new>

namespace holdfast::detail {

page_table::page_table(std::uint64_t page_limit)
    : chunk_count_((page_limit + chunk_pages - 1) / chunk_pages),
      chunks_(static_cast<page_info**>(std::calloc(chunk_count_, sizeof(page_info*)))) {
    if (chunks_ == nullptr) throw std::bad_alloc();
}

page_table::~page_table() {
    // A table for a large reserved range is read no further than it was entered.
    for (std::uint64_t i = 0; i < entered_; ++i) delete[] chunks_[i];
}

void page_table::ensure(std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    const std::uint64_t last = (first + count - 1) / chunk_pages;
    for (std::uint64_t i = first / chunk_pages; i <= last; ++i)
        if (chunks_[i] == nullptr) __atomic_store_n(&chunks_[i], new page_info[chunk_pages](), __ATOMIC_RELEASE);
    entered_ = std::max(entered_, last + 1);
}

// Lengths below 16 have a bin each; above, eight to a doubling.
std::size_t free_runs::bin_of(std::uint32_t pages) noexcept {
    if (pages < 16) return pages;
    const auto exponent = static_cast<unsigned>(std::bit_width(pages)) - 1;
    return 16 + (exponent - 4) * 8 + (pages >> (exponent - 3) & 7u);
}

free_run free_runs::run_at(std::uint32_t head) const noexcept {
    return {head, pages_.entry(head).pages(), pages_.at(head).sequence};
}

void free_runs::link(free_run run) noexcept {
    HOLDFAST_ASSERT(run.page != 0 && run.pages != 0, "a free run has pages, and the first page is no heap's");
    const std::size_t bin = bin_of(run.pages);
    page_info& info = pages_.at(run.page);
    info.sequence = run.sequence;
    info.previous = 0;
    info.next = heads_[bin];
    if (info.next != 0) pages_.at(info.next).previous = run.page;
    heads_[bin] = run.page;
    filled_[bin / 64] |= std::uint64_t{1} << bin % 64;
    const page_entry entry = page_entry::make(page_tag::free, run.pages);
    pages_.set(run.page, entry);
    pages_.set(run.page + run.pages - 1, entry);
}

void free_runs::unlink(free_run run) noexcept {
    const std::size_t bin = bin_of(run.pages);
    const page_info& info = pages_.at(run.page);
    if (info.previous != 0) {
        pages_.at(info.previous).next = info.next;
    } else {
        HOLDFAST_ASSERT(heads_[bin] == run.page, "a run without a predecessor is the first of its bin");
        heads_[bin] = info.next;
        if (info.next == 0) filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    }
    if (info.next != 0) pages_.at(info.next).previous = info.previous;
    pages_.set(run.page, {});
    pages_.set(run.page + run.pages - 1, {});
}

void free_runs::insert(free_run run, std::uint64_t join_up_to) noexcept {
    const auto joins = [&](const free_run& other) {
        return (other.sequence <= join_up_to) == (run.sequence <= join_up_to);
    };
    const page_entry before = pages_.entry(run.page - 1);
    if (before.tag() == page_tag::free) {
        const free_run left = run_at(run.page - before.pages());
        if (joins(left)) {
            unlink(left);
            run = {left.page, left.pages + run.pages, std::max(left.sequence, run.sequence)};
        }
    }
    const page_entry after = pages_.entry(std::uint64_t{run.page} + run.pages);
    if (after.tag() == page_tag::free) {
        const free_run right = run_at(run.page + run.pages);
        if (joins(right)) {
            unlink(right);
            run = {run.page, run.pages + right.pages, std::max(right.sequence, run.sequence)};
        }
    }
    link(run);
}

std::uint32_t free_runs::best_in_bin(std::size_t bin, std::uint32_t pages, std::uint32_t alignment,
                                     std::uint64_t sequence_max, effort looks) const noexcept {
    auto left = static_cast<std::uint32_t>(looks);
    std::uint32_t best = 0;
    std::uint32_t best_pages = 0;
    for (std::uint32_t head = heads_[bin]; head != 0 && left != 0; head = pages_.at(head).next, --left) {
        const free_run run = run_at(head);
        const std::uint32_t skip = (alignment - head % alignment) % alignment;
        if (run.sequence > sequence_max || std::uint64_t{skip} + pages > run.pages) continue;
        if (best != 0 && run.pages >= best_pages) continue;
        best = head;
        best_pages = run.pages;
    }
    return best;
}

std::uint32_t free_runs::find(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                              effort looks) const noexcept {
    const std::size_t first = bin_of(pages);
    for (std::size_t word = first / 64; word < filled_.size(); ++word) {
        std::uint64_t bins = filled_[word];
        if (word == first / 64) bins &= ~std::uint64_t{0} << first % 64;
        for (; bins != 0; bins &= bins - 1) {
            const std::size_t bin = word * 64 + static_cast<std::size_t>(std::countr_zero(bins));
            if (const std::uint32_t head = best_in_bin(bin, pages, alignment, sequence_max, looks)) return head;
        }
    }
    return 0;
}

free_run free_runs::take(std::uint32_t head, std::uint32_t page, std::uint32_t pages) noexcept {
    const free_run run = run_at(head);
    HOLDFAST_ASSERT(page >= head && page - head + pages <= run.pages, "what is taken is inside a free run");
    unlink(run);
    const std::uint32_t end = page + pages;
    if (page != head) link({head, page - head, run.sequence});
    if (end != head + run.pages) link({end, head + run.pages - end, run.sequence});
    return {page, pages, run.sequence};
}

}  // namespace holdfast::detail
