// One alias table: the newest committed values of words whose homes are older, in DRAM.
#pragma once

#include <holdfast/base/words.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast {

/// An open-addressing table from words (pool offset / 8, below 2^44) to values with byte masks. Any number of threads
/// may look at once, without a lock, while one publishes, or empties it.
class alias_table {
public:
    /// What a table has of a word: those bytes of `value` that `mask` names.
    struct alias {
        std::uint64_t value = 0;
        std::uint8_t mask = 0;
    };

    /// A table with room for that number of words, at least one.
    explicit alias_table(std::size_t words)
        : slot_count_(std::bit_ceil(words < 8 ? 16 : words * 2)),
          shift_(64u - static_cast<unsigned>(std::countr_zero(slot_count_ / line_words))),
          filter_words_(slot_count_ / 16 + 1),
          slots_(std::make_unique<slot[]>(slot_count_)),
          filter_(std::make_unique<std::atomic<std::uint64_t>[]>(filter_words_)) {}

    /// Words of one line are looked for together: they have one hash, and their slots are neighbours.
    static std::uint64_t hash_of(std::uint64_t word) noexcept { return word / line_words * 0x9E3779B97F4A7C15ull; }
    /// A word of the filter. `filter_bit` is not set in it where nothing is there of the line.
    std::uint64_t filter_word(std::uint64_t hash) const noexcept {
        return filter_[group_of(hash) >> 1].load(std::memory_order_acquire);
    }
    std::uint64_t filter_bit(std::uint64_t hash) const noexcept {
        return std::uint64_t{1} << (hash >> (shift_ - 5) & 63);
    }

    /// What is there of `word`; nothing, if the table is emptied meanwhile: then the homes have it.
    alias find(std::uint64_t word, std::uint64_t hash) const noexcept {
        const std::uint64_t generation = generation_.load(std::memory_order_acquire);
        const std::uint64_t wanted = word | generation;
        for (std::size_t at = first_slot(word, hash);; at = (at + 1) & (slot_count_ - 1)) {
            const slot& each = slots_[at];
            const std::uint64_t key = each.key.load(std::memory_order_acquire);
            if ((key & generation_bits) != generation) return {};
            if ((key & ~mask_bits) != wanted) continue;
            const std::uint64_t value = each.value.load(std::memory_order_acquire);
            // The slot may have been given to another word in between; then the value may be that one's.
            if ((each.key.load(std::memory_order_acquire) & ~mask_bits) != wanted) return {};
            return {value, mask_of(key)};
        }
    }

    /// Gives those bytes of the word that `mask` names a new value; true where the word was not there. Requires: there
    /// is room.
    bool publish(std::uint64_t word, std::uint64_t value, std::uint8_t mask) noexcept {
        const std::uint64_t hash = hash_of(word);
        auto& filter = filter_[group_of(hash) >> 1];
        const std::uint64_t lines = filter.load(std::memory_order_relaxed);
        if ((lines & filter_bit(hash)) == 0) filter.store(lines | filter_bit(hash), std::memory_order_release);
        const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
        const std::uint64_t wanted = word | generation;
        for (std::size_t at = first_slot(word, hash);; at = (at + 1) & (slot_count_ - 1)) {
            slot& each = slots_[at];
            const std::uint64_t key = each.key.load(std::memory_order_relaxed);
            const bool is_free = (key & generation_bits) != generation;
            if (!is_free && (key & ~mask_bits) != wanted) continue;
            // The key before the value: who sees the value of another word must see whose it is. The mask after it.
            if (is_free) each.key.store(wanted, std::memory_order_relaxed);
            const std::uint64_t all =
                mask == 0xFF ? value : merged(each.value.load(std::memory_order_relaxed), value, mask);
            each.value.store(all, std::memory_order_release);
            const std::uint64_t named = is_free ? 0 : key & mask_bits;
            each.key.store(wanted | named | std::uint64_t{mask} << mask_shift, std::memory_order_release);
            return is_free;
        }
    }

    /// Calls f(word, alias) for each word there. Requires: nobody publishes.
    template <class F>
    void for_each(F&& f) const {
        const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
        for (std::size_t at = 0; at < slot_count_; ++at) {
            const std::uint64_t key = slots_[at].key.load(std::memory_order_acquire);
            if ((key & generation_bits) != generation) continue;
            f(key & word_bits, alias{slots_[at].value.load(std::memory_order_relaxed), mask_of(key)});
        }
    }

    /// Forgets all words. Who finds nothing afterwards sees what the caller stored before. Requires: nobody publishes.
    void empty() noexcept {
        std::uint64_t next = generation_.load(std::memory_order_relaxed) + one_generation;
        if (next == 0) {
            for (std::size_t at = 0; at < slot_count_; ++at) slots_[at].key.store(0, std::memory_order_release);
            next = one_generation;
        }
        generation_.store(next, std::memory_order_release);
        for (std::size_t at = 0; at < filter_words_; ++at) filter_[at].store(0, std::memory_order_release);
    }

private:
    /// The key: the word, the mask above it, the table's generation above that; generation 0 is never current.
    struct slot {
        std::atomic<std::uint64_t> key{0};
        std::atomic<std::uint64_t> value{0};
    };
    static constexpr std::uint64_t line_words = 8;
    static constexpr unsigned mask_shift = 44;
    static constexpr std::uint64_t word_bits = (std::uint64_t{1} << mask_shift) - 1;
    static constexpr std::uint64_t mask_bits = std::uint64_t{0xFF} << mask_shift;
    static constexpr std::uint64_t one_generation = std::uint64_t{1} << (mask_shift + 8);
    static constexpr std::uint64_t generation_bits = ~(one_generation - 1);

    static std::uint8_t mask_of(std::uint64_t key) noexcept { return static_cast<std::uint8_t>(key >> mask_shift); }
    /// A group has a slot for each word of a line, and 32 bits of filter.
    std::size_t group_of(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash >> shift_); }
    std::size_t first_slot(std::uint64_t word, std::uint64_t hash) const noexcept {
        return group_of(hash) * line_words + word % line_words;
    }

    std::size_t slot_count_;
    unsigned shift_;
    std::size_t filter_words_;
    std::unique_ptr<slot[]> slots_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> filter_;
    std::atomic<std::uint64_t> generation_{one_generation};
};

}  // namespace holdfast
