// `rtm` and `hybrid` with the processor's own transactions; on a machine without them, all of it in the fallback, or in
// software.
#include <holdfast/base/test_run.hpp>
#include <holdfast/htm/hybrid.hpp>
#include <holdfast/htm/rtm.hpp>
#include <holdfast/stm/atomically.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::htm {
namespace {

using stm::atomically;

struct alignas(64) line {
    word words[8] = {};
};

void add_one(word* home) {
    rtm& open = rtm::of_this_thread();
    open.store(home, open.load(home) + 1, 0xFF);
}

TEST(RtmOnThisMachine, ThreadsThatAddToTheSameWordsCountEveryAddition) {
    line data[2];
    constexpr int threads = 3;
    constexpr word times = 5'000;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&] {
            for (word k = 0; k < times; ++k)
                atomically<rtm>([&] {
                    add_one(&data[0].words[0]);
                    add_one(&data[1].words[0]);
                });
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(data[0].words[0], threads * times);
    EXPECT_EQ(data[1].words[0], threads * times);
}

TEST(RtmOnThisMachine, ATransactionLargerThanAnyCacheCommits) {
    std::vector<word> data(200'000);
    atomically<rtm>([&] {
        for (word& each : data) rtm::of_this_thread().store(&each, 1, 0xFF);
    });
    for (const word each : data) ASSERT_EQ(each, 1u);
}

TEST(RtmOnThisMachine, AnExceptionLeavesAndRollsBack) {
    line data;
    EXPECT_THROW(atomically<rtm>([&] {
                     add_one(&data.words[0]);
                     throw std::runtime_error("out");
                 }),
                 std::runtime_error);
    EXPECT_FALSE(rtm::of_this_thread().active());
    EXPECT_EQ(data.words[0], 0u);
    atomically<rtm>([&] { add_one(&data.words[0]); });
    EXPECT_EQ(data.words[0], 1u);
}

TEST(RtmOnThisMachine, WithoutHardwareEachOneIsAFallback) {
    if (hardware::is_available()) GTEST_SKIP() << "This processor has hardware transactions (RTM).";
    const rtm_counts before = rtm::of_this_thread().counts();
    line data;
    for (int i = 0; i < 10; ++i) atomically<rtm>([&] { add_one(&data.words[0]); });
    EXPECT_EQ(rtm::of_this_thread().counts().fallbacks - before.fallbacks, 10u);
    EXPECT_EQ(rtm::of_this_thread().counts().aborts, before.aborts);
}

TEST(RtmOnThisMachine, ShortTransactionsCommitInHardware) {
    if (!hardware::is_available()) GTEST_SKIP() << obstacle_here();
    line data;
    const rtm_counts before = rtm::of_this_thread().counts();
    constexpr std::uint64_t times = 10'000;
    for (std::uint64_t i = 0; i < times; ++i) atomically<rtm>([&] { add_one(&data.words[0]); });
    EXPECT_GT(rtm::of_this_thread().counts().commits - before.commits, times / 2);
    EXPECT_EQ(data.words[0], times);
}

TEST(HybridOnThisMachine, ThreadsThatAddToTheSameWordsCountEveryAddition) {
    line data[2];
    constexpr int threads = 3;
    constexpr word times = 5'000;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&, i] {
            for (word k = 0; k < times; ++k)
                atomically<hybrid>([&] {
                    hybrid& open = hybrid::of_this_thread();
                    // What hardware cannot do, now and then.
                    if (i == 0 && k % 64 == 0) std::this_thread::yield();
                    for (line& each : data) open.store(&each.words[0], open.load(&each.words[0]) + 1, 0xFF);
                });
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(data[0].words[0], threads * times);
    EXPECT_EQ(data[1].words[0], threads * times);
}

TEST(HybridOnThisMachine, WithoutHardwareItIsValue) {
    if (hardware::is_available()) GTEST_SKIP() << "This processor has hardware transactions (RTM).";
    hybrid& open = hybrid::of_this_thread();
    const word before = *software_of_hybrid::counter();
    line data;
    EXPECT_FALSE(open.begin_block({}));
    open.store(&data.words[0], 1, 0xFF);
    EXPECT_TRUE(software_of_hybrid::of_this_thread().active());
    EXPECT_TRUE(open.commit());
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(*software_of_hybrid::counter(), before + 2);
    EXPECT_EQ(open.counts().aborts, 0u);
}

TEST(HybridOnThisMachine, PlainCodeCommitsInHardware) {
    if (!hardware::is_available()) GTEST_SKIP() << obstacle_here();
    hybrid& open = hybrid::of_this_thread();
    const hybrid_counts before = open.counts();
    line data;
    constexpr std::uint64_t times = 10'000;
    for (std::uint64_t i = 0; i < times; ++i) {
        if (open.begin_block({}))
            data.words[0] = data.words[0] + 1;
        else
            open.store(&data.words[0], open.load(&data.words[0]) + 1, 0xFF);
        EXPECT_TRUE(open.commit());
    }
    EXPECT_EQ(data.words[0], times);
    EXPECT_GT(open.counts().plain - before.plain, times / 2);
}

TEST(RtmOnThisMachine, WhatTheProgramRollsBackInHardwareGoesOnInSoftware) {
    if (!hardware::is_available()) GTEST_SKIP() << obstacle_here();
    line data;
    rtm& open = rtm::of_this_thread();
    open.begin({});
    open.store(&data.words[0], 1, 0xFF);
    open.roll_back();
    EXPECT_FALSE(hardware::is_open());
    EXPECT_FALSE(open.active());
    EXPECT_EQ(data.words[0], 0u);
}

}  // namespace
}  // namespace holdfast::htm
