// How long to wait after a conflict, and when to stop trying.
#pragma once

#include <holdfast/stm/wait.hpp>

#include <sched.h>

#include <cstdint>

namespace holdfast::stm {

/// Randomised exponential back-off, bounded; then the transaction should run serially, so that it comes through
/// whatever the others do. One thread; one object for each transaction, or reset() between.
class back_off {
public:
    /// Pauses. Requires: no transaction is open in this thread.
    void conflict() noexcept {
        ++conflicts_;
        if (let_others_run()) return;
        const unsigned exponent = conflicts_ < longest_exponent ? conflicts_ : longest_exponent;
        for (std::uint64_t left = next_random() >> (64 - exponent - shortest_exponent); left > 0; --left)
            relax_processor();
        // The other transaction may be waiting for this very processor.
        if (conflicts_ > short_pauses) sched_yield();
    }
    bool should_be_serial() const noexcept { return conflicts_ >= most_conflicts; }
    void reset() noexcept { conflicts_ = 0; }

    static constexpr unsigned most_conflicts = 16;

private:
    static constexpr unsigned shortest_exponent = 3;
    static constexpr unsigned longest_exponent = 8;
    static constexpr unsigned short_pauses = 4;

    /// Marsaglia's xorshift. Threads differ by where their objects are.
    std::uint64_t next_random() noexcept {
        if (random_ == 0) random_ = reinterpret_cast<std::uintptr_t>(this) * 0x9E3779B97F4A7C15ull | 1;
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return random_;
    }

    unsigned conflicts_ = 0;
    std::uint64_t random_ = 0;
};

}  // namespace holdfast::stm
