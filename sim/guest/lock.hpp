// A lock whose waiters sleep. What a waiter executes besides is marked as spinning, so that it is counted apart.
#pragma once

#include <sim/guest/operations.hpp>
#include <sim/guest/system.hpp>

namespace holdfast::guest {

/// Alone on its line: neighbours are not disturbed by who waits.
/// Algorithm: U. Drepper, Futexes Are Tricky, the mutex of three states.
class alignas(64) lock {
public:
    void acquire() noexcept {
        std::uint32_t seen = free;
        if (!__atomic_compare_exchange_n(&state_, &seen, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) wait();
    }
    void release() noexcept {
        if (__atomic_exchange_n(&state_, free, __ATOMIC_RELEASE) == waited_for) wake(&state_, 1);
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t waited_for = 2;

    [[gnu::noinline]] void wait() noexcept {
        begin_spinning();
        while (__atomic_exchange_n(&state_, waited_for, __ATOMIC_ACQUIRE) != free) sleep_while(&state_, waited_for);
        end_spinning();
    }

    std::uint32_t state_ = free;
};

/// Everybody waits until all are there; for any number of rounds.
class barrier {
public:
    explicit barrier(std::uint32_t parties) noexcept : parties_(parties) {}
    void arrive_and_wait() noexcept {
        const std::uint32_t round = __atomic_load_n(&round_, __ATOMIC_ACQUIRE);
        if (__atomic_add_fetch(&arrived_, 1, __ATOMIC_ACQ_REL) == parties_) {
            __atomic_store_n(&arrived_, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&round_, round + 1, __ATOMIC_RELEASE);
            return wake(&round_, parties_);
        }
        begin_spinning();
        while (__atomic_load_n(&round_, __ATOMIC_ACQUIRE) == round) sleep_while(&round_, round);
        end_spinning();
    }

private:
    std::uint32_t parties_;
    std::uint32_t arrived_ = 0;
    std::uint32_t round_ = 0;
};

}  // namespace holdfast::guest
