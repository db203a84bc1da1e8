// Words by their addresses, in the order in which they came: what a transaction wrote, or which lines it wrote to.
#pragma once

#include <sim/guest/system.hpp>

namespace holdfast::guest {

/// For programs whose transactions are longer than usual.
#ifndef HOLDFAST_WORD_SET_CAPACITY
#define HOLDFAST_WORD_SET_CAPACITY 2048
#endif

/// Most words that are looked for are not there, and most of those have a bit that no word of the set has. A few words
/// are searched one by one; more have slots. A slot counts only if the entry that it names is in use and names the
/// slot, so forgetting everything is two stores. All zero is a set of nothing.
class word_set {
public:
    static constexpr std::uint64_t capacity = HOLDFAST_WORD_SET_CAPACITY;

    struct entry {
        std::uint64_t address;
        std::uint64_t value;
        std::uint64_t slot;
    };

    std::uint64_t size() const noexcept { return count_; }
    void clear() noexcept { count_ = seen_ = 0; }
    const entry* begin() const noexcept { return entries_; }
    const entry* end() const noexcept { return entries_ + count_; }

    const entry* find(std::uint64_t address) const noexcept {
        const std::uint64_t seen = seen_;
        if (seen == 0 || (seen & bit_of(address)) == 0) return nullptr;
        return search(address);
    }
    /// Gives up when the set is full.
    void put(std::uint64_t address, std::uint64_t value) noexcept {
        if (const entry* const found = find(address)) {
            entries_[found - entries_].value = value;
            return;
        }
        if (count_ == capacity) give_up("the transaction writes to more words than its set has room for");
        entries_[count_++] = {address, value, slots};
        seen_ |= bit_of(address);
        if (count_ > few) give_slot();
    }

private:
    static constexpr std::uint64_t slots = 2 * capacity;
    static constexpr std::uint64_t few = 12;

    static std::uint64_t bit_of(std::uint64_t address) noexcept {
        return std::uint64_t{1} << ((address >> 3 ^ address >> 9) & 63);
    }
    const entry* search(std::uint64_t address) const noexcept {
        if (count_ > few) return search_slots(address);
        for (const entry& each : *this) {
            if (each.address == address) return &each;
        }
        return nullptr;
    }
    [[gnu::noinline]] const entry* search_slots(std::uint64_t address) const noexcept {
        const std::uint64_t slot = slot_of(address);
        return is_used(slot) ? entries_ + slots_[slot] : nullptr;
    }
    /// To the last word; to all when there begin to be many.
    [[gnu::noinline]] void give_slot() noexcept {
        for (std::uint64_t i = count_ == few + 1 ? 0 : count_ - 1; i < count_; ++i) {
            const std::uint64_t slot = slot_of(entries_[i].address);
            slots_[slot] = static_cast<std::uint32_t>(i);
            entries_[i].slot = slot;
        }
    }
    bool is_used(std::uint64_t slot) const noexcept {
        const std::uint32_t at = slots_[slot];
        return at < count_ && entries_[at].slot == slot;
    }
    /// The address's own, or a free one.
    std::uint64_t slot_of(std::uint64_t address) const noexcept {
        // Words and lines that a transaction writes to lie in few places, so bits of the page are mixed in.
        std::uint64_t slot = (address >> 3 ^ address >> 12) % slots;
        while (is_used(slot) && entries_[slots_[slot]].address != address) slot = (slot + 1) % slots;
        return slot;
    }

    std::uint64_t count_;
    std::uint64_t seen_;  ///< the bits of all words
    entry entries_[capacity];
    std::uint32_t slots_[slots];
};

}  // namespace holdfast::guest
