// cc_htm by hardware that is stood in for: which transactions commit there and which alone, and what each leaves in the
// log.
#include <holdfast/engine/cc_htm_variants_test.hpp>

#include <holdfast/handle/test_pool.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/retirement.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using engine = test::cc_htm_stood_in;
using htm::test::stand_in;
namespace status = htm::status;

struct numbers {
    std::array<basic_field<engine, std::uint64_t>, 1024> values;
};

class CcHtmHardware : public ::testing::Test {
protected:
    ~CcHtmHardware() override { stand_in::set({}); }

    static numbers& root_of(test::test_pool<engine>& pool) { return *pool->root<numbers>("numbers").value(); }
    static htm::rtm_counts counts() { return test::stood_in_of_this_thread.counts(); }
    static std::uint64_t last_number(test::test_pool<engine>& pool) { return pool->core().lanes()->last_sequence(); }
    static void add(test::test_pool<engine>& pool, std::uint64_t first, std::uint64_t count) {
        add(pool, root_of(pool), first, count);
    }
    static void add(test::test_pool<engine>& pool, numbers& all, std::uint64_t first, std::uint64_t count) {
        pool->atomically([&] {
                for (std::uint64_t i = first; i < first + count; ++i) all.values[i] = all.values[i] + 1;
            })
            .value();
    }
};

TEST_F(CcHtmHardware, ACommitDrawsOneNumberAndTakesNoFallback) {
    test::test_pool<engine> pool;
    add(pool, 0, 4);
    auto& all = root_of(pool);
    const htm::rtm_counts before = counts();
    const std::uint64_t number = last_number(pool);
    for (int i = 0; i < 100; ++i) add(pool, all, 0, 4);
    EXPECT_EQ(counts().commits, before.commits + 100);
    EXPECT_EQ(counts().fallbacks, before.fallbacks);
    EXPECT_EQ(last_number(pool), number + 100);
    pool.kill();
    EXPECT_EQ(root_of(pool).values[3].get(), 101u);
}

TEST_F(CcHtmHardware, AnAbortLeavesNoHoleInTheNumbers) {
    test::test_pool<engine> pool;
    add(pool, 0, 4);
    const std::uint64_t number = last_number(pool);
    const htm::rtm_counts before = counts();
    // At its first load, between stores, at its end; the last goes to the fallback.
    stand_in::plan({{0, status::retry}, {5, status::retry}, {8, status::retry}, {3, status::capacity}});
    add(pool, 0, 4);
    EXPECT_EQ(stand_in::planned(), 0u);
    EXPECT_EQ(counts().aborts, before.aborts + 4);
    EXPECT_EQ(counts().fallbacks, before.fallbacks + 1);
    EXPECT_EQ(last_number(pool), number + 1);
    pool->fence().value();
    EXPECT_EQ(pool->core().retiring()->retired(), number + 1);
    pool.kill();
    EXPECT_EQ(root_of(pool).values[0].get(), 2u);
}

TEST_F(CcHtmHardware, WhatOnlyReadsDrawsNoNumberAndHoldsNoLane) {
    test::test_pool<engine> pool;
    add(pool, 0, 4);
    auto& all = root_of(pool);
    const std::uint64_t number = last_number(pool);
    const htm::rtm_counts before = counts();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pool->atomically([&] { return all.values[1].get(); }).value(), 1u);
    EXPECT_EQ(counts().commits, before.commits + 10);
    EXPECT_EQ(last_number(pool), number);
    // It waits until no lane is held.
    pool->barrier([] {}).value();
}

TEST_F(CcHtmHardware, MoreThanTheRoomOfARecordRunsAlone) {
    test::test_pool<engine> pool({.bytes = 4 << 20, .log_bytes = 1 << 20});
    add(pool, 0, 1);
    const htm::rtm_counts before = counts();
    add(pool, 0, 1000);
    EXPECT_EQ(counts().fallbacks, before.fallbacks + 1);
    pool.kill();
    EXPECT_EQ(root_of(pool).values[999].get(), 1u);
}

TEST_F(CcHtmHardware, ALogThatIsTooSmallIsToldByTheFallback) {
    test::test_pool<engine> pool({.bytes = 8 << 20, .log_bytes = 64 << 10});
    constexpr std::size_t count = 20'000;
    const auto refused = pool->atomically([&] {
        auto* const words = reinterpret_cast<basic_field<engine, std::uint64_t>*>(engine::allocate(count * 8));
        for (std::size_t i = 0; i < count; ++i) words[i] = i;
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::transaction_too_large);
    add(pool, 0, 4);
    EXPECT_TRUE(pool.audit());
}

TEST_F(CcHtmHardware, OnAFileEveryTransactionRunsAlone) {
    test::test_pool<engine> pool({.durability = level::lag, .directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private()) << "the working directory is on no ordinary file system";
    const htm::rtm_counts before = counts();
    for (int i = 0; i < 10; ++i) add(pool, 0, 4);
    EXPECT_EQ(counts().commits, before.commits);
    EXPECT_GE(counts().fallbacks, before.fallbacks + 10);
}

TEST_F(CcHtmHardware, WithoutHardwareEverythingRunsAlone) {
    stand_in::set({.available = false});
    test::test_pool<engine> pool;
    const htm::rtm_counts before = counts();
    for (int i = 0; i < 10; ++i) add(pool, 0, 4);
    EXPECT_EQ(counts().commits, before.commits);
    pool.kill();
    EXPECT_EQ(root_of(pool).values[3].get(), 10u);
}

/// Threads add to counters that stay equal, while one in three transactions aborts somewhere.
TEST_F(CcHtmHardware, AbortsAnywhereLoseNothing) {
    constexpr std::uint64_t threads = 3, each = 400, seeds = 4;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        stand_in::set({.aborts_one_in = 3, .seed = seed});
        test::test_pool<engine> pool({.durability = level::lag, .log_bytes = 64 << 10, .lag = {.commits = 3}});
        std::vector<std::thread> running;
        for (std::uint64_t thread = 0; thread < threads; ++thread)
            running.emplace_back([&, thread] {
                for (std::uint64_t i = 0; i < each; ++i) add(pool, (thread + i) % 5 * 4, 4);
            });
        for (std::thread& thread : running) thread.join();
        pool.kill();
        auto& found = root_of(pool);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < 20; ++i) {
            EXPECT_EQ(found.values[i].get(), found.values[i / 4 * 4].get()) << "seed " << seed;
            sum += found.values[i];
        }
        EXPECT_EQ(sum, 4 * threads * each) << "seed " << seed;
    }
}

}  // namespace
}  // namespace holdfast
