// cc_htm whose aliases are not private pages: what loads see before homes are stored, room that runs short, and commits
// that find none.
#include <holdfast/engine/cc_htm_variants_test.hpp>

#include <holdfast/handle/test_pool.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/retirement.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

namespace holdfast {
namespace {

template <class Engine>
struct numbers {
    std::array<basic_field<Engine, std::uint64_t>, 512> words;
    std::array<basic_field<Engine, std::uint8_t>, 8> bytes;
};

template <class Engine>
class CcHtmAliases : public ::testing::Test {
protected:
    using pool_type = test::test_pool<Engine>;
    using object = numbers<Engine>;

    static object& root_of(pool_type& pool) { return *pool->template root<object>("numbers").value(); }
    /// What the medium has.
    template <class T>
    static T home_of(const basic_field<Engine, T>& field) {
        T value;
        std::memcpy(&value, static_cast<const void*>(&field), sizeof value);
        return value;
    }
    /// Adds one to each of `count` words from `first` on, at every eighth.
    static void add(pool_type& pool, object& all, std::uint64_t first, std::uint64_t count) {
        pool->atomically([&] {
                for (std::uint64_t i = 0; i < count; ++i) {
                    auto& word = all.words[(first + i * 8) % all.words.size()];
                    word = word + 1;
                }
            })
            .value();
    }
    static std::uint64_t sum(const object& all) {
        std::uint64_t total = 0;
        for (const auto& each : all.words) total += each;
        return total;
    }
    /// Room for few words, wherever aliases are.
    static constexpr lag_options little_room{.table_words = 16, .set_bytes = 8 * 64};
};

TYPED_TEST_SUITE(CcHtmAliases, cc_htm_variants_with_aliases, cc_htm_variant_names);

TYPED_TEST(CcHtmAliases, WhatIsCommittedIsSeenByAllAndNotAtHomeYet) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    pool->checkpoint().value();
    this->add(pool, all, 3, 1);
    EXPECT_EQ(this->home_of(all.words[3]), 0u);
    EXPECT_EQ(all.words[3], 1u);
    std::thread([&] {
        EXPECT_EQ(all.words[3], 1u);
        EXPECT_EQ(pool->atomically([&] { return all.words[3].get(); }).value(), 1u);
    }).join();
    pool->fence().value();
    EXPECT_EQ(this->home_of(all.words[3]), 1u);
    EXPECT_EQ(all.words[3], 1u);
}

TYPED_TEST(CcHtmAliases, PartsOfAWordComeTogether) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    for (const unsigned at : {1u, 6u, 3u, 6u}) {
        pool->atomically([&] { all.bytes[at] = static_cast<std::uint8_t>(all.bytes[at] + at); }).value();
        if (at == 3) pool->fence().value();
    }
    const std::array<unsigned, 8> expected{0, 1, 0, 3, 0, 0, 12, 0};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(all.bytes[i], expected[i]) << i;
    pool.kill();
    auto& found = this->root_of(pool);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(this->home_of(found.bytes[i]), expected[i]) << i;
}

TYPED_TEST(CcHtmAliases, AConflictIsFoundWhereTheValueIsNotHome) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    int attempts = 0;
    pool->atomically([&] {
            const std::uint64_t before = all.words[8];
            if (++attempts == 1) std::thread([&] { this->add(pool, all, 8, 1); }).join();
            all.words[16] = before + all.words[8] + 1;
        })
        .value();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(all.words[16], 3u);
}

TYPED_TEST(CcHtmAliases, ACommitWithoutRoomForItsWordsComesThroughBesideOthers) {
    test::test_pool<TypeParam> pool(
        {.durability = level::lag, .bytes = 4 << 20, .log_bytes = 256 << 10, .lag = this->little_room});
    auto& all = this->root_of(pool);
    constexpr std::uint64_t large = 60, small = 4;
    std::atomic<bool> stop{false};
    std::uint64_t others = 0;
    std::thread other([&] {
        for (; !stop; ++others) this->add(pool, all, others, small);
    });
    constexpr std::uint64_t rounds = 200;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        this->add(pool, all, i, large);
        if (i % 16 == 0) this->add(pool, all, i, small);
    }
    stop = true;
    other.join();
    const std::uint64_t expected = rounds * large + (rounds + 15) / 16 * small + others * small;
    EXPECT_EQ(this->sum(all), expected);
    pool->fence().value();
    pool.kill();
    EXPECT_EQ(this->sum(this->root_of(pool)), expected);
}

TYPED_TEST(CcHtmAliases, ACommitWithoutRoomIsDurableWhenItReturns) {
    test::test_pool<TypeParam> pool({.lag = this->little_room});
    auto& all = this->root_of(pool);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        this->add(pool, all, 0, 60);
        EXPECT_EQ(this->home_of(all.words[8]), i);
    }
    pool.kill();
    EXPECT_EQ(this->sum(this->root_of(pool)), 180u);
}

TYPED_TEST(CcHtmAliases, AnAttemptThatIsTakenBackLeavesItsPlaces) {
    test::test_pool<TypeParam> pool({.lag = this->little_room});
    auto& all = this->root_of(pool);
    for (int i = 0; i < 200; ++i) {
        EXPECT_FALSE(pool->atomically([&]() -> result<void> {
            for (std::size_t at = 0; at < 12; ++at) all.words[at * 8] = 7;
            return error{.code = errc::aborted, .what = "no"};
        }));
        this->add(pool, all, 0, 12);
    }
    EXPECT_EQ(this->sum(all), 200u * 12);
}

