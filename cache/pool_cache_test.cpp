// The cache in a pool file, as C++ programs use it.
#include <cache/pool_cache.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

class PoolCache : public ::testing::Test {
protected:
    PoolCache() {
        options_.cache.limit_bytes = 1 << 20;
        options_.pool.tmpfs_is_nvram = true;
#ifdef HOLDFAST_TEST_BASE_ADDRESS
        options_.pool.base = HOLDFAST_TEST_BASE_ADDRESS;
        options_.pool.reserved_bytes = std::uint64_t{1} << 30;
#endif
    }
    /// Too small for what the limit allows.
    void make_pool_small() {
        options_.cache.limit_bytes = 64 << 20;
        options_.cache.buckets = 1024;
        options_.cache.value_bytes_max = 16 << 20;
        options_.pool_bytes = 8 << 20;
    }
    result<pool_cache> open() { return pool_cache::open_or_create(scratch_.file("cache"), options_); }

    persist::test::scratch_directory scratch_{"/dev/shm"};
    pool_cache_options options_;
};

TEST_F(PoolCache, KeepsItsItemsAndCountsFromOneLifeToTheNext) {
    {
        pool_cache all = open().value();
        EXPECT_EQ(all.set("a", {"value", 7}, 1).value(), cache_answer::stored);
        EXPECT_EQ(all.append("a", " and more", 1).value(), cache_answer::stored);
        EXPECT_EQ(all.prepend("a", "a ", 1).value(), cache_answer::stored);
        EXPECT_EQ(all.add("n", {"40"}, 1).value(), cache_answer::stored);
        EXPECT_EQ(all.increment("n", 5, 1)->number, 45u);
        EXPECT_EQ(all.decrement("n", 3, 1)->number, 42u);
        EXPECT_EQ(all.replace("b", {"x"}, 1).value(), cache_answer::not_stored);
        EXPECT_EQ(all.touch("n", 10, 1).value(), cache_answer::touched);
        EXPECT_TRUE(all.close());
    }
    pool_cache all = open().value();
    EXPECT_TRUE(all.check());
    const cache_hit hit = all.get("a", 2).value();
    EXPECT_EQ(hit.text, "a value and more");
    EXPECT_EQ(hit.flags, 7u);
    EXPECT_EQ(all.cas("a", {"other"}, hit.unique, 2).value(), cache_answer::stored);
    EXPECT_EQ(all.cas("a", {"other"}, hit.unique, 2).value(), cache_answer::exists);
    EXPECT_EQ(all.get("n", 10)->text, "42");
    EXPECT_EQ(all.get("n", 11)->answer, cache_answer::not_found);
    EXPECT_EQ(all.remove("a", 11).value(), cache_answer::deleted);
    EXPECT_TRUE(all.flush_all(0, 11));
    const cache_statistics counts = all.statistics().value();
    EXPECT_EQ(counts.stores, 5u);
    EXPECT_EQ(counts.get_hits, 2u);
    EXPECT_EQ(counts.items, 0u);
    EXPECT_EQ(all.set("a b", {"x"}, 1).value(), cache_answer::bad_key);
}

