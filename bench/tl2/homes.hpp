// What all logs do with homes: read what a word will be, store them, write each line back once.
#pragma once

#include <bench/tl2/region.hpp>

#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/write_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

/// The whole word after the store. Requires: its lock is held.
inline std::uint64_t word_after(const stm::write_log::entry& each) noexcept {
    if (each.mask() == 0xFF) return each.value;
    return merged(stm::detail::load_home(each.home()), each.value, each.mask());
}

inline void store_homes(const stm::write_log& writes) {
    for (const auto& each : writes)
        persist::store_word(each.home(), each.value, each.mask(), persist::site::measure);
}

/// The lines of one commit. One thread.
class commit_lines {
public:
    ~commit_lines() { lines_.release(); }

    /// Stores the homes and starts the write-back of each of their lines, once.
    void store_and_write_back(const region& memory, const stm::write_log& writes) {
        store_homes(writes);
        lines_.clear();
        for (const auto& each : writes) add(reinterpret_cast<std::uintptr_t>(each.home()) / persist::line_bytes);
        if (lines_.size() > few) {
            std::sort(lines_.begin(), lines_.end());
            lines_.keep(static_cast<std::size_t>(std::unique(lines_.begin(), lines_.end()) - lines_.begin()));
        }
        for (const std::uintptr_t line : lines_)
            persist::write_back_one(memory.path(), reinterpret_cast<const void*>(line * persist::line_bytes),
                                    persist::site::measure);
    }

private:
    /// Up to this number a search is faster than sorting.
    static constexpr std::size_t few = 16;

    void add(std::uintptr_t line) {
        if (!lines_.empty() && lines_.back() == line) return;
        if (lines_.size() <= few && std::find(lines_.begin(), lines_.end(), line) != lines_.end()) return;
        lines_.push(line);
    }

    stm::grown_array<std::uintptr_t> lines_;
};

/// Words of a log record while it is made, as many whole lines as it needs; what is left of the last is zero.
class record_words {
public:
    record_words() = default;
    ~record_words() { words_.release(); }
    record_words(const record_words&) = delete;
    record_words& operator=(const record_words&) = delete;

    static constexpr std::size_t bytes_for(std::size_t words) noexcept {
        return (words * sizeof(std::uint64_t) + persist::line_bytes - 1) / persist::line_bytes * persist::line_bytes;
    }
    /// Room for the words, and zeros after them up to a whole line.
    std::uint64_t* begin(std::size_t words) {
        words_.clear();
        const std::size_t all = bytes_for(words) / sizeof(std::uint64_t);
        std::uint64_t* const first = words_.extend(all);
        for (std::size_t i = words; i < all; ++i) first[i] = 0;
        return first;
    }
    std::uint64_t* data() noexcept { return words_.data(); }
    std::size_t bytes() const noexcept { return words_.size() * sizeof(std::uint64_t); }

private:
    stm::grown_array<std::uint64_t> words_;
};

}  // namespace holdfast::bench
