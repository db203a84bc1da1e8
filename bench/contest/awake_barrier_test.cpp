#include <bench/contest/awake_barrier.hpp>
#include <bench/contest/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

TEST(AwakeBarrier, NobodyPassesBeforeAllHaveCome) {
    constexpr unsigned threads = 3, rounds = 500;
    awake_barrier all(threads);
    std::atomic<unsigned> come{0}, early{0};
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
        running.emplace_back([&] {
            for (unsigned round = 1; round <= rounds; ++round) {
                ++come;
                all.arrive_and_wait();
                if (come < threads * round) ++early;
                all.arrive_and_wait();
            }
        });
    for (std::thread& each : running) each.join();
    EXPECT_EQ(early, 0u);
    EXPECT_EQ(come, threads * rounds);
}

TEST(RunOnThreads, TakesTheTimeFromTheFirstBeginToTheLastEnd) {
    const auto sleeps = [](unsigned thread, std::uint64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(thread == 0 ? 5 : 1));
    };
    const batch done = run_on_threads(2, 10, sleeps);
    EXPECT_GE(done.ns, 5e6);
    EXPECT_EQ(done.transactions, 10u);
}

}  // namespace
}  // namespace holdfast::bench
