// A fixed number of bits.
#pragma once

#include <workload/access.hpp>

namespace holdfast::workload {

/// The shared part. All zero is a bitmap of no bits, which create() makes usable.
struct bitmap_root {
    std::uint64_t* words;
    std::uint64_t bits;
};

/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
template <access Access>
class bitmap {
public:
    bitmap(Access memory, bitmap_root* root) noexcept : memory_(memory), root_(root) {}

    /// Makes `bits` bits, all clear. Requires: inside a transaction; the root all zero; bits > 0.
    void create(std::uint64_t bits) const {
        const std::uint64_t words = (bits + bits_per_word - 1) / bits_per_word;
        auto* const made = static_cast<std::uint64_t*>(memory_.allocate(words * sizeof(std::uint64_t)));
        for (std::uint64_t i = 0; i < words; ++i) memory_.store(made + i, 0);
        memory_.will_write(root_);
        memory_.store(&root_->words, made);
        memory_.store(&root_->bits, bits);
    }

    std::uint64_t bits() const { return memory_.load(&root_->bits); }

    /// Requires: i < bits(), as set and reset do.
    bool test(std::uint64_t i) const { return (memory_.load(word_of(i)) & mask_of(i)) != 0; }

    /// Whether it was clear.
    bool set(std::uint64_t i) const {
        std::uint64_t* const word = word_of(i);
        const std::uint64_t before = memory_.load(word);
        if ((before & mask_of(i)) != 0) return false;
        memory_.store(word, before | mask_of(i));
        return true;
    }

    /// Whether it was set.
    bool reset(std::uint64_t i) const {
        std::uint64_t* const word = word_of(i);
        const std::uint64_t before = memory_.load(word);
        if ((before & mask_of(i)) == 0) return false;
        memory_.store(word, before & ~mask_of(i));
        return true;
    }

    /// The first clear bit from `first` on; bits() if there is none.
    std::uint64_t find_clear(std::uint64_t first) const {
        const std::uint64_t all = bits();
        for (std::uint64_t i = first; i < all;) {
            const std::uint64_t clear = ~memory_.load(word_of(i)) >> (i % bits_per_word);
            if (clear != 0) {
                const std::uint64_t found = i + static_cast<std::uint64_t>(__builtin_ctzll(clear));
                return found < all ? found : all;
            }
            i += bits_per_word - i % bits_per_word;
        }
        return all;
    }

    /// How many are set.
    std::uint64_t count() const {
        std::uint64_t set_bits = 0;
        for (std::uint64_t i = 0; i < bits(); i += bits_per_word)
            set_bits += static_cast<std::uint64_t>(__builtin_popcountll(memory_.load(word_of(i))));
        return set_bits;
    }

    /// Makes it a bitmap of no bits again.
    void dispose() const {
        std::uint64_t* const words = memory_.load(&root_->words);
        if (words == nullptr) return;
        memory_.will_write(root_);
        memory_.store(&root_->words, nullptr);
        memory_.store(&root_->bits, 0);
        memory_.free(words);
    }

private:
    static constexpr std::uint64_t bits_per_word = 64;

    std::uint64_t* word_of(std::uint64_t i) const { return memory_.load(&root_->words) + i / bits_per_word; }
    static constexpr std::uint64_t mask_of(std::uint64_t i) noexcept { return std::uint64_t{1} << (i % bits_per_word); }

    Access memory_;
    bitmap_root* root_;
};

}  // namespace holdfast::workload
