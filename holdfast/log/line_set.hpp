// A set of cache lines of a pool: a bitmap in pages that exist only where lines were inserted.
#pragma once

#include <holdfast/log/line_runs.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace holdfast {

/// Lines by index (pool offset / 64). Not thread-safe.
class line_set {
public:
    /// `pool_bytes`: more only when a line behind them is inserted.
    explicit line_set(std::uint64_t pool_bytes) : pages_(pool_bytes / 64 / lines_per_page + 1) {}

    /// Returns true when `line` was not in the set. Throws std::bad_alloc; then nothing has changed.
    bool insert(std::uint64_t line) {
        if (line / lines_per_page >= pages_.size()) [[unlikely]]
            pages_.resize(line / lines_per_page + 1);
        auto& page = pages_[line / lines_per_page];
        if (!page) page = std::make_unique<page_bits>();
        if (!page->used) {
            used_.push_back(static_cast<std::uint32_t>(line / lines_per_page));
            page->used = true;
        }
        const std::uint64_t index = line % lines_per_page / 64;
        const std::uint64_t bit = bit_of(line);
        if ((page->words[index] & bit) != 0) return false;
        page->words[index] |= bit;
        page->filled[index / 64] |= bit_of(index);
        ++count_;
        return true;
    }

    /// Calls f(first_line, count) for each maximal run, in ascending order.
    template <class F>
    void for_each_run(F&& f);

    /// Removes lines, in ascending order: `most` of them or up to 63 more, or all. Calls f(first_line, count) for runs
    /// of them.
    template <class F>
    void take(std::uint64_t most, F&& f);
    std::uint64_t count() const noexcept { return count_; }

    /// Empties the set, keeping its memory.
    void clear() {
        for (const auto index : used_) {
            page_bits& page = *pages_[index];
            page.for_each_filled([&](std::uint64_t word) { page.words[word] = 0; });
            page.filled.fill(0);
            page.used = false;
        }
        used_.clear();
        count_ = 0;
    }

private:
    static constexpr std::uint64_t lines_per_page = 32768;
    static constexpr std::uint64_t bit_of(std::uint64_t index) noexcept { return std::uint64_t{1} << (index % 64); }

    struct page_bits {
        std::array<std::uint64_t, lines_per_page / 64> words{};
        std::array<std::uint64_t, lines_per_page / 64 / 64> filled{};  ///< a bit for each of `words` that is not 0
        bool used = false;

        /// Calls f(index) for each word that is not 0, in ascending order.
        template <class F>
        void for_each_filled(F&& f) const {
            for (std::uint64_t first = 0; first < filled.size(); ++first)
                for (std::uint64_t bits = filled[first]; bits != 0; bits &= bits - 1)
                    f(first * 64 + static_cast<unsigned>(__builtin_ctzll(bits)));
        }
    };
    std::vector<std::unique_ptr<page_bits>> pages_;
    std::vector<std::uint32_t> used_;
    std::uint64_t count_ = 0;
};

template <class F>
void line_set::take(std::uint64_t most, F&& f) {
    line_runs<std::remove_reference_t<F>> runs(f);
    const std::uint64_t left = most < count_ ? count_ - most : 0;
    while (count_ > left) {
        const auto lowest = std::min_element(used_.begin(), used_.end());
        page_bits& page = *pages_[*lowest];
        bool is_empty = true;
        page.for_each_filled([&](std::uint64_t word) {
            if (count_ <= left) return void(is_empty = false);
            runs.add(*lowest * lines_per_page + word * 64, page.words[word]);
            count_ -= static_cast<unsigned>(__builtin_popcountll(page.words[word]));
            page.words[word] = 0;
            page.filled[word / 64] &= ~bit_of(word);
        });
        page.used = !is_empty;
        if (is_empty) used_.erase(lowest);
    }
    runs.finish();
}

template <class F>
void line_set::for_each_run(F&& f) {
    line_runs<std::remove_reference_t<F>> runs(f);
    for (std::uint64_t index = 0; index < pages_.size(); ++index) {
        if (!pages_[index] || !pages_[index]->used) continue;
        const page_bits& page = *pages_[index];
        page.for_each_filled(
            [&](std::uint64_t word) { runs.add(index * lines_per_page + word * 64, page.words[word]); });
    }
    runs.finish();
}

}  // namespace holdfast
