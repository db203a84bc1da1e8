// Swap entries of an array: the least a transaction can do that must not tear.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

/// The persistent part. All zero is a valid array of no entries.
struct sps_root {
    std::uint64_t* entries;
    std::uint64_t count;
};

/// An array of 8-byte entries that always holds a permutation of 0 … count - 1.
///
/// Thread safety: transactions of different threads need a lock, or ranges of their own.
template <access Access>
class sps {
public:
    sps(Access memory, sps_root* root) noexcept : memory_(memory), root_(root) {}

    /// Allocates and fills the array, in transactions of its own of `batch` entries.
    /// Requires: outside a transaction; the root all zero. False when a transaction failed.
    /// If the process dies inside, count is still 0 and the array is lost: make the pool anew.
    bool create(std::uint64_t count, std::uint64_t batch = 4096) const {
        std::uint64_t* entries = nullptr;
        bool good = memory_.atomically([&] {
            entries = static_cast<std::uint64_t*>(memory_.allocate(count * sizeof(std::uint64_t)));
            memory_.store(&root_->entries, entries);
        });
        for (std::uint64_t first = 0; good && first < count; first += batch) {
            const std::uint64_t last = count - first < batch ? count : first + batch;
            good = memory_.atomically([&] {
                for (std::uint64_t i = first; i < last; ++i) memory_.store(entries + i, i);
            });
        }
        return good && memory_.atomically([&] { memory_.store(&root_->count, count); });
    }

    /// Swaps `swaps` pairs drawn at random from [first, first + count). Inside a transaction.
    template <class Numbers>
    void swap_random(Numbers& numbers, std::uint64_t swaps, std::uint64_t first, std::uint64_t count) const {
        std::uint64_t* const entries = memory_.load(&root_->entries) + first;
        constexpr std::uint64_t chunk = 64;
        std::uint64_t* homes[2 * chunk];
        while (swaps > 0) {
            const std::uint64_t pairs = swaps < chunk ? swaps : chunk;
            for (std::uint64_t i = 0; i < 2 * pairs; ++i) homes[i] = entries + numbers.below(count);
            // All hints before the first store: an engine that must log old values needs one fence.
            for (std::uint64_t i = 0; i < 2 * pairs; ++i) memory_.will_write(homes[i]);
            for (std::uint64_t i = 0; i < pairs; ++i) swap_entries(homes[2 * i], homes[2 * i + 1]);
            swaps -= pairs;
        }
    }
    /// The same over the whole array.
    void swap_random(random& numbers, std::uint64_t swaps) const { swap_random(numbers, swaps, 0, count()); }

    std::uint64_t count() const { return memory_.load(&root_->count); }

    /// Whether it is a permutation, by count, sum and sum of squares (modulo 2^64), and every entry
    /// in bounds: no memory is needed, and a torn swap always changes the sum.
    check_report check() const {
        check_report report;
        const std::uint64_t total = count();
        const std::uint64_t* entries = memory_.load(&root_->entries);
        std::uint64_t sum = 0;
        std::uint64_t squares = 0;
        for (; report.count < total; ++report.count) {
            const std::uint64_t value = memory_.load(entries + report.count);
            if (value >= total) return report.problem = "an entry is out of bounds", report;
            sum += value - report.count;
            squares += value * value - report.count * report.count;
        }
        if (sum != 0 || squares != 0) report.problem = "the entries are no permutation";
        return report;
    }

private:
    void swap_entries(std::uint64_t* a, std::uint64_t* b) const {
        const std::uint64_t value = memory_.load(a);
        memory_.store(a, memory_.load(b));
        memory_.store(b, value);
    }

    Access memory_;
    sps_root* root_;
};

}  // namespace holdfast::workload
