// What a replay stores, in the order of the homes.
//
//   1. `add` takes entries in replay order and cuts them at page borders. All memory is taken before step 3: what fails
//      for lack of it fails before a byte is stored.
//   2. `sort` orders the pieces by page, stably: of one page, hence of one word, the order stays replay order.
//   3. `store` goes from page to page: it stores the pieces of one, then writes each line that they touched back, once.
//      Two threads take stretches of whole pages in turn.
//
// Why by page: what a replay costs is page faults. Neighbouring pages share what the kernel looks up for a fault, and a
// line is complete, and still cached, when its page is.
//
// Why a second thread changes nothing that a crash may leave: replay reads only the log, never what it stores, so a
// home depends on no other. A kill leaves some of the stores, with one thread or with two; a power cut leaves any of
// those that no fence has covered. After either the log is whole, and the next replay stores everything again. No page
// is stored to by both threads. Each fences what it has written back, and `store` returns when both have.
#pragma once

#include <holdfast/format/log_record.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/log/line_runs.hpp>
#include <holdfast/persist/line_path.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace holdfast {

/// How a replay stores.
struct storing {
    bool persists = false;       ///< touched lines are written back; the caller fences
    persist::line_path lines;    ///< used when `persists`
    bool maps_around = false;    ///< a load maps the pages around its own, too, and for stores: tmpfs
    unsigned threads_at_most = 1;
};

/// What opening a pool may use: 2 where this thread may run on two processors. Where the seam is observed 1.
unsigned threads_of_recovery() noexcept;

/// Not thread-safe.
class home_stores {
public:
    /// So few stores are not worth a second thread.
    static constexpr std::size_t worth_a_thread = 2048;

    void reserve(std::size_t entries) { pieces_.reserve(entries); }
    /// The entry's words stand at `words` until the last `store`. Throws std::bad_alloc.
    void add(const format::entry& each, const std::uint64_t* words);
    /// Throws std::bad_alloc; then nothing has changed.
    void sort();
    /// Returns how many threads stored: more than one only for many stores, and where another could be started. What
    /// the other asked of the medium, and its fence, count as this thread's. Requires: sorted; every entry is within
    /// `pool`. What holds if the process dies inside: any of the stores may be missing.
    unsigned store(std::span<std::byte> pool, const storing& how) const;

    /// Calls f(first_line, count) for each maximal run of lines that entries touch, in ascending order; a line's index
    /// is its offset / 64. Requires: sorted.
    template <class F>
    void for_each_run(F&& f) const;

private:
    static constexpr std::uint64_t page_bytes = format::page_bytes;
    static_assert(page_bytes == 64 * 64, "the lines of a page are the bits of a word");

    /// The part of an entry that lies in one page.
    struct piece {
        std::uint64_t tag;  ///< as that of an entry
        const std::uint64_t* words;

        std::uint64_t page() const noexcept { return (tag & format::offset_mask) / page_bytes; }
        std::uint64_t lines() const noexcept;
    };

    std::size_t end_of_page(std::size_t at) const noexcept;
    std::size_t page_border_from(std::size_t at) const noexcept;
    bool is_worth_mapping_around(std::size_t at) const noexcept;
    void store_pages(std::span<std::byte> pool, const storing& how, std::size_t begin, std::size_t end) const;

    std::vector<piece> pieces_;
    std::uint64_t highest_page_ = 0;
};

inline std::uint64_t home_stores::piece::lines() const noexcept {
    const format::entry each = format::entry_of(tag);
    const std::uint64_t first = each.offset % page_bytes / 64;
    const std::uint64_t last = (each.offset % page_bytes + each.words * 8 - 1) / 64;
    return ~std::uint64_t{0} << first & ~std::uint64_t{0} >> (63 - last);
}

template <class F>
void home_stores::for_each_run(F&& f) const {
    line_runs<std::remove_reference_t<F>> runs(f);
    for (std::size_t at = 0; at < pieces_.size();) {
        const std::uint64_t page = pieces_[at].page();
        std::uint64_t lines = 0;
        for (const std::size_t end = end_of_page(at); at < end; ++at) lines |= pieces_[at].lines();
        runs.add(page * 64, lines);
    }
    runs.finish();
}

}  // namespace holdfast
