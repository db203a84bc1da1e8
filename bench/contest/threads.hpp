// Runs a batch on several threads and adds up what it cost.
#pragma once

#include <bench/contest/contestant.hpp>

#include <holdfast/persist/counters.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace holdfast::bench {

using clock = std::chrono::steady_clock;

inline double ns_since(clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(clock::now() - begin).count();
}

/// Runs `body(thread, transactions)` on `threads` threads, `transactions` in all, and returns the wall time
/// from the moment all are ready to the end of the last, with the counters of all. One thread is the caller.
/// Rethrows what a body threw.
template <class F>
batch run_on_threads(unsigned threads, std::uint64_t transactions, F&& body) {
    batch done{0, transactions, costs{}};
    if (threads == 1) {
        const persist::counters before = persist::thread_counters();
        const auto begin = clock::now();
        body(0u, transactions);
        done.ns = ns_since(begin);
        done.spent->medium = persist::thread_counters() - before;
        return done;
    }
    std::vector<persist::counters> spent(threads);
    std::vector<std::exception_ptr> problems(threads);
    std::latch ready(threads);
    std::latch start(1);
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
            ready.count_down();
            start.wait();
            const persist::counters before = persist::thread_counters();
            try {
                body(i, transactions * (i + 1) / threads - transactions * i / threads);
            } catch (...) {
                problems[i] = std::current_exception();
            }
            spent[i] = persist::thread_counters() - before;
        });
    }
    ready.wait();
    const auto begin = clock::now();
    start.count_down();
    for (auto& worker : workers) worker.join();
    done.ns = ns_since(begin);
    for (const auto& problem : problems)
        if (problem) std::rethrow_exception(problem);
    for (const auto& one : spent) done.spent->medium = done.spent->medium + one;
    return done;
}

}  // namespace holdfast::bench
