// The stores of an open transaction, which both algorithms keep until commit.
#pragma once

#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/planted.hpp>

#include <cstddef>

namespace holdfast::stm {

/// Words by home, in the order of their first store. One thread. No allocation once warm; at most 2^31 words. Where
/// there is no memory it throws std::bad_alloc. Constant-initialised and trivially destructible.
///
/// Entries are found through an open-addressing table, emptied in O(1): a slot counts only if it has the current
/// generation. A line has one slot, with the number of the entry of that word of it which was stored to first. Its
/// other words, where they are stored to next and in the order of memory, are the entries behind that one and need no
/// slot: the number follows from the address. So a large write set in the order of memory has an eighth of the slots
/// that it has words. A word that comes at another time has a slot of its own, which a second hash finds.
///
/// The slot where the walk of a line begins has a bit for each of its eight words too, set by every line whose walk
/// begins there: a word without its bit was not stored to.
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
            value = mask_of_more == 0xFF ? more : merged(value, more, mask_of_more);
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
    [[gnu::always_inline]] bool may_hold(const word* home) const noexcept {
        const slot first = slots_[line_slot_of(home)];
        return is_current(first) && (first & bit_of(home)) != 0;
    }
    /// The same for the whole line that `home` is in.
    bool may_hold_of_line(const word* home) const noexcept { return is_current(slots_[line_slot_of(home)]); }
    /// What was stored to `home`, or nullptr.
    [[gnu::always_inline]] const entry* find(const word* home) const noexcept {
        if (!may_hold(home)) [[likely]]
            return nullptr;
        return find_held(home);
    }
    /// The same. Requires: not empty. Sooner where the answer is yes.
    const entry* find_held(const word* home) const noexcept {
        return is_last(home) ? end_ - 1 : find_in_slots(home);
    }
    /// The newest entry, if it is of `home`.
    [[gnu::always_inline]] const entry* last_of(const word* home) const noexcept {
        return !empty() && is_last(home) ? end_ - 1 : nullptr;
    }

    /// Stores a part of what was stored to `home` before. False: nothing was.
    bool add(const word* home, word value, std::uint8_t mask) noexcept {
        const entry* const found = find(home);
        if (found == nullptr) return false;
        const_cast<entry*>(found)->add(value, mask);
        return true;
    }
    void put(word* home, word value, std::uint8_t mask) {
        if (!put_at_once(home, value, mask)) put_further(home, value, mask);
    }
    /// put of another part of the newest entry's word, or of the word behind that one in its line. False: nothing was
    /// done.
    [[gnu::always_inline]] bool put_at_end(word* home, word value, std::uint8_t mask) noexcept {
        if (is_planted(fault::mask_ignored)) mask = 0xFF;
        if (line_slot_ == nullptr) return false;
        if (is_last(home)) return end_[-1].add(value, mask), true;
        return continues_line(home) && append_to_line(entry(home, value, mask));
    }
    /// The usual case of put: the first word of its line. False: nothing was done.
    [[gnu::always_inline]] bool put_at_once(word* home, word value, std::uint8_t mask) {
        if (is_planted(fault::mask_ignored)) mask = 0xFF;
        slot& first = slots_[line_slot_of(home)];
        if (is_current(first) || end_ == limit_) [[unlikely]]
            return false;
        append_first(first, entry(home, value, mask));
        return true;
    }
    /// What is left of put.
    void put_further(word* home, word value, std::uint8_t mask);
    /// put of whole words of one line, if they are the first of it, or come behind the last that was stored to.
    /// False: nothing was done.
    bool put_words_at_once(word* home, const word* values, unsigned count) noexcept;
    /// It has become large: true once when it has large_write_set words, and whenever it is to be enlarged.
    bool is_at_stop() const noexcept { return end_ == limit_ && size() >= large_write_set; }

    const entry* begin() const noexcept { return begin_; }
    const entry* end() const noexcept { return end_; }

    /// Stores every word home. Requires: nobody believes what he reads there meanwhile.
    template <class Home>
    void write_back() const noexcept {
        for (const entry* each = begin_; each != end_; ++each) {
            let_others_run();
            Home::store(each->home(), each->value, each->mask());
        }
    }

    /// How many words `Home` keeps.
    template <class Home>
    std::size_t words_kept_by() const noexcept {
        std::size_t kept = 0;
        if constexpr (Home::keeps_words)
            for (const entry* each = begin_; each != end_; ++each) kept += Home::keeps(each->home()) ? 1u : 0u;
        return kept;
    }
    /// So that keep_only_words_of() with that many words allocates nothing. False: there is no memory.
    bool make_room_to_keep(std::size_t words) noexcept;
    /// Forgets every word that `Home` does not keep. Requires: make_room_to_keep(words_kept_by<Home>()).
    template <class Home>
    void keep_only_words_of() noexcept {
        const std::size_t count = size();
        clear();
        // The entries lie where they were.
        for (std::size_t number = 0; Home::keeps_words && number < count; ++number) {
            const entry each = begin_[number];
            const bool is_kept = Home::keeps(each.home()) && !is_planted(fault::kept_forgotten);
            if (is_kept) put(each.home(), each.value, each.mask());
        }
    }

