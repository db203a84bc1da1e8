// Words by their addresses, in the order in which they came: what a transaction wrote, or which lines it wrote to.
#pragma once

#include <sim/guest/system.hpp>

namespace holdfast::guest {

/// A slot counts only if the entry that it names is in use and names the slot, so forgetting everything is one store.
/// All zero is a set of nothing.
class word_set {
public:
    static constexpr std::uint64_t capacity = 2048;

    struct entry {
        std::uint64_t address;
        std::uint64_t value;
        std::uint64_t slot;
    };

    std::uint64_t size() const noexcept { return count_; }
    void clear() noexcept { count_ = 0; }
    const entry* begin() const noexcept { return entries_; }
    const entry* end() const noexcept { return entries_ + count_; }

    const entry* find(std::uint64_t address) const noexcept {
        if (count_ == 0) return nullptr;
        const std::uint64_t slot = slot_of(address);
        return is_used(slot) ? entries_ + slots_[slot] : nullptr;
    }
    /// Gives up when the set is full.
    void put(std::uint64_t address, std::uint64_t value) noexcept {
        const std::uint64_t slot = slot_of(address);
        if (is_used(slot)) {
            entries_[slots_[slot]].value = value;
            return;
        }
        if (count_ == capacity) give_up("the transaction writes to more words than its set has room for");
        slots_[slot] = static_cast<std::uint32_t>(count_);
        entries_[count_++] = {address, value, slot};
    }

private:
    static constexpr std::uint64_t slots = 2 * capacity;

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
    std::uint32_t slots_[slots];
    entry entries_[capacity];
};

}  // namespace holdfast::guest
