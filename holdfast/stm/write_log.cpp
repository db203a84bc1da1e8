#include <holdfast/stm/write_log.hpp>

#include <cstdlib>
#include <new>
#include <type_traits>

namespace holdfast::stm {

static_assert(std::is_trivially_copyable_v<write_log::entry> && sizeof(write_log::entry) == 16);

constinit write_log::slot write_log::nothing_[2 * write_log::group_slots] = {};

/// Behind the slots of its line, then at its own.
const write_log::entry* write_log::find_in_slots(const word* home) const noexcept {
    for (std::size_t at = line_slot_of(home); is_current(slots_[at]); at = slot_behind(at, home)) {
        const std::size_t number = number_of(slots_[at]);
        if (!is_of_one_line(begin_[number].home(), home)) continue;
        if (is_entry_of(number_behind(number, home), home)) return begin_ + number_behind(number, home);
        break;
    }
    for (std::size_t at = word_slot_of(home); is_current(slots_[at]); at = slot_behind(at, home)) {
        const std::size_t number = number_of(slots_[at]);
        if (is_entry_of(number, home)) return begin_ + number;
    }
    return nullptr;
}

/// The line's slot is there, or another line's, or there is no room.
void write_log::put_further(word* home, word value, std::uint8_t mask) {
    if (is_planted(fault::mask_ignored)) mask = 0xFF;
    if (!empty() && is_last(home)) return end_[-1].add(value, mask);
    slot& first = slots_[line_slot_of(home)];
    if (is_current(first)) {
        const std::size_t number = number_of(first);
        if (is_of_one_line(begin_[number].home(), home)) {
            const std::size_t place = number_behind(number, home);
            if (place == size() && (first & bit_of(home)) == 0 && end_ != limit_) {
                first |= bit_of(home);
                ++without_slot_;
                line_slot_ = &first;
                return append(entry(home, value, mask));
            }
            if (is_entry_of(place, home)) return begin_[place].add(value, mask);
        }
    }
    put_slowly(home, value, mask);
}

bool write_log::put_words_at_once(word* home, const word* values, unsigned count) noexcept {
    if (static_cast<std::size_t>(limit_ - end_) < count) return false;
    slot& first = slots_[line_slot_of(home)];
    const slot bits = ((slot{1} << count) - 1) * bit_of(home);
    std::size_t need_none = count;
    if (!is_current(first)) {
        first = next_ | bits;
        --need_none;
    } else {
        const std::size_t number = number_of(first);
        if ((first & bits) != 0 || !is_of_one_line(begin_[number].home(), home) ||
            number_behind(number, home) != size())
            return false;
        first |= bits;
    }
    without_slot_ += need_none;
    line_slot_ = &first;
    for (unsigned i = 0; i < count; ++i) append(entry(home + i, values[i], 0xFF));
    return true;
}

void write_log::put_slowly(word* home, word value, std::uint8_t mask) {
    if (const entry* const found = find(home)) return const_cast<entry*>(found)->add(value, mask);
    if (end_ == limit_) make_room();
    line_slot_ = nullptr;
    append(entry(home, value, mask));
    index(home, size() - 1);
}

/// Makes the entry with this number, the last so far, one that is found. Requires: a slot is free.
void write_log::index(const word* home, std::size_t number) noexcept {
    const slot own = generation_ | number << number_shift | bit_of(home);
    const std::size_t first = line_slot_of(home);
    for (std::size_t at = first;; at = slot_behind(at, home)) {
        if (!is_current(slots_[at])) {
            slots_[at] = own;
            slots_[first] |= bit_of(home);
            return;
        }
        const std::size_t of_line = number_of(slots_[at]);
        if (!is_of_one_line(begin_[of_line].home(), home)) continue;
        slots_[first] |= bit_of(home);
        if (number_behind(of_line, home) != number) break;
        ++without_slot_;
        return;
    }
    std::size_t at = word_slot_of(home);
    while (is_current(slots_[at])) at = slot_behind(at, home);
    slots_[at] = own;
}

/// Half of the slots stay free. While entries need none, the limit only moves on.
void write_log::make_room() {
    if (size() == capacity_) grow_entries();
    if (has_few_slots_for(size() - without_slot_)) grow_slots();
    limit_ = begin_ + nearest_limit();
}

void write_log::grow_entries() {
    const std::size_t count = size();
    const std::size_t more = count == 0 ? first_capacity : 2 * count;
    if (more > most_entries) throw std::bad_alloc();
    auto* const entries = static_cast<entry*>(std::realloc(static_cast<void*>(begin_), more * sizeof(entry)));
    if (entries == nullptr) throw std::bad_alloc();
    begin_ = entries;
    end_ = limit_ = entries + count;
    capacity_ = more;
}

void write_log::grow_slots() {
    const std::size_t more = slots_ == nothing_ ? 4 * first_capacity : 2 * (slot_mask_ + 1);
    auto* const slots = static_cast<slot*>(std::calloc(more, sizeof(slot)));
    if (slots == nullptr) throw std::bad_alloc();
    if (slots_ != nothing_) std::free(slots_);
    slots_ = slots;
    line_slot_ = nullptr;
    slot_mask_ = more - 1;
    shift_ = 32u + group_bits - static_cast<unsigned>(__builtin_ctzll(more));
    generation_ = one_generation;
    without_slot_ = 0;
    for (std::size_t number = 0; number < size(); ++number) index(begin_[number].home(), number);
    next_ = generation_ | size() << number_shift;
}

/// A word that is put again may need a slot that it did not need between others.
bool write_log::make_room_to_keep(std::size_t words) noexcept {
    try {
        while (words != 0 && has_few_slots_for(words)) grow_slots();
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void write_log::wipe() noexcept {
    for (std::size_t at = 0; at <= slot_mask_; ++at) slots_[at] = 0;
    generation_ = one_generation;
}

void write_log::release() noexcept {
    std::free(static_cast<void*>(begin_));
    if (slots_ != nothing_) std::free(slots_);
    *this = write_log{};
}

}  // namespace holdfast::stm
