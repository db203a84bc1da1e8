// Two words that follow each other, replaced unless another thread has stored there meanwhile.
#pragma once

#include <holdfast/persist/seam.hpp>

#include <cstdint>

namespace holdfast::persist {
namespace detail {

#if defined(__x86_64__)
inline bool replace_both_words(std::uint64_t* home, std::uint64_t first, std::uint64_t second, std::uint64_t new_first,
                               std::uint64_t new_second) noexcept {
    using pair __attribute__((vector_size(16), may_alias)) = std::uint64_t;
    bool was_replaced = false;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(was_replaced), "+m"(*reinterpret_cast<pair*>(home)), "+a"(first), "+d"(second)
                 : "b"(new_first), "c"(new_second)
                 : "memory");
    return was_replaced;
}
#else
inline bool replace_both_words(std::uint64_t* home, std::uint64_t first, std::uint64_t second, std::uint64_t new_first,
                               std::uint64_t new_second) noexcept {
    std::uint64_t found_first, found_second;
    std::uint32_t outcome;
    asm volatile(
        "1:\n\t"
        "ldaxp %0, %1, [%3]\n\t"
        "cmp %0, %4\n\t"
        "ccmp %1, %5, #0, eq\n\t"
        "b.ne 2f\n\t"
        "stlxp %w2, %6, %7, [%3]\n\t"
        "cbnz %w2, 1b\n\t"
        "2:\n\t"
        "cset %w2, eq"
        : "=&r"(found_first), "=&r"(found_second), "=&r"(outcome)
        : "r"(home), "r"(first), "r"(second), "r"(new_first), "r"(new_second)
        : "memory", "cc");
    return outcome != 0;
}
#endif

}  // namespace detail

/// What a pair of words is, and is to become. Plain data.
struct word_pair {
    std::uint64_t first;
    std::uint64_t second;
};

/// As store_pair, if both words are `expected` still, in one step: a store of another thread is never lost. Returns
/// whether they were. Requires: `home` 16-aligned.
inline bool replace_pair(std::uint64_t* home, word_pair expected, word_pair wanted,
                         [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    if (!detail::replace_both_words(home, expected.first, expected.second, wanted.first, wanted.second)) return false;
#ifdef HOLDFAST_OBSERVED
    observe_store_pair(home, where);
#endif
    return true;
}

}  // namespace holdfast::persist
