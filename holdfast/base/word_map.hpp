// From words (or lines) to small numbers: the lookup inside a transaction. Emptied in O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace holdfast {

/// An open-addressing table from keys below 2^46 to 32-bit values. One thread. Grows; never
/// shrinks. No allocation once warm. Constant-initialised and trivially destructible, for objects
/// that a thread must reach without a guard: release() gives the memory back.
class word_table {
public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }

    /// The value of `key`, or nullptr. Valid until the next insert.
    std::uint32_t* find(std::uint64_t key) noexcept {
        slot& each = walk(key);
        return each.key == (key | generation_) ? &each.value : nullptr;
    }

    /// The value of `key` and false; or, where there is none, adds `value` and returns it and true.
    /// One walk for both. The pointer is valid until the next insert.
    struct found_or_inserted {
        std::uint32_t* value;
        bool inserted;
    };
    found_or_inserted find_or_insert(std::uint64_t key, std::uint32_t value) {
        if (is_full()) [[unlikely]]
            grow();
        slot& each = walk(key);
        const bool inserted = each.key != (key | generation_);
        if (inserted) fill(each, key, value);
        return {&each.value, inserted};
    }
    /// Adds `value` if the first slot of the walk is free: nearly always, for a key that is not there. False: nothing
    /// has changed, and find_or_insert tells. Requires: not full.
    bool add_at_once(std::uint64_t key, std::uint32_t value) noexcept {
        slot& first = slots_[home_of(key)];
        if (is_current(first)) [[unlikely]]
            return false;
        fill(first, key, value);
        return true;
    }
    bool is_full() const noexcept { return count_ == limit_; }
    /// How many keys there may be before the table doubles, and how many more.
    std::size_t limit() const noexcept { return limit_; }
    std::size_t room() const noexcept { return limit_ - count_; }
    /// Doubles the table.
    void grow();

    /// Adds a key that is not there.
    void insert(std::uint64_t key, std::uint32_t value) { find_or_insert(key, value); }

    void clear() noexcept {
        if (count_ == 0) return;
        count_ = 0;
        generation_ += one_generation;
        if (generation_ == 0) wipe();
    }

    /// Empties it and gives its memory back; it may be used again.
    void release() noexcept {
        if (slots_ != nothing_) delete[] slots_;
        *this = word_table{};
    }

private:
    struct slot {
        std::uint64_t key;  ///< the generation above the key; generation 0 is never current
        std::uint32_t value;
    };
    static constexpr std::size_t first_capacity = 1024;
    static constexpr std::uint64_t one_generation = std::uint64_t{1} << 46;

    std::size_t home_of(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> shift_);
    }
    bool is_current(const slot& each) const noexcept { return (each.key ^ generation_) < one_generation; }
    /// The slot of `key`, or the first free one on its walk.
    slot& walk(std::uint64_t key) const noexcept {
        const std::uint64_t wanted = key | generation_;
        slot* each = slots_ + home_of(key);
        while (each->key != wanted && is_current(*each)) [[unlikely]]
            each = slots_ + ((static_cast<std::size_t>(each - slots_) + 1) & mask_);
        return *each;
    }
    void fill(slot& free, std::uint64_t key, std::uint32_t value) noexcept {
        free.key = key | generation_;
        free.value = value;
        ++count_;
    }
    [[gnu::cold, gnu::noinline]] void wipe() noexcept {
        for (std::size_t at = 0; at <= mask_; ++at) slots_[at].key = 0;
        generation_ = one_generation;
    }
    /// What an empty table looks into, so that a lookup need not ask whether there is a table. Nothing is stored to it.
    static inline constinit slot nothing_[2]{};

    slot* slots_ = nothing_;
    std::size_t mask_ = 1;
    unsigned shift_ = 63;
    std::size_t limit_ = 0;  ///< keys before the table doubles
    std::uint64_t generation_ = one_generation;
    std::size_t count_ = 0;
};

// Out of line, to leave callers small.
[[gnu::cold, gnu::noinline]] inline void word_table::grow() {
    slot* const old = slots_;
    const std::size_t old_capacity = mask_ + 1;
    const std::size_t capacity = old == nothing_ ? first_capacity : old_capacity * 2;
    slots_ = new slot[capacity]();
    mask_ = capacity - 1;
    limit_ = capacity / 2;
    shift_ = 64u - static_cast<unsigned>(__builtin_ctzll(capacity));
    count_ = 0;
    if (old == nothing_) return;
    for (std::size_t at = 0; at < old_capacity; ++at)
        if (is_current(old[at])) insert(old[at].key ^ generation_, old[at].value);
    delete[] old;
}

/// The same as a member of objects that are built and destroyed. It has its memory from the beginning.
class word_map : public word_table {
public:
    word_map() {
        insert(0, 0);
        clear();
    }
    word_map(const word_map&) = delete;
    word_map& operator=(const word_map&) = delete;
    ~word_map() { release(); }
};

}  // namespace holdfast