TEST_F(PoolCache, OutlivesAKill) {
    const pid_t child = ::fork();
    if (child == 0) {
        pool_cache all = open().value();
        for (int i = 0; i < 100; ++i) static_cast<void>(all.set("key" + std::to_string(i), {"value"}, 1).value());
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    pool_cache all = open().value();
    EXPECT_TRUE(all.check());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(all.get("key" + std::to_string(i), 1)->text, "value");
    EXPECT_EQ(all.statistics()->stores, 100u);
}

TEST_F(PoolCache, ThreadsShareItAndEveryCommandIsCounted) {
    pool_cache all = open().value();
    EXPECT_EQ(all.set("sum", {"0"}, 1).value(), cache_answer::stored);
    constexpr int threads = 3, rounds = 300;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            const std::string key = "of" + std::to_string(thread);
            for (int i = 0; i < rounds; ++i) {
                EXPECT_EQ(all.increment("sum", 1, 1)->answer, cache_answer::stored);
                EXPECT_EQ(all.set(key, {std::to_string(i)}, 1).value(), cache_answer::stored);
                EXPECT_EQ(all.get(key, 1)->text, std::to_string(i));
            }
        });
    for (std::thread& each : running) each.join();
    EXPECT_EQ(all.get("sum", 1)->text, std::to_string(threads * rounds));
    const cache_statistics counts = all.statistics().value();
    EXPECT_EQ(counts.increments, std::uint64_t{threads * rounds});
    EXPECT_EQ(counts.get_hits, std::uint64_t{threads * rounds + 1});
    EXPECT_TRUE(all.check());
}

TEST_F(PoolCache, APoolThatIsTooSmallForTheLimitIsAnError) {
    make_pool_small();
    pool_cache all = open().value();
    const auto set = all.set("large", {std::string(12 << 20, 'x')}, 1);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, errc::out_of_space) << set.error().text();
    EXPECT_EQ(all.set("small", {"x"}, 1).value(), cache_answer::stored);
    EXPECT_TRUE(all.check());
}

TEST_F(PoolCache, SettingsOutOfRangeAndAClosedCacheAreErrors) {
    options_.cache.partitions = 3;
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
    options_.cache.partitions = 4;
    pool_cache all = open().value();
    EXPECT_TRUE(all.close());
    EXPECT_EQ(all.set("a", {"x"}, 1).error().code, errc::misuse);
    EXPECT_EQ(all.close().error().code, errc::misuse);
}

/// A program that asks again with settings that are good must not find a pool for those that were not.
TEST_F(PoolCache, SettingsOutOfRangeLeaveNoPool) {
    options_.cache.partitions = 3;
    EXPECT_EQ(open().error().code, errc::invalid_argument);
    EXPECT_NE(::access(scratch_.file("cache").c_str(), F_OK), 0);
    options_.cache.partitions = 1;
    EXPECT_TRUE(open().value().close());
    options_.cache.partitions = 3;
    EXPECT_TRUE(open()) << "they apply only when it is created";
}

/// As when a process died between the pool's creation and the cache's, and the next one has other settings.
TEST_F(PoolCache, APoolWithoutACacheIsMadeAsLargeAsTheCacheNeeds) {
    options_.pool.bytes = 1 << 20;
    EXPECT_TRUE(basic_pool<redo>::create(scratch_.file("cache"), options_.pool).value().close());
    options_.cache.limit_bytes = 4 << 20;
    pool_cache all = open().value();
    const std::string text(256 << 10, 'x');
    for (int i = 0; i < 15; ++i)
        EXPECT_EQ(all.set("key" + std::to_string(i), {text}, 1).value(), cache_answer::stored) << i;
    EXPECT_EQ(all.statistics()->evictions, 0u);
}

TEST_F(PoolCache, AnotherProgramsRootIsNoCache) {
    {
        auto pool = basic_pool<redo>::create(scratch_.file("cache"), options_.pool).value();
        ASSERT_TRUE(pool.plain_root<workload::cache_root>("cache")) << "of the same size";
    }
    EXPECT_EQ(open().error().code, errc::root_mismatch);
}

TEST_F(PoolCache, ACommitWhoseOutcomeIsUnknownIsNotCalledOneThatDidNotHappen) {
    const persist::test::scratch_directory files(".");
    options_.pool.tmpfs_is_nvram = false;
    pool_cache all = pool_cache::open_or_create(files.file("cache"), options_).value();
    EXPECT_EQ(all.set("n", {"1"}, 1).value(), cache_answer::stored);
    {
        const persist::test::failing_device broken;
        EXPECT_EQ(all.increment("n", 1, 1).error().code, errc::outcome_unknown);
        EXPECT_EQ(all.set("n", {"2"}, 1).error().code, errc::poisoned);
    }
    EXPECT_EQ(all.close().error().code, errc::poisoned);
}

