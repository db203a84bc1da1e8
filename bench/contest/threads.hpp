// Runs a batch on several threads and adds up what it cost.
#pragma once

#include <bench/contest/awake_barrier.hpp>
#include <bench/contest/contestant.hpp>

#include <holdfast/persist/counters.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

namespace holdfast::bench {

using clock = std::chrono::steady_clock;

inline double ns_between(clock::time_point begin, clock::time_point end) {
    return std::chrono::duration<double, std::nano>(end - begin).count();
}
inline double ns_since(clock::time_point begin) { return ns_between(begin, clock::now()); }

/// Runs `body(thread, transactions)` on `threads` threads, `transactions` in all, and returns the wall time
/// from the begin of the first, when all are ready, to the end of the last, with the counters of all. One thread is the
/// caller. Rethrows what a body threw.
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
    std::vector<clock::time_point> begins(threads), ends(threads);
    awake_barrier ready(threads);
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
            ready.arrive_and_wait();
            begins[i] = clock::now();
            const persist::counters before = persist::thread_counters();
            try {
                body(i, transactions * (i + 1) / threads - transactions * i / threads);
            } catch (...) {
                problems[i] = std::current_exception();
            }
            ends[i] = clock::now();
            spent[i] = persist::thread_counters() - before;
        });
    }
    for (auto& worker : workers) worker.join();
    done.ns = ns_between(*std::ranges::min_element(begins), *std::ranges::max_element(ends));
    for (const auto& problem : problems)
        if (problem) std::rethrow_exception(problem);
    for (const auto& one : spent) done.spent->medium = done.spent->medium + one;
    return done;
}

}  // namespace holdfast::bench
