// What DRAM knows about each page behind the cursors, and the index of free runs built on it.
// Owned by heap_state; everything here is guarded by its mutex unless stated otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace holdfast::detail {

/// What a page's entry means; the payload stands above `tag_bits`.
enum class page_tag : std::uint8_t {
    unknown = 0,    ///< not yet read, inside a large block, or in the hands of an open session
    free = 1,       ///< first or last page of a free run; payload: its length
    large = 2,      ///< head of an allocated large block; payload: its length
    releasing = 3,  ///< the same, freed by an open session
    slab = 4,       ///< any page of a slab with a view; payload: its address
    unscanned = 5,  ///< any page of a slab without one; payload: its head page and class
};

/// One entry, packed in a word. Views are 64-aligned, so their addresses leave the tag bits free.
struct page_entry {
    static constexpr unsigned tag_bits = 3;
    std::uint64_t word = 0;

    page_tag tag() const noexcept { return static_cast<page_tag>(word & 7u); }
    std::uint64_t payload() const noexcept { return word >> tag_bits; }
    std::uint32_t pages() const noexcept { return static_cast<std::uint32_t>(payload()); }
    template <class Slab>
    Slab* view() const noexcept {
        return reinterpret_cast<Slab*>(word & ~std::uint64_t{7});
    }
    static page_entry make(page_tag tag, std::uint64_t payload) noexcept {
        return {payload << tag_bits | static_cast<std::uint64_t>(tag)};
    }
    static page_entry of_view(const void* view) noexcept {
        return {reinterpret_cast<std::uintptr_t>(view) | static_cast<std::uint64_t>(page_tag::slab)};
    }
};

/// Page numbers count from the start of the pool; 0 (the superblock) stands for none.
struct page_info {
    std::atomic<std::uint64_t> entry;
    std::uint32_t next;      ///< in the list of the page's bin or of unscanned slabs
    std::uint32_t previous;  ///< likewise
    std::uint64_t sequence;  ///< of a free run, at its head
};

/// Pages by number, in chunks that are made when a cursor first enters them.
class page_table {
public:
    explicit page_table(std::uint64_t page_limit);
    ~page_table();
    page_table(const page_table&) = delete;
    page_table& operator=(const page_table&) = delete;

    /// Makes room for [first, first + count). May throw bad_alloc. Afterwards nothing does.
    void ensure(std::uint64_t first, std::uint64_t count);

    /// Any page number at all, without the mutex.
    page_entry entry(std::uint64_t page) const noexcept {
        const std::uint64_t chunk = page / chunk_pages;
        if (chunk >= chunk_count_) return {};
        const page_info* infos = __atomic_load_n(&chunks_[chunk], __ATOMIC_ACQUIRE);
        if (infos == nullptr) return {};
        return {infos[page % chunk_pages].entry.load(std::memory_order_acquire)};
    }
    /// Requires: ensured.
    page_info& at(std::uint64_t page) noexcept {
        return chunks_[page / chunk_pages][page % chunk_pages];
    }
    const page_info& at(std::uint64_t page) const noexcept {
        return chunks_[page / chunk_pages][page % chunk_pages];
    }
    void set(std::uint64_t page, page_entry entry) noexcept {
        at(page).entry.store(entry.word, std::memory_order_release);
    }

private:
    static constexpr std::uint64_t chunk_pages = 2048;
    struct free_memory {
        void operator()(page_info** chunks) const noexcept { std::free(chunks); }
    };
    std::uint64_t chunk_count_;
    std::uint64_t entered_ = 0;  ///< chunks from here on were never made
    /// Sized for all pages that the pool may ever have, and zeroed by the kernel: what nobody enters takes no memory.
    /// Written under the mutex.
    std::unique_ptr<page_info*[], free_memory> chunks_;
};

/// A run of free pages. `sequence`: the largest commit at which one of them was freed, 0 if none was.
struct free_run {
    std::uint32_t page = 0;
    std::uint32_t pages = 0;
    std::uint64_t sequence = 0;
};

/// The free runs, found by length through bins and by neighbour through the page table. Allocates nothing.
class free_runs {
public:
    static constexpr std::uint64_t any_sequence = ~std::uint64_t{0};
    /// How many runs of each length are looked at: a few nearly always suffice; all, before giving up.
    enum class effort : std::uint32_t { few = 16, all = ~std::uint32_t{0} };

    explicit free_runs(page_table& pages) noexcept : pages_(pages) {}

    /// Adds a run and joins it with the free runs that touch it; the joined run has the larger sequence.
    /// `join_up_to`: runs on both sides of this sequence stay apart.
    void insert(free_run run, std::uint64_t join_up_to = any_sequence) noexcept;
    /// The head of a run that holds `pages` pages from a multiple of `alignment`, with a sequence of at
    /// most `sequence_max`; near the best fit. 0: there is none.
    std::uint32_t find(std::uint32_t pages, std::uint32_t alignment, std::uint64_t sequence_max,
                       effort looks) const noexcept;
    /// Cuts [page, page + pages) out of the run with that head; the ends stay free.
    free_run take(std::uint32_t head, std::uint32_t page, std::uint32_t pages) noexcept;

    free_run run_at(std::uint32_t head) const noexcept;

private:
    static constexpr std::size_t bin_count = 256;
    static std::size_t bin_of(std::uint32_t pages) noexcept;
    std::uint32_t best_in_bin(std::size_t bin, std::uint32_t pages, std::uint32_t alignment,
                              std::uint64_t sequence_max, effort looks) const noexcept;
    void link(free_run run) noexcept;
    void unlink(free_run run) noexcept;

    page_table& pages_;
    std::array<std::uint32_t, bin_count> heads_{};
    std::array<std::uint64_t, bin_count / 64> filled_{};
};

}  // namespace holdfast::detail
