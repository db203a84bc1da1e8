// The stores of an open transaction, which both algorithms keep until commit.
#pragma once

#include <holdfast/base/word_map.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/planted.hpp>

namespace holdfast::stm {

/// Words by home, in the order of their first store. One thread. No allocation once warm; at most 2^32 words.
class write_log {
public:
    struct entry {
        word* home;
        word value;
        std::uint64_t mask;  ///< the bytes that were stored
    };

    bool empty() const noexcept { return entries_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }

    /// What was stored to `home`, or nullptr.
    const entry* find(const word* home) noexcept {
        const std::uint32_t* at = index_.find(key_of(home));
        return at == nullptr ? nullptr : &entries_[*at];
    }

    void put(word* home, word value, std::uint8_t mask) {
        if (is_planted(fault::mask_ignored)) mask = 0xFF;
        const auto [at, inserted] = index_.find_or_insert(key_of(home), static_cast<std::uint32_t>(entries_.size()));
        if (inserted) [[likely]] {
            entries_.push({home, value, mask});
        } else {
            entry& each = entries_[*at];
            each.value = merged(each.value, value, mask);
            each.mask = is_planted(fault::masks_not_merged) ? mask : each.mask | mask;
        }
    }

    /// Stores every word home. Requires: nobody believes what he reads there meanwhile.
    void write_back() const noexcept {
        for (const entry& each : entries_) {
            let_others_run();
            detail::store_home(each.home, each.value, static_cast<std::uint8_t>(each.mask));
        }
    }

    void clear() noexcept {
        entries_.clear();
        index_.clear();
    }
    void release() noexcept {
        entries_.release();
        index_.release();
    }

private:
    /// Addresses of user space have at most 48 bits.
    static std::uint64_t key_of(const word* home) noexcept {
        return (reinterpret_cast<std::uintptr_t>(home) >> 3) & ((std::uint64_t{1} << 46) - 1);
    }

    grown_array<entry> entries_;
    word_table index_;
};

}  // namespace holdfast::stm
