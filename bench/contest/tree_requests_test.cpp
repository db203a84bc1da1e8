// Arrivals are what they are said to be, and responses count from them.
#include <bench/contest/tree_requests.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

double value_in(const std::vector<observation>& all, const std::string& metric) {
    for (const auto& one : all)
        if (one.metric == metric) return one.value;
    ADD_FAILURE() << "no " << metric;
    return 0;
}

TEST(TreeRequests, ArriveAtTheirRateWithGapsThatVaryAsMuchAsTheirMean) {
    constexpr std::uint64_t rate = 100'000, count = 20'000, seed = 7;
    const auto arrivals_ns = draw_arrivals(rate, count, seed);
    ASSERT_EQ(arrivals_ns.size(), count);
    EXPECT_EQ(arrivals_ns, draw_arrivals(rate, count, seed));
    EXPECT_NE(arrivals_ns, draw_arrivals(rate, count, seed + 1));
    constexpr double mean_ns = 1e9 / rate;
    double before = 0, squares = 0;
    for (const double each : arrivals_ns) {
        ASSERT_GE(each, before);
        squares += (each - before - mean_ns) * (each - before - mean_ns);
        before = each;
    }
    EXPECT_NEAR(arrivals_ns.back(), mean_ns * count, 20 * mean_ns);
    EXPECT_NEAR(std::sqrt(squares / count) / mean_ns, 1, 0.05) << "exponential gaps";
}

TEST(TreeRequests, ResponsesCountFromTheArrivalAndBufferedOnesFromTheEntry) {
    // Twelve arrive at once, each takes 10 ns: the first is taken out at once, so eleven fit and one has to wait.
    answered_requests all;
    for (int i = 0; i < 12; ++i) {
        all.arrived_ns.push_back(0);
        all.taken_ns.push_back(10 * i);
        all.done_ns.push_back(10 * (i + 1));
    }
    EXPECT_EQ(all.entered_ns(10), 0);
    EXPECT_EQ(all.entered_ns(11), 10);
    const auto observed = all.observed();
    EXPECT_DOUBLE_EQ(value_in(observed, "mean_response_ns"), 65);
    EXPECT_DOUBLE_EQ(value_in(observed, "mean_buffered_ns"), 65 - 10.0 / 12);
    EXPECT_DOUBLE_EQ(value_in(observed, "blocked_per_tx"), 1.0 / 12);
    EXPECT_DOUBLE_EQ(value_in(observed, "p99_response_ns"), 120);
    EXPECT_DOUBLE_EQ(value_in(observed, "achieved_per_s"), 1e8);
}

TEST(TreeRequests, AreAnsweredInOrderAndNotBeforeTheyArrive) {
    std::vector<std::size_t> order;
    const auto all = answer_requests({0, 1000, 1000, 50'000}, [&](std::uint64_t i) { order.push_back(i); });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
    for (std::size_t i = 0; i < order.size(); ++i) {
        EXPECT_GE(all.taken_ns[i], all.arrived_ns[i]);
        EXPECT_GE(all.done_ns[i], all.taken_ns[i]);
    }
}

TEST(UndisturbedClock, DoesNotCountWhatTheThreadDidNotRun) {
    const double begin_ns = thread_cpu_ns();
    undisturbed_clock time;
    double before_ns = 0;
    for (int i = 0; i < 10; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const double now_ns = time.now_ns();
        EXPECT_GE(now_ns, before_ns);
        before_ns = now_ns;
    }
    EXPECT_LE(before_ns, thread_cpu_ns() - begin_ns + 100'000) << "20 ms passed";
}

}  // namespace
}  // namespace holdfast::bench
