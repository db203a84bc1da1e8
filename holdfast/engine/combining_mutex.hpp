// A lock under which threads share the cost of a commit. Owns: the lock, the threads that wait for it, and the
// publication list. What its holder does with the functions of others is combining.hpp.
//
// The lock is one word: free, or held, or held with a chain of the threads that arrived since a holder last looked.
//   1. A thread that finds it free takes it. Otherwise it puts itself on the chain, which only a held lock has.
//   2. The holder takes the whole chain off at once and reverses it, so threads are served in order of arrival.
//   3. The releasing thread hands the lock to the thread that has waited longest, if any waits. So it is free only if
//      no thread waits, and a thread that sleeps is always woken: by its answer, or as the next holder.
// After its last access to the word, or after an answer, a releasing thread touches neither the lock nor the thread
// that it answered: either may be gone.
//
// The publication list spares both sides the word, whose line would travel twice for each call, and the locked
// instructions for an answer. A line takes about as long to another core as half a fence.
//   a. A thread whose last call another thread ran does not look at the lock: it posts the next call in its record of
//      the list, and polls only that.
//   b. The thread that begins a group reads the records once, and fetches what a posted one names. A record that the
//      group before answered is left out: its thread cannot be back yet, and looking would take the line away from it.
//   c. Only the holder takes a call from a record, so that needs no locked instruction; and only the thread that
//      posted it empties the record, or the holder that finds the thread on the chain.
//   d. The answer is a store to the record: its thread does not sleep. If none comes within a few microseconds, the
//      thread puts itself on the chain as well, and sleeps there if it must. Its request stays posted: a holder takes
//      it from where it finds it first. A thread that is on the chain waits until it is taken off, even if its record
//      has the answer by then. The holder that takes it off tells it so; or, if the request is in this holder's own
//      group, the holder clears the record, and the group answers the thread itself.
//   e. At times the thread reads the word: if the lock is free, no holder will come, and it takes the lock itself.
//
// Memory order: an arrival, or posting, releases what the thread wrote, and taking the chain, or the record, acquires
// it; an answer releases what the holder wrote, and the thread that waits acquires it. All else that holders change is
// ordered by the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

class combining_mutex;

namespace detail {

class publication_record;

/// A thread that waits for a combining_mutex. The object is on that thread's stack until it is answered.
class alignas(64) waiting_thread {
public:
    enum class answer : int {
        none,
        asleep,     ///< none yet, and the thread that answers must wake this one
        leads,      ///< the lock is the thread's own now
        served,     ///< the holder has done what the thread waited for, and recorded the result
        committed,  ///< the same, and it succeeded: there is nothing else to read
        in_record,  ///< the answer is in the record in which the thread posted its request
    };

    /// `combines_in`: threads that name the same thing let the holder serve them; nullptr: the thread wants the lock.
    explicit waiting_thread(const void* combines_in) noexcept : combines_in_(combines_in) {}
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;

    const void* combines_in() const noexcept { return combines_in_; }
    /// The thread may be gone when this returns.
    void give(answer what) noexcept;

    /// The answer. Called by the waiting thread only.
    answer answered() const noexcept { return answer_.load(std::memory_order_relaxed); }

private:
    friend class holdfast::combining_mutex;
    answer wait() noexcept;

    std::atomic<answer> answer_{answer::none};
    const void* combines_in_;
    waiting_thread* next_ = nullptr;         ///< in the chain, or of those taken off it
    publication_record* posted_ = nullptr;  ///< of a thread on the chain: the record that also has its request
};

/// A record of the publication list. One line: a holder that sees a request has all that it must know at once.
class alignas(64) publication_record {
public:
    /// Whether the answer to the request that the holder took from here is to be given here.
    bool is_taken() const noexcept { return stage_.load(std::memory_order_relaxed) == stage::taken; }
    /// `served` or `committed`. Requires: is_taken(); the lock is still held.
    void give(waiting_thread::answer what) noexcept {
        stage_.store(what == waiting_thread::answer::committed ? stage::committed : stage::served,
                     std::memory_order_release);
    }
    waiting_thread& request() const noexcept { return *request_; }

private:
    friend class holdfast::combining_mutex;
    enum class stage : std::uint32_t { empty, being_written, posted, taken, served, committed };
    static constexpr std::size_t places_of_function = 4;

    stage now() const noexcept { return stage_.load(std::memory_order_acquire); }
    bool is_answered() const noexcept { return now() >= stage::served; }
    /// Callers: see step c.
    void clear() noexcept { stage_.store(stage::empty, std::memory_order_release); }
    void fetch() const noexcept;

