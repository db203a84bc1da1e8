// The threads that use an algorithm, and which of them are in a transaction that began when. An algorithm has one
// registry.
//
// A slot holds the time at which its thread's transaction began, or `inactive`. Who wants to know which transactions
// are older than an event scans the slots; that needs an order between the beginning thread's store to its slot and its
// later loads of data (else the scan misses a transaction that has already read), for which there are three ways:
//   * publish(): the beginner stores by an exchange, a full fence. The scan is cheap: fit for one at every commit.
//   * publish_cheaply(): a plain store, and the scan is preceded by order_other_threads(), which makes every running
//     thread of the process execute a fence (membarrier(2), private expedited). Fit for scans in batches. Where the
//     kernel refuses it, publish_cheaply() is an exchange too.
//   * publish_alone(): a plain store, behind which the beginner looks whether another thread has a slot; if so,
//     publish(). The second thread that claims a slot calls order_other_threads(), once: either the beginner sees the
//     claim, or later scans see the store.
//
// By the same order the only thread may keep others from beginning, without a fence: begin_alone(). The second thread
// that claims a slot waits behind order_other_threads() until that is over. From then on there is no only thread.
#pragma once

#include <holdfast/stm/planted.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::stm {

/// Behind an exchange or addition that is sequentially consistent: no later load comes before it. On x86-64 such an
/// instruction is a full fence by itself.
inline void complete_fence() noexcept {
#if !defined(__x86_64__)
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Constant-initialised. Any thread.
class registry {
public:
    static constexpr unsigned most_threads = 256;
    static constexpr std::uint64_t inactive = ~std::uint64_t{0};

    /// Two lines each: the processor fetches lines in pairs.
    struct alignas(128) slot {
        std::atomic<std::uint64_t> since{inactive};
        std::atomic<bool> taken{false};
    };

    /// A slot for this thread, or nullptr when all are taken. The second thread waits while the first one is alone.
    slot* claim() noexcept;
    /// Requires: inactive.
    static void release(slot& own) noexcept { own.taken.store(false, std::memory_order_release); }

    static void publish(slot& own, std::uint64_t now) noexcept {
        own.since.exchange(now, std::memory_order_seq_cst);
        complete_fence();
    }
    /// publish(), without an exchange while has_one_thread(): who scans without a slot calls
    /// note_threads_without_slot() first.
    void publish_alone(slot& own, std::uint64_t now) noexcept {
        own.since.store(now, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!has_one_thread() || !cheap_publishing.load(std::memory_order_relaxed)) [[unlikely]]
            publish(own, now);
    }
    static void publish_cheaply(slot& own, std::uint64_t now) noexcept {
        if (cheap_publishing.load(std::memory_order_relaxed)) [[likely]] {
            own.since.store(now, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            publish(own, now);
        }
    }
    /// Release: a thread that sees it and reclaims memory does so after this thread's last load.
    static void retract(slot& own) noexcept { own.since.store(inactive, std::memory_order_release); }

    /// After it, a slot that was not seen active by this thread belongs to a thread whose later loads see all that this
    /// thread stored before.
    static void order_other_threads() noexcept;

    /// When the oldest open transaction began; `inactive` when there is none.
    std::uint64_t oldest() const noexcept;
    /// Whether the thread with the first slot is the only one that has one, or has had one beside another. By the time
    /// it is known there may be more.
    bool has_one_thread() const noexcept { return used_.load(std::memory_order_relaxed) == 1; }
    /// From now on no thread is the only one: there may be others without a slot. Waits while the first one is alone.
    void note_threads_without_slot() noexcept { use(2); }
    /// For the thread with the first slot: if it is the only one, no other has a slot before end_alone(). False: it is
    /// not, and nothing happened.
    bool begin_alone() noexcept {
        if (!has_one_thread()) return false;
        let_others_run();
        if (cheap_publishing.load(std::memory_order_relaxed)) [[likely]] {
            alone_.store(true, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
        } else {
            alone_.exchange(true, std::memory_order_seq_cst);
            complete_fence();
        }
        let_others_run();
        if (has_one_thread() || is_planted(fault::alone_unasked)) [[likely]]
            return true;
        end_alone();
        return false;
    }
    /// Release: who has waited sees all that the thread stored.
    void end_alone() noexcept { alone_.store(false, std::memory_order_release); }
    /// Whether another thread is in a transaction, as far as can be seen without a fence.
    bool others_are_active(const slot* own) const noexcept;
    /// Waits until no transaction of another thread is open that began before `time`, or has moved on since.
    /// `own` may be nullptr. Requires: this thread's transaction is over, or nobody else waits for it.
    void wait_for_older(std::uint64_t time, const slot* own) const noexcept;
    /// Waits until no other thread is in a transaction.
    void wait_for_all(const slot* own) const noexcept { wait_for_older(inactive, own); }

    /// In the child of a fork: the other threads do not exist.
    void forget_others(const slot* own) noexcept;
    unsigned index_of(const slot& each) const noexcept { return static_cast<unsigned>(&each - slots_); }

    /// Asks the kernel for what order_other_threads() needs: when the program is loaded, and in the child of a fork.
    /// With several threads the kernel takes milliseconds for it, in which no thread of the process goes on.
    static void prepare() noexcept;

private:
    /// That many slots at least.
    void use(unsigned count) noexcept;
    void end_only_thread() noexcept;

    static inline constinit std::atomic<bool> cheap_publishing{false};

    slot slots_[most_threads];
    std::atomic<unsigned> used_{0};  ///< slots below were claimed at some time
    std::atomic<bool> alone_{false};           ///< the only thread keeps others from beginning
    std::atomic<bool> none_is_only_{false};    ///< every thread knows that it is not the only one
};

}  // namespace holdfast::stm