TEST_F(PoolCache, AForkedChildHasNoCache) {
    pool_cache all = open().value();
    EXPECT_EQ(all.set("a", {"x"}, 1).value(), cache_answer::stored);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = all.get("a", 1).error().code == errc::misuse && all.check().error().code == errc::misuse &&
                             all.close().error().code == errc::misuse;
        ::_exit(refused ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(all.get("a", 1)->text, "x");
    EXPECT_TRUE(all.check());
}

/// Some items that are used again and again hold pages of the pool for one size of values; others need the room for
/// another.
TEST_F(PoolCache, ItemsAreEvictedWhereThePoolHasNoRoomForWhatTheLimitAllows) {
    options_.cache.limit_bytes = 512 << 10;
    options_.pool_bytes = 1 << 20;
    options_.pool.durability = level::process;
    pool_cache all = open().value();
    std::uint64_t now_s = 1, number = 0;
    std::vector<std::string> used;
    for (const std::size_t bytes : {60u, 130u, 200u, 280u}) {
        const std::string text(bytes, 'x');
        const std::uint64_t count = (512 << 10) / (bytes + 90);
        for (std::uint64_t i = 0; i < 2 * count; ++i) {
            const std::string key = "key" + std::to_string(++number);
            const auto said = all.set(key, {text}, now_s);
            ASSERT_TRUE(said) << bytes << " bytes: " << said.error().text();
            if (i % (4096 / (bytes + 90) + 1) == 0) used.push_back(key);
            if (i % (count / 4) != 0) continue;
            now_s += 100;
            for (const std::string& each : used) static_cast<void>(all.get(each, now_s).value());
        }
    }
    EXPECT_GT(all.statistics()->bytes, 128u << 10) << "of 512 KiB";
    EXPECT_TRUE(all.check());
}

TEST_F(PoolCache, AnItemThatGrowsIsNotEvictedForItself) {
    make_pool_small();
    pool_cache all = open().value();
    const std::string part(1 << 20, 'x');
    EXPECT_EQ(all.set("grows", {part}, 1).value(), cache_answer::stored);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(all.set(std::to_string(i), {"v"}, 1).value(), cache_answer::stored);
    std::uint64_t bytes = 1 << 20;
    auto said = all.append("grows", part, 1);
    for (; said; said = all.append("grows", part, 1)) bytes += part.size();
    EXPECT_EQ(said.error().code, errc::out_of_space) << "the old value and the new one";
    EXPECT_GT(bytes, 2u << 20);
    EXPECT_EQ(all.get("grows", 1)->text.size(), bytes);
    EXPECT_EQ(all.statistics()->items, 1u);
    EXPECT_TRUE(all.check());
}

/// The limit is reached in the pool's default size, whatever the sizes of values are one after another.
TEST_F(PoolCache, ItsPoolHasRoomForTheLimitWithValuesOfChangingSizes) {
    options_.cache.limit_bytes = 8 << 20;
    options_.pool.durability = level::process;
    pool_cache all = open().value();
    std::uint64_t stored = 0;
    for (const std::size_t bytes : {20u, 3000u, 100u, 40000u, 500u, 1u, 900u}) {
        const std::string text(bytes, 'x');
        for (std::size_t i = 0; i * (bytes + 90) < (16u << 20) / (bytes < 200 ? 4 : 1); ++i) {
            const auto said = all.set("key" + std::to_string(++stored), {text}, 1);
            ASSERT_TRUE(said) << bytes << " bytes: " << said.error().text();
        }
    }
    EXPECT_GT(all.statistics()->evictions, 1000u);
    EXPECT_TRUE(all.check());
}

}  // namespace
}  // namespace holdfast
