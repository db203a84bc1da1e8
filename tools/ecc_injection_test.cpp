// Bits flipped by the million: 0 wrong, 0 undetected, and as many refused as theory says.
#include "ecc_injection.hpp"

#include <holdfast/ecc/repair.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

namespace holdfast::tools {
namespace {

bool soaking() { return std::getenv("HOLDFAST_SOAK") != nullptr; }

constexpr std::uint64_t own_seed = 20;

injection_counts run(unsigned bits, std::uint64_t trials, unsigned jobs = 2) {
    const injection asked{.bits = bits, .trials = trials, .seed = own_seed, .jobs = jobs};
    const injection_counts counts = inject(asked, [](auto) {});
    EXPECT_EQ(counts.trials, trials);
    EXPECT_EQ(counts.repaired + counts.refused + counts.wrong + counts.undetected, trials);
    return counts;
}

TEST(EccInjection, EveryPatternOf1To3FlipsIsPutRight) {
    constexpr std::uint64_t patterns[]{128, 8128, 341376};
    for (unsigned bits = 1; bits <= 3; ++bits) {
        const injection all{.bits = bits, .exhaustive = true, .seed = own_seed, .jobs = 2};
        const injection_counts counts = inject(all, [](auto) {});
        EXPECT_EQ(counts.trials, patterns[bits - 1]);
        EXPECT_EQ(counts.repaired, counts.trials) << bits << " flips, seed " << own_seed;
    }
}

TEST(EccInjection, OfRandomPatternsUpTo6FlipsAllArePutRight) {
    for (unsigned bits = 1; bits <= 6; ++bits) {
        const std::uint64_t trials = soaking() && bits >= 4 ? 100'000'000 : 500'000;
        EXPECT_EQ(run(bits, trials).repaired, trials) << bits << " flips, seed " << own_seed;
    }
}

TEST(EccInjection, OfRandomPatternsOf7FlipsNoneIsWrongAndAsManyAreRefusedAsTheoryHas) {
    const std::uint64_t trials = soaking() ? 100'000'000 : 300'000;
    const injection_counts counts = run(7, trials);
    EXPECT_EQ(counts.wrong, 0u) << "seed " << own_seed;
    EXPECT_EQ(counts.undetected, 0u) << "seed " << own_seed;
    // 335 C(14, 7) / C(128, 7)
    const double expected = static_cast<double>(trials) * 335 * 3432 / 94525795200;
    const double deviation = std::sqrt(expected);
    EXPECT_NEAR(static_cast<double>(counts.refused), expected, 4 * deviation) << "seed " << own_seed;
}

TEST(EccInjection, UpTo13FlipsAreSeen) {
    const std::uint64_t trials = soaking() ? 10'000'000 : 100'000;
    for (unsigned bits = 8; bits <= 13; ++bits) EXPECT_EQ(run(bits, trials).undetected, 0u) << bits << " flips";
}

TEST(EccInjection, TheCountsDependOnTheSeedAndNotOnTheThreads) {
    // Seven in ten million patterns of 8 flips are 6 flips away from another word: with this seed one is.
    injection asked{.bits = 8, .trials = 100'000, .seed = 26, .jobs = 1};
    const injection_counts one = inject(asked, [](auto) {});
    EXPECT_EQ(one.wrong, 1u);
    asked.jobs = 3;
    EXPECT_EQ(inject(asked, [](auto) {}), one);
    asked.seed = 27;
    EXPECT_EQ(inject(asked, [](auto) {}).wrong, 0u);
}

TEST(EccInjection, WhatBreaksThePromiseIsToldFromWhatDoesNot) {
    EXPECT_TRUE(keeps_promise(6, {.trials = 1, .repaired = 1}));
    EXPECT_FALSE(keeps_promise(6, {.trials = 1, .refused = 1}));
    EXPECT_TRUE(keeps_promise(7, {.trials = 1, .refused = 1}));
    EXPECT_FALSE(keeps_promise(7, {.trials = 1, .wrong = 1}));
    EXPECT_TRUE(keeps_promise(8, {.trials = 1, .wrong = 1}));
    EXPECT_FALSE(keeps_promise(13, {.trials = 1, .undetected = 1}));
    EXPECT_TRUE(keeps_promise(14, {.trials = 1, .undetected = 1}));
}

TEST(EccInjection, AllFlippedIsAPatternToo) { EXPECT_EQ(run(128, 10).repaired, 0u); }

}  // namespace
}  // namespace holdfast::tools