    std::atomic<stage> stage_{stage::empty};
    bool is_listed_ = false;  ///< owned by the thread that has taken the record: holders look at it
    waiting_thread* request_ = nullptr;
    const void* combines_in_ = nullptr;
    const void* function_ = nullptr;
    const void* touched_[places_of_function]{};  ///< the function's own first words: often what it refers to
};
static_assert(sizeof(publication_record) == 64, "a request is one line");

}  // namespace detail

/// A mutex for `pool.atomically(lock, f)`: while one thread commits under it, others that ask for it hand their
/// functions over, and its next holder runs these in one transaction, with one record and one fence. Each caller has
/// its own result, exception and rollback, as with any other lock. A function may therefore run on another thread that
/// calls `atomically` with the same lock at the same time; docs/guide/combining.md says what that means. Outside
/// transactions, together with other locks, and in engines that cannot roll back a part of a transaction, it is a
/// mutex like others: first come, first served, not recursive.
/// Thread safety: all members. Requires: destroyed when no thread holds it or waits for it, and every call of
/// `atomically` with it has returned.
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

    /// The number of threads that wait for it now, without those that have posted a call in the last few microseconds.
    /// Requires: the calling thread holds it.
    std::size_t waiting() const noexcept;

    /// Waits until the thread holds the lock, or until a holder has served it. Returns true if it holds the lock.
    bool lock_or_be_served(detail::waiting_thread& self) noexcept { return try_lock() || wait_on_chain(self); }
    /// The same by way of the publication list. `function`: the bytes of what the holder is to run.
    /// Requires: the answer does not come later than the lock is released.
    bool lock_or_publish(detail::waiting_thread& self, std::span<const std::byte> function) noexcept {
        if (ran_last_call != this && try_lock()) [[likely]]
            return true;
        return publish_and_wait(self, function);
    }

    // What follows requires that the calling thread holds the lock.

    /// The thread that waits longest, if it combines in `where`; it waits no longer for the lock, but for the caller's
    /// answer.
    detail::waiting_thread* take_waiting(const void* where) noexcept {
        if (waiting_ == nullptr && word_.load(std::memory_order_relaxed) == held) [[likely]]
            return nullptr;
        return take_first(where);
    }
    /// Step b: which requests take_published() will return.
    void look_at_records() noexcept {
        posted_ = 0;
        const std::uint32_t listed = listed_.load(std::memory_order_relaxed);
        if (listed != 0) [[unlikely]]
            look_at(listed & ~answered_);
        answered_ = 0;
    }
    /// A request that was seen and combines in `where`; nullptr: there is none. The caller answers it before it
    /// releases the lock, in its record if that is still taken, and else the thread itself at any time.
    detail::publication_record* take_published(const void* where) noexcept {
        return posted_ == 0 ? nullptr : take_first_published(where);
    }
    /// Forgets the waiting threads: in a forked child they do not exist.
    void forget_waiting() noexcept;

private:
    static constexpr std::uintptr_t free = 0;
    static constexpr std::uintptr_t held = 1;  ///< the address of the last arrival is added to it
    static constexpr unsigned record_count = 8;

    /// The lock whose holder ran this thread's last call. Only compared: it may be gone.
    static inline constinit thread_local const combining_mutex* ran_last_call = nullptr;

    bool enter(detail::waiting_thread& self) noexcept;
    bool wait_on_chain(detail::waiting_thread& self) noexcept {
        return enter(self) || self.wait() == detail::waiting_thread::answer::leads;
    }
    void wait_for_lock() noexcept;
    bool publish_and_wait(detail::waiting_thread& self, std::span<const std::byte> function) noexcept;
    detail::publication_record* post(detail::waiting_thread& self, std::span<const std::byte> function) noexcept;
    bool wait_for_answer(const detail::publication_record& record) const noexcept;
    bool wait_on_chain_too(detail::waiting_thread& self, detail::publication_record& record) noexcept;
    void look_at(std::uint32_t records) noexcept;
    void hand_over() noexcept;
    detail::waiting_thread* first_on_chain() noexcept;
    detail::waiting_thread* first_waiting() noexcept;
    detail::waiting_thread* take_first(const void* where) noexcept;
    detail::publication_record* take_first_published(const void* where) noexcept;

    std::atomic<std::uintptr_t> word_{free};
    std::atomic<std::uint32_t> listed_{0};  ///< of the records: used at some time
    // The holder's.
    detail::waiting_thread* waiting_ = nullptr;  ///< taken off the chain, in order of arrival
    std::uint32_t posted_ = 0;                   ///< of the records: seen posted, and not taken yet
    std::uint32_t answered_ = 0;                 ///< of the records: taken by the last group

    detail::publication_record records_[record_count];
};

}  // namespace holdfast
