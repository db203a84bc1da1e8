// The object of suite lines: words, of which one or all change in a transaction.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/cpu_clock.hpp>

#include <holdfast/persist/counters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

inline constexpr std::size_t object_sizes[]{48, 96, 192, 384, 768, 1536, 3072, 4096};
inline constexpr std::size_t most_object_bytes = 4096;

template <std::size_t Bytes>
struct word_object {
    std::uint64_t words[Bytes / 8];
};

/// `words[i]` is anything that a word can be assigned to. One word: the middle one, always the same.
template <class Words>
void change(Words&& words, std::size_t count, bool all, std::uint64_t value) {
    if (all) {
        for (std::size_t i = 0; i < count; ++i) words[i] = value + i;
    } else {
        words[count / 2] = value;
    }
}

/// Calls transaction(value) `transactions` times, with another value each time, counted and timed as one.
template <class F>
batch time_transactions(std::uint64_t transactions, F&& transaction) {
    static std::uint64_t value = 0;
    batch done{0, transactions, costs{}};
    const persist::counters before = persist::thread_counters();
    const double begin_ns = thread_cpu_ns();
    for (std::uint64_t i = 0; i < transactions; ++i) transaction(++value);
    done.ns = thread_cpu_ns() - begin_ns;
    done.spent->medium = persist::thread_counters() - before;
    return done;
}

}  // namespace holdfast::bench
