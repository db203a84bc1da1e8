// The paper's alias table: what is committed and perhaps not home yet, in sets of entries with numbers. It is never
// emptied, and no word is common to all transactions. The protocol stands in alias_sets.cpp.
#pragma once

#include <holdfast/base/words.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace holdfast {

/// Words of a pool (offset / 8, below 2^44) with their values, each with the number of the commit that stored it.
/// Any number of threads look, and take places, at once.
class alias_sets {
    struct entry;

public:
    /// A place of a word, for the commit that has taken it.
    class place {
        friend class alias_sets;
        entry* at = nullptr;

    public:
        explicit operator bool() const noexcept { return at != nullptr; }
    };

    /// Entries in that many bytes, as far as these are a power of two sets of `ways`. Requires: room for one set.
    /// Throws std::bad_alloc.
    alias_sets(const std::byte* pool, std::uint64_t bytes, std::uint32_t ways);

    static constexpr std::uint64_t bytes_of_set(std::uint32_t ways) noexcept { return ways * entry_bytes; }
    std::uint32_t ways() const noexcept { return ways_; }
    std::uint64_t word_of(const pool_word* home) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(home) - pool_) / 8;
    }
    std::uint64_t set_of(std::uint64_t word) const noexcept {
        // Words of a line are in sets that follow each other.
        return ((word / line_words * 0x9E3779B97F4A7C15ull >> 32) * line_words + word % line_words) & mask_;
    }

    /// The word as the commits so far left it: the entry's value, or the home's. Thread-safe, without a lock. Where the
    /// caller's isolation does not guard the word, from some commit, the newest where no other is under way. What is
    /// loaded next is not older.
    std::uint64_t load(const pool_word* home) const noexcept;

    /// A place for a word: its own entry, or one whose number is at most `retired`, and which so is home. Others find
    /// there what they found before. None: the set is full for now. Requires: the isolation's lock of the word, until
    /// the place is put or given back. Thread-safe.
    place take(std::uint64_t word, std::uint64_t retired) noexcept;
    /// Others see the value. Requires: `number` is the commit's.
    void put(place taken, std::uint64_t value, std::uint64_t number) noexcept;
    /// The commit did not come about.
    void give_back(place taken) noexcept;
    /// The home has the newest value of the word. Requires: the isolation's lock of the word.
    void drop(std::uint64_t word) noexcept;
    /// The smallest number above `retired` in the set of a word: once it is retired, its place can be taken. 0: there
    /// is none, and others hold the places.
    std::uint64_t next_to_retire_beside(std::uint64_t word, std::uint64_t retired) const noexcept;

private:
    using number = std::atomic_ref<std::uint64_t>;

    /// The key: the word + 1, 0 for none, with flags above. Memory that is all zeros is entries without a word.
    struct entry {
        alignas(8) mutable std::uint64_t key, value, stamp, unused;
    };
    static constexpr std::uint64_t entry_bytes = 32;
    static_assert(sizeof(entry) == entry_bytes, "two entries are a line");
    static constexpr std::uint64_t line_words = 8;
    static constexpr std::uint64_t pinned = std::uint64_t{1} << 63;   ///< somebody has taken it; its value counts
    static constexpr std::uint64_t claimed = std::uint64_t{1} << 62;  ///< the same; it has no value yet

    struct freeing {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    entry* begin_of(std::uint64_t word) const noexcept { return entries_ + set_of(word) * ways_; }
    static bool take_over(entry& each, std::uint64_t word, std::uint64_t retired) noexcept;
    place take_own(std::uint64_t word) noexcept;
    /// For an assertion. Requires: as `take`.
    std::uint64_t entries_of(std::uint64_t word) const noexcept;

    const std::byte* pool_;
    std::uint32_t ways_;
    std::uint64_t mask_;
    std::unique_ptr<void, freeing> memory_;
    entry* entries_;
};

inline std::uint64_t alias_sets::load(const pool_word* home) const noexcept {
    const std::uint64_t word = word_of(home);
    const entry* const end = begin_of(word) + ways_;
    for (const entry* each = begin_of(word); each != end;) {
        const std::uint64_t key = number(each->key).load(std::memory_order_acquire) & ~pinned;
        if (key != word + 1) {
            ++each;
            continue;
        }
        const std::uint64_t stamp = number(each->stamp).load(std::memory_order_acquire);
        const std::uint64_t value = number(each->value).load(std::memory_order_acquire);
        // In this order: where it was another word's in between, the key still is, or the stamp has grown.
        if ((number(each->key).load(std::memory_order_acquire) & ~pinned) == key &&
            number(each->stamp).load(std::memory_order_acquire) == stamp)
            return value;
    }
    return __atomic_load_n(home, __ATOMIC_ACQUIRE);
}

}  // namespace holdfast