    void clear() noexcept {
        if (empty()) return;
        end_ = begin_;
        line_slot_ = nullptr;
        generation_ += one_generation;
        if (generation_ == 0) wipe();
        next_ = generation_;
        without_slot_ = 0;
        limit_ = begin_ + (capacity_ < large_write_set ? capacity_ : large_write_set);
    }
    /// Empties it and gives its memory back; it may be used again.
    void release() noexcept;

private:
    /// From the highest bits: the generation, the number of an entry, the words of the line. Slots of generations that
    /// are over are below those of the current one.
    using slot = std::uint64_t;
    static constexpr unsigned number_shift = 8;
    static constexpr unsigned generation_shift = 39;
    static constexpr slot one_number = slot{1} << number_shift;
    static constexpr slot one_generation = slot{1} << generation_shift;
    static constexpr std::size_t most_entries = std::size_t{1} << (generation_shift - number_shift);
    static constexpr std::size_t first_capacity = 512;
    static constexpr unsigned line_shift = 6;
    static constexpr unsigned group_bits = 3;
    static constexpr std::size_t group_slots = std::size_t{1} << group_bits;

    static std::uint32_t number_of_line(const word* home) noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(home) >> line_shift);
    }
    /// Eight lines that follow each other have their slots in one line. Such groups are spread by the golden ratio: if
    /// they follow each other, at any distance, they meet in few places.
    [[gnu::always_inline]] std::size_t line_slot_of(const word* home) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        const std::uint32_t group = static_cast<std::uint32_t>(at >> (line_shift + group_bits)) * 0x9E3779B1u >> shift_;
        return std::size_t{group} * group_slots + (at >> line_shift) % group_slots;
    }
    std::size_t word_slot_of(const word* home) const noexcept {
        const auto number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(home) / sizeof(word));
        return number * 0x85EBCA6Bu >> (shift_ - group_bits);
    }
    /// The slot behind `at` in the walk of whatever began there for `home`. The step is odd: the walk comes by every
    /// slot.
    std::size_t slot_behind(std::size_t at, const word* home) const noexcept {
        return (at + (number_of_line(home) * 0xC2B2AE35u >> 8 | 1)) & slot_mask_;
    }
    [[gnu::always_inline]] static slot bit_of(const word* home) noexcept {
        return slot{1} << (reinterpret_cast<std::uintptr_t>(home) / sizeof(word) % 8);
    }
    static bool is_of_one_line(const word* one, const word* other) noexcept {
        return (reinterpret_cast<std::uintptr_t>(one) ^ reinterpret_cast<std::uintptr_t>(other)) >> line_shift == 0;
    }
    [[gnu::always_inline]] bool is_current(slot each) const noexcept { return each >= generation_; }
    static std::size_t number_of(slot current) noexcept { return current % one_generation >> number_shift; }
    /// Where `home` is or would be if it came in the order of memory behind the entry of its line with this number.
    /// May be past the end.
    std::size_t number_behind(std::size_t number, const word* home) const noexcept {
        return number + static_cast<std::size_t>(home - begin_[number].home());
    }
    bool is_entry_of(std::size_t number, const word* home) const noexcept {
        return number < size() && begin_[number].is_of(home);
    }

    /// Whether it is the newest entry's: parts of a word are mostly stored to one after the other. Requires: not empty.
    bool is_last(const word* home) const noexcept { return end_[-1].is_of(home); }
    [[gnu::always_inline]] void append(const entry& each) noexcept {
        next_ += one_number;
        *end_++ = each;
    }
    /// The first of its line, whose slot is free.
    [[gnu::always_inline]] void append_first(slot& first, const entry& each) noexcept {
        first = next_ | bit_of(each.home());
        line_slot_ = &first;
        append(each);
    }
    /// Whether `home` is the word behind the newest entry's, in its line, and needs no slot if it has none.
    [[gnu::always_inline]] bool continues_line(const word* home) const noexcept {
        return line_slot_ != nullptr && end_[-1].is_of(home - 1) && is_of_one_line(home, home - 1);
    }
    /// Requires: continues_line(). False: there is no room, or the word may have an entry; nothing was done.
    [[gnu::always_inline]] bool append_to_line(const entry& each) noexcept {
        const slot bit = bit_of(each.home());
        // A word that came earlier, with a slot of its own, has an entry although the one before it is the newest.
        if (end_ == limit_ || (*line_slot_ & bit) != 0) return false;
        *line_slot_ |= bit;
        ++without_slot_;
        append(each);
        return true;
    }
    bool has_few_slots_for(std::size_t words) const noexcept {
        const std::size_t slots = slot_mask_ + 1;
        return slots_ == nothing_ || words + slots / 16 >= slots / 2;
    }
    /// How many entries there is room for, if all that are still to come take a slot.
    std::size_t nearest_limit() const noexcept {
        const std::size_t by_slots = without_slot_ + (slot_mask_ + 1) / 2;
        return by_slots < capacity_ ? by_slots : capacity_;
    }

    const entry* find_in_slots(const word* home) const noexcept;
    void put_slowly(word* home, word value, std::uint8_t mask);
    void index(const word* home, std::size_t number) noexcept;
    void make_room();
    void grow_entries();
    void grow_slots();
    void wipe() noexcept;

    /// What a log without memory looks into, so that a lookup need not ask. Nothing is stored to it.
    static slot nothing_[2 * group_slots];

    entry* begin_ = nullptr;
    entry* end_ = nullptr;
    entry* limit_ = nullptr;  ///< where put has to look for more room
    slot* slots_ = nothing_;
    unsigned shift_ = 31;  ///< for the number of a group
    slot generation_ = one_generation;
    slot next_ = one_generation;  ///< the slot of the next entry, without bits
    std::size_t slot_mask_ = 2 * group_slots - 1;
    std::size_t capacity_ = 0;
    std::size_t without_slot_ = 0;  ///< entries that need none
    /// Of the newest entry's line, if the number of that entry follows from it; otherwise nullptr.
    slot* line_slot_ = nullptr;
};

}  // namespace holdfast::stm
