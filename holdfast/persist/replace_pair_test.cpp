// A pair of words is replaced as one, or not at all.
#include <holdfast/persist/replace_pair.hpp>

#include <holdfast/persist/sites.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::persist {
namespace {

TEST(ReplacePair, StoresOnlyWhereBothWordsAreAsExpected) {
    alignas(16) std::uint64_t pair[2] = {1, 2};
    EXPECT_FALSE(replace_pair(pair, {1, 3}, {7, 8}, site::measure));
    EXPECT_FALSE(replace_pair(pair, {3, 2}, {7, 8}, site::measure));
    EXPECT_EQ(pair[0], 1u);
    EXPECT_EQ(pair[1], 2u);
    EXPECT_TRUE(replace_pair(pair, {1, 2}, {7, 8}, site::measure));
    EXPECT_EQ(pair[0], 7u);
    EXPECT_EQ(pair[1], 8u);
}

TEST(ReplacePair, LosesNoStoreOfAnotherThread) {
    constexpr std::uint64_t each_adds = 20'000;
    constexpr unsigned threads = 3;
    alignas(16) std::uint64_t pair[2] = {0, 0};
    const auto now = [&](unsigned which) { return std::atomic_ref(pair[which]).load(std::memory_order_relaxed); };
    std::vector<std::thread> running;
    for (unsigned thread = 0; thread < threads; ++thread)
        running.emplace_back([&] {
            for (std::uint64_t added = 0; added < each_adds;) {
                const word_pair found{now(0), now(1)};
                if (replace_pair(pair, found, {found.first + 1, found.second + 2}, site::measure)) ++added;
            }
        });
    for (auto& each : running) each.join();
    EXPECT_EQ(pair[0], threads * each_adds);
    EXPECT_EQ(pair[1], 2 * threads * each_adds);
}

}  // namespace
}  // namespace holdfast::persist
