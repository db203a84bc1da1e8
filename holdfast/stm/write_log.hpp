// The stores of an open transaction, which both algorithms keep until commit.
#pragma once

#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/planted.hpp>

#include <bit>

namespace holdfast::stm {

/// Words by home, in the order of their first store. One thread. No allocation once warm; at most 2^31 words. Where
/// there is no memory it throws std::bad_alloc. Constant-initialised and trivially destructible.
///
/// Entries are found through an open-addressing table of their numbers, emptied in O(1): a slot counts only if it has
/// the current generation. The words of a page stand side by side in it, as in memory, so that a large write set in
/// the order of memory walks through the table in order, too; pages are spread by a hash. A word whose slot is taken
/// goes on by a stride of its page's own: neighbours stay neighbours, and a page filled is no cluster for others to
/// walk through.
class write_log {
public:
    class entry {
    public:
        entry(word* home, word value_stored, std::uint8_t mask) noexcept
            : value(value_stored),
              tagged_(reinterpret_cast<std::uintptr_t>(home) | std::uintptr_t{mask} << mask_shift) {}

        word* home() const noexcept { return reinterpret_cast<word*>(tagged_ & home_bits); }
        /// The bytes that were stored.
        std::uint8_t mask() const noexcept { return static_cast<std::uint8_t>(tagged_ >> mask_shift); }
        bool is_of(const word* which) const noexcept { return home() == which; }
        void add(word more, std::uint8_t mask_of_more) noexcept {
            value = merged(value, more, mask_of_more);
            if (is_planted(fault::masks_not_merged)) tagged_ &= home_bits;
            tagged_ |= std::uintptr_t{mask_of_more} << mask_shift;
        }

        word value;

    private:
        // Addresses of user space have at most 56 bits.
        static constexpr unsigned mask_shift = 56;
        static constexpr std::uintptr_t home_bits = (std::uintptr_t{1} << mask_shift) - 1;
        std::uintptr_t tagged_;
    };

    bool empty() const noexcept { return end_ == begin_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }

    /// False: `home` was not stored to.
    [[gnu::always_inline]] bool may_hold(const word* home) const noexcept { return (filter_ & filter_bit(home)) != 0; }
    /// The same for the whole line that `first` is in.
    bool may_hold_of_line(const word* first) const noexcept {
        constexpr unsigned words_of_line = 8;
        const auto line = reinterpret_cast<std::uintptr_t>(first) & ~std::uintptr_t{words_of_line * sizeof(word) - 1};
        return (filter_ & std::rotl(std::uint64_t{0xFF}, filter_place(line))) != 0;
    }
    /// False: `home` was not stored to. Surer than may_hold, where much was stored.
    [[gnu::always_inline]] bool has_slot_of(const word* home) const noexcept {
        return is_current(slots_[place_of(home).slot]);
    }
    /// What was stored to `home`, or nullptr.
    [[gnu::always_inline]] const entry* find(const word* home) const noexcept {
        if (!may_hold(home)) [[likely]]
            return nullptr;
        return find_in_slots(home);
    }

    [[gnu::always_inline]] void put(word* home, word value, std::uint8_t mask) {
        if (is_planted(fault::mask_ignored)) mask = 0xFF;
        slot& first = slots_[place_of(home).slot];
        if (is_current(first) || end_ == limit_) [[unlikely]]
            return put_slowly(home, value, mask);
        append(first, home, value, mask);
    }

    /// Stores every word home. Requires: nobody believes what he reads there meanwhile.
    void write_back() const noexcept {
        for (const entry* each = begin_; each != end_; ++each) {
            let_others_run();
            detail::store_home(each->home(), each->value, each->mask());
        }
    }

    void clear() noexcept {
        if (empty()) return;
        end_ = begin_;
        filter_ = 0;
        generation_ += one_generation;
        if (generation_ == 0) wipe();
    }
    /// Empties it and gives its memory back; it may be used again.
    void release() noexcept;

private:
    /// The generation, and how many bytes behind the first the entry is. Generation 0 is never current.
    using slot = std::uint64_t;
    static constexpr slot one_generation = slot{1} << 32;

    /// Where a word's walk through the slots begins, and how it goes on.
    struct place {
        std::size_t slot;
        std::size_t stride;
    };
    static constexpr std::size_t first_capacity = 512;
    static constexpr std::size_t slots_per_entry = 2;

    [[gnu::always_inline]] place place_of(const word* home) const noexcept {
        constexpr unsigned page_shift = 12;
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        const std::uint64_t spread = (at >> page_shift) * 0x9E3779B97F4A7C15ull;
        // Odd, so that a walk comes by every slot; an odd number of pages and one more, so that it leaves a page at
        // once.
        constexpr std::uintptr_t words_of_page = (std::uintptr_t{1} << page_shift) / sizeof(word);
        const std::uint64_t stride = (spread >> 20 & ~(2 * words_of_page - 1)) | (words_of_page + 1);
        return {((spread >> 32) + at / sizeof(word) % words_of_page) & slot_mask_, stride};
    }
    bool is_current(slot each) const noexcept { return (each ^ generation_) < one_generation; }
    entry* entry_of(slot current) const noexcept {
        return reinterpret_cast<entry*>(reinterpret_cast<char*>(begin_) + static_cast<std::uint32_t>(current));
    }
    [[gnu::always_inline]] void append(slot& free, word* home, word value, std::uint8_t mask) noexcept {
        free = generation_ | static_cast<slot>(reinterpret_cast<char*>(end_) - reinterpret_cast<char*>(begin_));
        *end_++ = entry(home, value, mask);
        filter_ |= filter_bit(home);
    }
    /// One of 64 bits: whether a word may have been stored to at all, while few have.
    [[gnu::always_inline]] static std::uint64_t filter_bit(const word* home) noexcept {
        return std::uint64_t{1} << filter_place(reinterpret_cast<std::uintptr_t>(home));
    }
    /// Neighbouring words have neighbouring bits.
    [[gnu::always_inline]] static int filter_place(std::uintptr_t at) noexcept {
        return static_cast<int>((at / sizeof(word) + (at >> 9)) % 64);
    }
    const entry* find_in_slots(const word* home) const noexcept {
        const place at = place_of(home);
        const slot found = slots_[at.slot];
        if (!is_current(found)) return nullptr;
        if (entry_of(found)->is_of(home)) return entry_of(found);
        return find_further(home, at);
    }
    const entry* find_further(const word* home, place at) const noexcept;
    void put_slowly(word* home, word value, std::uint8_t mask);
    void grow();
    void wipe() noexcept;

    /// What a log without memory looks into, so that a lookup need not ask. Nothing is stored to it.
    static slot nothing_;

    entry* begin_ = nullptr;
    entry* end_ = nullptr;
    entry* limit_ = nullptr;
    slot* slots_ = &nothing_;
    std::size_t slot_mask_ = 0;
    slot generation_ = one_generation;
    std::uint64_t filter_ = 0;
};

}  // namespace holdfast::stm
