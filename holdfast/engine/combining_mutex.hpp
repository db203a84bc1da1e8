// A lock under which threads share the cost of a commit. Owns: the lock, and the threads that wait for it. What its
// holder does with the functions of others is combining.hpp.
//
// The lock is one word: free, or held, or held with a chain of the threads that arrived since somebody looked.
//   1. A thread that finds it free takes it. Otherwise it puts itself on the chain, which only a held lock has.
//   2. The holder takes the whole chain off at once and reverses it, so threads are served in order of arrival.
//   3. Whoever releases the lock hands it to the thread that waits longest, if any waits. So it is free only when
//      nobody waits, and a thread that sleeps is always woken: by its answer, or as the next holder.
// After its last access to the word, or after an answer, a releasing thread touches neither the lock nor the thread
// that it answered: either may be gone.
//
// Memory order: an arrival releases what the thread wrote, and taking the chain acquires it; an answer releases what
// the holder wrote, and the thread that waits acquires it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

class combining_mutex;

namespace detail {

/// A thread that waits for a combining_mutex. The object is on that thread's stack until it is answered. The answer has
/// a line of its own: the thread polls it, while another thread reads the rest.
class alignas(64) waiting_thread {
public:
    enum class answer : int {
        none,
        asleep,     ///< none yet, and whoever answers must wake the thread
        leads,      ///< the lock is the thread's own now
        served,     ///< the holder has done what the thread waited for, and recorded the result
        committed,  ///< the same, and it succeeded: there is nothing else to read
    };

    /// `combines_in`: threads that name the same thing let the holder serve them; nullptr: the thread wants the lock.
    explicit waiting_thread(const void* combines_in) noexcept : combines_in_(combines_in) {}
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;

    const void* combines_in() const noexcept { return combines_in_; }
    /// The thread may be gone when this returns.
    void give(answer what) noexcept;

    /// What it was answered. Of its own thread.
    answer answered() const noexcept { return answer_.load(std::memory_order_relaxed); }

private:
    friend class holdfast::combining_mutex;
    answer wait() noexcept;

    std::atomic<answer> answer_{answer::none};
    alignas(64) const void* combines_in_;
    waiting_thread* next_ = nullptr;  ///< in the chain, or of those taken off it
};

}  // namespace detail

/// A mutex for `pool.atomically(lock, f)`: while one thread commits under it, others that ask for it hand their
/// functions over, and its next holder runs these in one transaction, with one record and one fence. Each caller has
/// its own result, exception and rollback, as with any other lock. A function may therefore run on another thread that
/// calls `atomically` with the same lock at the same time; docs/guide/combining.md says what that means. Outside
/// transactions, together with other locks, and in engines that cannot take back a part of a transaction, it is a
/// mutex like others: first come, first served, not recursive.
/// Thread safety: all members. Requires: destroyed when nobody holds it or waits for it.
class combining_mutex {
public:
    combining_mutex() = default;
    combining_mutex(const combining_mutex&) = delete;
    combining_mutex& operator=(const combining_mutex&) = delete;

    void lock() noexcept {
        if (!try_lock()) [[unlikely]]
            wait_for_lock();
    }
    bool try_lock() noexcept {
        std::uintptr_t seen = free;
        return word_.compare_exchange_strong(seen, held, std::memory_order_acquire, std::memory_order_relaxed);
    }
    /// Requires: the calling thread holds it.
    void unlock() noexcept {
        std::uintptr_t seen = held;
        if (waiting_ == nullptr &&
            word_.compare_exchange_strong(seen, free, std::memory_order_release, std::memory_order_relaxed)) [[likely]]
            return;
        hand_over();
    }

    /// The number of threads that wait for it now. Requires: the calling thread holds it.
    std::size_t waiting() const noexcept;

    /// Waits until the thread holds the lock, or until a holder has served it. Returns true if it holds the lock.
    bool lock_or_be_served(detail::waiting_thread& self) noexcept { return enter(self) || leads(self); }
    /// The thread that waits longest, if it combines in `where`; it waits no longer for the lock, but for the caller's
    /// answer. Requires: the calling thread holds the lock.
    detail::waiting_thread* take_waiting(const void* where) noexcept {
        if (waiting_ == nullptr && word_.load(std::memory_order_relaxed) == held) [[likely]]
            return nullptr;
        return take_first(where);
    }
    /// The same, and if nobody waits, for a moment longer than a thread needs that was just served and comes again:
    /// only where more threads than the `served` ones so far came when the lock was last held.
    detail::waiting_thread* take_expected(const void* where, unsigned served) noexcept {
        detail::waiting_thread* const waiting = take_waiting(where);
        return waiting != nullptr || served >= crowd_ ? waiting : linger(where);
    }
    /// How many threads were served while the lock was held. Requires: the calling thread holds it and releases it now.
    void note_served(unsigned served) noexcept {
        const bool somebody_waits = waiting_ != nullptr || word_.load(std::memory_order_relaxed) != held;
        const unsigned seen = served + (somebody_waits ? 1 : 0);
        if (seen != crowd_) crowd_ = seen;
    }
    /// Forgets who waits: in a forked child these threads do not exist. Requires: the calling thread holds the lock.
    void forget_waiting() noexcept;

private:
    static constexpr std::uintptr_t free = 0;
    static constexpr std::uintptr_t held = 1;  ///< the address of whoever arrived last is added to it

    bool enter(detail::waiting_thread& self) noexcept;
    static bool leads(detail::waiting_thread& self) noexcept {
        return self.wait() == detail::waiting_thread::answer::leads;
    }
    void wait_for_lock() noexcept;
    void hand_over() noexcept;
    detail::waiting_thread* first_waiting() noexcept;
    detail::waiting_thread* take_first(const void* where) noexcept;
    detail::waiting_thread* linger(const void* where) noexcept;

    std::atomic<std::uintptr_t> word_{free};
    detail::waiting_thread* waiting_ = nullptr;  ///< the holder's: taken off the chain, who came first is first
    unsigned crowd_ = 1;  ///< the holder's: how many threads were there when the lock was last released
};

}  // namespace holdfast
