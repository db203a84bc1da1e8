#include <holdfast/log/home_stores.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/seam.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace holdfast {
namespace {

namespace site = persist::site;

/// Writes those lines of a page back.
void write_lines_back(const persist::line_path& path, const std::byte* page, std::uint64_t lines) {
    const auto write_run_back = [&](std::uint64_t first, std::uint64_t count) {
        persist::write_back(path, page + first * 64, count * 64, site::recovery_home);
    };
    line_runs runs(write_run_back);
    runs.add(0, lines);
    runs.finish();
}

}  // namespace

unsigned threads_of_recovery() noexcept {
#ifdef HOLDFAST_OBSERVED
    // An observer sees the calls of the threads that it knows, in an order that repeats.
    return 1;
#else
    return std::min(processors_of_this_thread(), 2u);
#endif
}

void home_stores::add(const format::entry& each, const std::uint64_t* words) {
    highest_page_ = std::max(highest_page_, (each.offset + each.words * 8 - 1) / page_bytes);
    if (each.mask != 0xFF) {
        pieces_.push_back({format::masked_tag(each.offset, each.mask), words});
        return;
    }
    for (std::uint64_t done = 0; done < each.words;) {
        const std::uint64_t offset = each.offset + done * 8;
        const std::uint64_t count = std::min(each.words - done, (page_bytes - offset % page_bytes) / 8);
        pieces_.push_back({format::run_tag(offset, count), words + done});
        done += count;
    }
}

void home_stores::sort() {
    constexpr unsigned digit_bits = 11;
    constexpr std::uint64_t digits = std::uint64_t{1} << digit_bits;
    if (std::ranges::is_sorted(pieces_, {}, &piece::page)) return;
    std::vector<piece> sorted(pieces_.size());
    for (unsigned shift = 0; shift < 64 && highest_page_ >> shift != 0; shift += digit_bits) {
        const auto digit_of = [shift](const piece& each) { return each.page() >> shift & (digits - 1); };
        std::array<std::size_t, digits> next{};
        for (const piece& each : pieces_) ++next[digit_of(each)];
        std::size_t before = 0;
        for (std::size_t& count : next) before += std::exchange(count, before);
        for (const piece& each : pieces_) sorted[next[digit_of(each)]++] = each;
        pieces_.swap(sorted);
    }
}

std::size_t home_stores::end_of_page(std::size_t at) const noexcept {
    const std::uint64_t page = pieces_[at].page();
    do ++at;
    while (at < pieces_.size() && pieces_[at].page() == page);
    return at;
}

/// The first piece from `at` on that begins a page; the end if there is none.
std::size_t home_stores::page_border_from(std::size_t at) const noexcept {
    if (at == 0 || at >= pieces_.size()) return std::min(at, pieces_.size());
    return end_of_page(at - 1);
}

/// Whether pieces from `at` on store to enough pages of one aligned stretch that mapping all of it is cheaper than a
/// fault for each: a load maps 16 pages for the price of two or three stores that fault.
bool home_stores::is_worth_mapping_around(std::size_t at) const noexcept {
    constexpr std::uint64_t stretch_pages = 16;
    constexpr unsigned enough = 3;
    const std::uint64_t stretch = pieces_[at].page() / stretch_pages;
    if (at != 0 && pieces_[at - 1].page() / stretch_pages == stretch) return false;
    unsigned pages = 0;
    while (at < pieces_.size() && pieces_[at].page() / stretch_pages == stretch && ++pages < enough)
        at = end_of_page(at);
    return pages == enough;
}

void home_stores::store_pages(std::span<std::byte> pool, const storing& how, std::size_t begin,
                              std::size_t end) const {
    constexpr std::size_t ahead = 16;
    while (begin < end) {
        std::byte* const page = pool.data() + pieces_[begin].page() * page_bytes;
        if (how.maps_around && is_worth_mapping_around(begin))
            static_cast<void>(*reinterpret_cast<const volatile std::byte*>(page));
        std::uint64_t lines = 0;
        for (const std::size_t end_here = end_of_page(begin); begin < end_here; ++begin) {
            const piece& part = pieces_[begin];
            if (begin + ahead < pieces_.size()) __builtin_prefetch(pieces_[begin + ahead].words);
            const format::entry each = format::entry_of(part.tag);
            auto* home = reinterpret_cast<std::uint64_t*>(pool.data() + each.offset);
            for (std::uint64_t i = 0; i < each.words; ++i)
                persist::store_word(home + i, part.words[i], each.mask, site::recovery_home);
            lines |= part.lines();
        }
        if (how.persists) write_lines_back(how.lines, page, lines);
    }
}

unsigned home_stores::store(std::span<std::byte> pool, const storing& how) const {
    HOLDFAST_ASSERT(std::ranges::is_sorted(pieces_, {}, &piece::page), "homes are stored in the order of pages");
    if (how.threads_at_most < 2 || pieces_.size() < worth_a_thread) {
        store_pages(pool, how, 0, pieces_.size());
        return 1;
    }
    // Short stretches, so that neither waits long for the other where one of them gets little of its processor.
    constexpr std::size_t stretch = worth_a_thread / 4;
    std::atomic<std::size_t> next{0};
    const auto store_stretches = [&] {
        for (std::size_t at; (at = next.fetch_add(stretch, std::memory_order_relaxed)) < pieces_.size();)
            store_pages(pool, how, page_border_from(at), page_border_from(at + stretch));
    };
    persist::counters of_the_other;
    std::thread other = start_without_signals([&] {
        store_stretches();
        // A fence covers what its own processor wrote back: the caller's would not cover this thread's lines.
        if (how.persists) persist::fence(how.lines, site::recovery_home_fence);
        of_the_other = persist::thread_counters();
    });
    store_stretches();
    if (!other.joinable()) return 1;
    other.join();
    persist::detail::count_as_own(of_the_other);
    return 2;
}

}  // namespace holdfast
