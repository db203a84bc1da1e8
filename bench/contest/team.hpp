// Threads that stay: what short programs run on, again and again, without the time that making threads takes.
#pragma once

#include <bench/contest/cpu_clock.hpp>
#include <bench/contest/threads.hpp>

#include <algorithm>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast::bench {

/// The caller's thread is the first. One caller at a time. Bodies do not throw.
class thread_team {
public:
    explicit thread_team(unsigned threads)
        : barrier_(static_cast<std::ptrdiff_t>(threads)), all_awake_(threads), begins_(threads), ends_(threads) {
        for (unsigned i = 1; i < threads; ++i)
            others_.emplace_back([this, i] {
                for (;;) {
                    barrier_.arrive_and_wait();
                    if (body_ == nullptr) return;
                    run_as(i);
                    barrier_.arrive_and_wait();
                }
            });
    }
    ~thread_team() {
        body_ = nullptr;
        barrier_.arrive_and_wait();
        for (std::thread& each : others_) each.join();
    }
    thread_team(const thread_team&) = delete;
    thread_team& operator=(const thread_team&) = delete;

    /// body(thread) on all threads. Returns the time from the begin of the first, when all are ready, to the end of the
    /// last: of one thread thread_cpu_ns, of several wall time.
    double run(std::function<void(unsigned)> body) {
        body_ = std::move(body);
        if (others_.empty()) {
            const double begin = thread_cpu_ns();
            body_(0);
            return thread_cpu_ns() - begin;
        }
        barrier_.arrive_and_wait();
        run_as(0);
        barrier_.arrive_and_wait();
        return ns_between(*std::ranges::min_element(begins_), *std::ranges::max_element(ends_));
    }

private:
    void run_as(unsigned thread) {
        all_awake_.arrive_and_wait();
        begins_[thread] = clock::now();
        body_(thread);
        ends_[thread] = clock::now();
    }

    std::barrier<> barrier_;  ///< between batches threads sleep: others are measured meanwhile
    awake_barrier all_awake_;
    std::function<void(unsigned)> body_;
    std::vector<clock::time_point> begins_, ends_;  ///< any of them may be kept waiting for a processor
    std::vector<std::thread> others_;
};

}  // namespace holdfast::bench
