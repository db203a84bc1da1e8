// A barrier at which threads wait awake.
#pragma once

#include <atomic>
#include <thread>

namespace holdfast::bench {

/// As std::barrier, for threads that are in the middle of a measurement. One that sleeps may take 20 ms to run again if
/// the machine is virtual and its host busy: longer than a batch.
class awake_barrier {
public:
    explicit awake_barrier(unsigned threads) noexcept : threads_(threads) {}
    awake_barrier(const awake_barrier&) = delete;
    awake_barrier& operator=(const awake_barrier&) = delete;

    void arrive_and_wait() noexcept {
        const unsigned round = round_.load();
        if (arrived_.fetch_add(1) + 1 == threads_) {
            arrived_.store(0);
            round_.store(round + 1);
            return;
        }
        while (round_.load() == round) std::this_thread::yield();
    }

private:
    const unsigned threads_;
    std::atomic<unsigned> arrived_{0};
    std::atomic<unsigned> round_{0};
};

}  // namespace holdfast::bench
