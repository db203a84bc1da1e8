// A set of cache lines of a pool: a bitmap in pages that exist only where lines were inserted.
#pragma once

#include <holdfast/log/line_runs.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace holdfast {

/// Lines by index (pool offset / 64). Not thread-safe.
class line_set {
public:
    explicit line_set(std::uint64_t pool_bytes) : pages_(pool_bytes / 64 / lines_per_page + 1) {}

    /// Makes room for the lines of a larger pool.
    void grow(std::uint64_t pool_bytes) { pages_.resize(pool_bytes / 64 / lines_per_page + 1); }

    /// Returns true when `line` was not in the set. Requires: line < pool_bytes / 64.
    bool insert(std::uint64_t line) {
        auto& page = pages_[line / lines_per_page];
        if (!page) page = std::make_unique<page_bits>();
        if (!page->used) {
            used_.push_back(static_cast<std::uint32_t>(line / lines_per_page));
            page->used = true;
        }
        std::uint64_t& word = page->words[line % lines_per_page / 64];
        const std::uint64_t bit = std::uint64_t{1} << (line % 64);
        if ((word & bit) != 0) return false;
        word |= bit;
        return true;
    }

    /// Calls f(first_line, count) for each maximal run, in ascending order.
    template <class F>
    void for_each_run(F&& f);

    /// Empties the set, keeping its memory.
    void clear() {
        for (const auto index : used_) {
            pages_[index]->words.fill(0);
            pages_[index]->used = false;
        }
        used_.clear();
    }

private:
    static constexpr std::uint64_t lines_per_page = 32768;
    struct page_bits {
        std::array<std::uint64_t, lines_per_page / 64> words{};
        bool used = false;
    };
    std::vector<std::unique_ptr<page_bits>> pages_;
    std::vector<std::uint32_t> used_;
};

template <class F>
void line_set::for_each_run(F&& f) {
    line_runs<std::remove_reference_t<F>> runs(f);
    for (std::uint64_t index = 0; index < pages_.size(); ++index) {
        if (!pages_[index] || !pages_[index]->used) continue;
        for (std::uint64_t word = 0; word < lines_per_page / 64; ++word)
            runs.add(index * lines_per_page + word * 64, pages_[index]->words[word]);
    }
    runs.finish();
}

}  // namespace holdfast
