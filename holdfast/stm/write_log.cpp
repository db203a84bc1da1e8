#include <holdfast/stm/write_log.hpp>

#include <cstdlib>
#include <new>
#include <type_traits>

namespace holdfast::stm {

static_assert(std::is_trivially_copyable_v<write_log::entry> && sizeof(write_log::entry) == 16);

constinit write_log::slot write_log::nothing_ = 0;

const write_log::entry* write_log::find_further(const word* home, place at) const noexcept {
    for (;;) {
        at.slot = (at.slot + at.stride) & slot_mask_;
        const slot found = slots_[at.slot];
        if (!is_current(found)) return nullptr;
        if (entry_of(found)->is_of(home)) return entry_of(found);
    }
}

void write_log::put_slowly(word* home, word value, std::uint8_t mask) {
    if (end_ == limit_) grow();
    for (place at = place_of(home);; at.slot = (at.slot + at.stride) & slot_mask_) {
        slot& each = slots_[at.slot];
        if (!is_current(each)) return append(each, home, value, mask);
        if (entry_of(each)->is_of(home)) return entry_of(each)->add(value, mask);
    }
}

void write_log::grow() {
    const std::size_t count = size();
    const std::size_t capacity = count == 0 ? first_capacity : 2 * count;
    auto* more_entries = static_cast<entry*>(std::realloc(static_cast<void*>(begin_), capacity * sizeof(entry)));
    if (more_entries == nullptr) throw std::bad_alloc();
    begin_ = more_entries;
    end_ = begin_ + count;
    auto* more_slots = static_cast<slot*>(std::calloc(capacity * slots_per_entry, sizeof(slot)));
    if (more_slots == nullptr) throw std::bad_alloc();
    if (slots_ != &nothing_) std::free(slots_);
    slots_ = more_slots;
    slot_mask_ = capacity * slots_per_entry - 1;
    generation_ = one_generation;
    limit_ = begin_ + capacity;
    for (std::size_t number = 0; number < count; ++number) {
        place at = place_of(begin_[number].home());
        while (is_current(slots_[at.slot])) at.slot = (at.slot + at.stride) & slot_mask_;
        slots_[at.slot] = generation_ | number * sizeof(entry);
    }
}

void write_log::wipe() noexcept {
    for (std::size_t at = 0; at <= slot_mask_; ++at) slots_[at] = 0;
    generation_ = one_generation;
}

void write_log::release() noexcept {
    std::free(static_cast<void*>(begin_));
    if (slots_ != &nothing_) std::free(slots_);
    begin_ = end_ = limit_ = nullptr;
    slots_ = &nothing_;
    slot_mask_ = 0;
    generation_ = one_generation;
    filter_ = 0;
}

}  // namespace holdfast::stm
