#include <holdfast/engine/combining_mutex.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/stm/wait.hpp>

#include <thread>

namespace holdfast {

using detail::waiting_thread;

namespace {

/// About as long as a few commits take. With more threads than processors the one that is waited for may not be
/// running: the processor is given away, and then the thread sleeps.
constexpr unsigned looks_before_yielding = 400;
constexpr unsigned yields_before_sleep = 20;

/// A microsecond or two, which is lost if nobody comes: a line travels to another processor and back twice, and the
/// thread that was served has begun its next call.
constexpr unsigned looks_for_another = 40;

}  // namespace

void waiting_thread::give(answer what) noexcept {
    // Waking uses the address only: the thread may see the answer before, and be gone.
    if (answer_.exchange(what, std::memory_order_acq_rel) == answer::asleep) answer_.notify_one();
}

waiting_thread::answer waiting_thread::wait() noexcept {
    for (unsigned looks = 0; looks < looks_before_yielding + yields_before_sleep; ++looks) {
        const answer now = answer_.load(std::memory_order_acquire);
        if (now != answer::none) return now;
        if (looks < looks_before_yielding) {
            stm::relax_processor();
        } else {
            std::this_thread::yield();
        }
    }
#ifdef HOLDFAST_OBSERVED
    // Threads that the explorer schedules wait by yields: it does not see them asleep.
    while (answer_.load(std::memory_order_acquire) == answer::none) std::this_thread::yield();
#endif
    answer seen = answer::none;
    if (!answer_.compare_exchange_strong(seen, answer::asleep, std::memory_order_acq_rel, std::memory_order_acquire))
        return seen;
    answer_.wait(answer::asleep, std::memory_order_acquire);
    return answer_.load(std::memory_order_acquire);
}

bool combining_mutex::enter(waiting_thread& self) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
        if (seen == free) {
            if (word_.compare_exchange_weak(seen, held, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
            continue;
        }
        self.next_ = reinterpret_cast<waiting_thread*>(seen - held);
        const auto chain = reinterpret_cast<std::uintptr_t>(&self) + held;
        if (word_.compare_exchange_weak(seen, chain, std::memory_order_release, std::memory_order_relaxed))
            return false;
    }
}

void combining_mutex::wait_for_lock() noexcept {
    waiting_thread self(nullptr);
    const bool is_held = lock_or_be_served(self);
    HOLDFAST_ASSERT_ALWAYS(is_held, "a thread that wants a lock is answered with the lock");
}

waiting_thread* combining_mutex::first_waiting() noexcept {
    if (waiting_ != nullptr) return waiting_;
    auto* newest = reinterpret_cast<waiting_thread*>(word_.exchange(held, std::memory_order_acquire) - held);
    while (newest != nullptr) {
        waiting_thread* const older = newest->next_;
        newest->next_ = waiting_;
        waiting_ = newest;
        newest = older;
    }
    return waiting_;
}

waiting_thread* combining_mutex::take_first(const void* where) noexcept {
    waiting_thread* const first = first_waiting();
    if (first == nullptr || first->combines_in() != where) return nullptr;
    waiting_ = first->next_;
    return first;
}

std::size_t combining_mutex::waiting() const noexcept {
    std::size_t count = 0;
    const auto* arrived = reinterpret_cast<const waiting_thread*>(word_.load(std::memory_order_acquire) - held);
    for (; arrived != nullptr; arrived = arrived->next_) ++count;
    for (const waiting_thread* each = waiting_; each != nullptr; each = each->next_) ++count;
    return count;
}

waiting_thread* combining_mutex::linger(const void* where) noexcept {
    for (unsigned looks = 0; looks < looks_for_another; ++looks) {
        if (word_.load(std::memory_order_relaxed) != held) return take_first(where);
        stm::relax_processor();
    }
    return nullptr;
}

void combining_mutex::hand_over() noexcept {
    waiting_thread* const first = first_waiting();
    HOLDFAST_ASSERT_ALWAYS(first != nullptr, "a lock that cannot be freed at once has somebody waiting");
    waiting_ = first->next_;
    first->give(waiting_thread::answer::leads);
}

void combining_mutex::forget_waiting() noexcept {
    waiting_ = nullptr;
    word_.store(held, std::memory_order_relaxed);
}

}  // namespace holdfast