TYPED_TEST(CcHtmAliases, EveryLevelAndEveryoneWhoRetiresKeepsAllThatReturned) {
    for (const level durability : {level::process, level::lag, level::power})
        for (const retiring retire : {retiring::cooperative, retiring::by_thread}) {
            lag_options lag = this->little_room;
            lag.retire = retire;
            lag.commits = 8;
            test::test_pool<TypeParam> pool({.durability = durability, .lag = lag});
            auto& all = this->root_of(pool);
            constexpr std::uint64_t threads = 3, each = 300;
            std::vector<std::thread> running;
            for (std::uint64_t thread = 0; thread < threads; ++thread)
                running.emplace_back([&, thread] {
                    for (std::uint64_t i = 0; i < each; ++i) this->add(pool, all, thread * 3 + i, 3);
                });
            for (std::thread& thread : running) thread.join();
            EXPECT_EQ(this->sum(all), threads * each * 3);
            pool.kill();
            EXPECT_EQ(this->sum(this->root_of(pool)), threads * each * 3);
        }
}

TYPED_TEST(CcHtmAliases, WhoWaitsForHomesFindsThemThere) {
    test::test_pool<TypeParam> pool({.lag = {.waits_for_homes = true}});
    auto& all = this->root_of(pool);
    for (std::uint64_t i = 1; i < 10; ++i) {
        this->add(pool, all, 8, 2);
        EXPECT_EQ(this->home_of(all.words[8]), i);
        EXPECT_EQ(this->home_of(all.words[16]), i);
    }
}

TYPED_TEST(CcHtmAliases, OnAFileNothingIsLookedUp) {
    test::test_pool<TypeParam> pool({.durability = level::lag, .directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private()) << "the working directory is on no ordinary file system";
    auto& all = this->root_of(pool);
    EXPECT_EQ(pool->core().alias_values(), nullptr);
    for (std::uint64_t i = 0; i < 100; ++i) this->add(pool, all, i, 40);
    EXPECT_EQ(this->home_of(all.words[40]), all.words[40]);
    pool.set_level(level::power);
    pool.reopen();
    EXPECT_EQ(this->sum(this->root_of(pool)), 4000u);
}

TYPED_TEST(CcHtmAliases, PoolsAreThoseOfCcHtm) {
    persist::test::scratch_directory directory("/dev/shm");
    create_options options;
    options.tmpfs_is_nvram = true;
    options.bytes = 1 << 20;
    {
        auto pool = TypeParam::pool::create(directory.file("pool"), options).value();
        auto* const all = pool.template root<numbers<TypeParam>>("numbers").value();
        pool.atomically([&] { all->words[5] = 17; }).value();
        pool.core().abandon();
    }
    auto pool = cc_htm::pool::open(directory.file("pool"), options).value();
    EXPECT_EQ(pool.template root<numbers<cc_htm>>("numbers").value()->words[5], 17u);
}

TYPED_TEST(CcHtmAliases, AnObjectWhoseAliasesAreElsewhereIsMisuse) {
    using other = std::conditional_t<TypeParam::description.isolation == cc_htm::description.isolation, cc_htm,
                                     cc_htm_versioned>;
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    const auto change = [&] { other::transact(&all, [] {}); };
    EXPECT_THROW(change(), failure);
}

template <class Engine>
void expect_refused(const lag_options& lag) {
    persist::test::scratch_directory directory("/dev/shm");
    create_options options;
    options.tmpfs_is_nvram = true;
    options.lag = lag;
    const auto refused = Engine::pool::create(directory.file("pool"), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
}

TEST(CcHtmPlaces, TablesAndSetsOfNothingAreRefused) {
    expect_refused<cc_htm_table>({.table_words = 0});
    expect_refused<cc_htm_sets>({.set_ways = 0});
    expect_refused<cc_htm_sets>({.set_ways = 65});
    expect_refused<cc_htm_sets>({.set_bytes = 63, .set_ways = 2});
    expect_refused<cc_htm_sets>({.set_bytes = std::uint64_t{1} << 40});
}

TEST(CcHtmPlaces, AFullSetEndsTheAttemptAndTheNextOneFindsAPlace) {
    // One set of one entry: each commit to another word finds the one before in it.
    test::test_pool<cc_htm_sets> pool(
        {.durability = level::lag, .lag = {.retire = retiring::cooperative, .set_bytes = 32, .set_ways = 1}});
    auto& all = *pool->root<numbers<cc_htm_sets>>("numbers").value();
    retirement& queue = *pool->core().retiring();
    pool->atomically([&] { all.words[0] = 1; }).value();
    const std::uint64_t first = pool->core().lanes()->last_sequence();
    ASSERT_LT(queue.retired(), first);
    int attempts = 0;
    pool->atomically([&] {
            ++attempts;
            all.words[1] = all.words[0] + 1;
        })
        .value();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(all.words[1], 2u);
    EXPECT_GE(queue.retired(), first);
}

TEST(CcHtmPlaces, AFullSetWithAnEntryOfTheTransactionWaitsForTheOther) {
    test::test_pool<cc_htm_sets> pool(
        {.durability = level::lag, .lag = {.retire = retiring::cooperative, .set_bytes = 64, .set_ways = 2}});
    auto& all = *pool->root<numbers<cc_htm_sets>>("numbers").value();
    pool->atomically([&] { all.words[0] = 1; }).value();
    pool->fence().value();
    pool->atomically([&] { all.words[1] = 2; }).value();
    pool->atomically([&] {
            all.words[0] = 3;
            all.words[2] = 4;
        })
        .value();
    EXPECT_EQ(all.words[0] + all.words[1] + all.words[2], 9u);
    EXPECT_LT(pool->core().retiring()->retired(), pool->core().lanes()->last_sequence());
}

}  // namespace
}  // namespace holdfast
