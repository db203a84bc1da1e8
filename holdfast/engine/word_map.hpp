// From words (or lines) to small numbers: the lookup inside a transaction. Emptied in O(1).
#pragma once

#include <cstdint>
#include <memory>

namespace holdfast {

/// An open-addressing table from keys below 2^44 to 32-bit values. One thread. Grows; never
/// shrinks. No allocation once warm.
class word_map {
public:
    word_map() { allocate(first_capacity); }

    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }

    /// The value of `key`, or nullptr. Valid until the next insert.
    std::uint32_t* find(std::uint64_t key) noexcept {
        const std::uint64_t wanted = key | generation_;
        for (std::size_t at = home_of(key);; at = (at + 1) & mask_) {
            slot& each = slots_[at];
            if (each.key == wanted) return &each.value;
            if ((each.key & generation_bits) != generation_) return nullptr;
        }
    }

    /// The value of `key` and false; or, where there is none, adds `value` and returns it and true.
    /// One walk for both. The pointer is valid until the next insert.
    struct found_or_inserted {
        std::uint32_t* value;
        bool inserted;
    };
    found_or_inserted find_or_insert(std::uint64_t key, std::uint32_t value) {
        if (count_ == limit_) [[unlikely]]
            grow();
        const std::uint64_t wanted = key | generation_;
        for (std::size_t at = home_of(key);; at = (at + 1) & mask_) {
            slot& each = slots_[at];
            if (each.key == wanted) return {&each.value, false};
            if ((each.key & generation_bits) != generation_) [[likely]] {
                each.key = wanted;
                each.value = value;
                ++count_;
                return {&each.value, true};
            }
        }
    }

    /// Adds a key that is not there.
    void insert(std::uint64_t key, std::uint32_t value) { find_or_insert(key, value); }

    void clear() noexcept {
        if (count_ == 0) return;
        count_ = 0;
        generation_ += one_generation;
        if (generation_ == 0) wipe();
    }

private:
    struct slot {
        std::uint64_t key = 0;  ///< the generation above the key; generation 0 is never current
        std::uint32_t value = 0;
    };
    static constexpr std::size_t first_capacity = 1024;
    static constexpr std::uint64_t one_generation = std::uint64_t{1} << 44;
    static constexpr std::uint64_t generation_bits = ~(one_generation - 1);

    std::size_t home_of(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> shift_);
    }
    void place(std::uint64_t tagged, std::uint32_t value) noexcept {
        std::size_t at = home_of(tagged & ~generation_bits);
        while ((slots_[at].key & generation_bits) == generation_) at = (at + 1) & mask_;
        slots_[at] = {tagged, value};
    }
    void allocate(std::size_t capacity) {
        slots_ = std::make_unique<slot[]>(capacity);
        mask_ = capacity - 1;
        limit_ = capacity / 2;
        shift_ = 64u - static_cast<unsigned>(__builtin_ctzll(capacity));
    }
    void wipe() noexcept {
        for (std::size_t at = 0; at <= mask_; ++at) slots_[at].key = 0;
        generation_ = one_generation;
    }
    void grow() {
        const auto old = std::move(slots_);
        const std::size_t old_capacity = mask_ + 1;
        allocate(old_capacity * 2);
        for (std::size_t at = 0; at < old_capacity; ++at)
            if ((old[at].key & generation_bits) == generation_) place(old[at].key, old[at].value);
    }

    std::unique_ptr<slot[]> slots_;
    std::size_t mask_ = 0;
    std::size_t limit_ = 0;  ///< keys before the table doubles
    unsigned shift_ = 0;
    std::uint64_t generation_ = one_generation;
    std::size_t count_ = 0;
};

}  // namespace holdfast
