// What steal_no_force has that redo has not: who writes back what commits leave dirty, and when.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/pacer.hpp>

#include <array>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using test::test_pool;
using store = steal_no_force;

constexpr std::size_t counters = 4000;
struct numbers {
    std::array<store::field<std::uint64_t>, counters> each;
};
constexpr std::uint64_t commits = 6000;

/// Adds 1 to two of them, in a transaction.
void raise_two(store::pool& pool, numbers& all, std::uint64_t seed) {
    pool.atomically([&] {
            all.each[seed * 7 % counters] += 1;
            all.each[(seed * 13 + 1) % counters] += 1;
        }).value();
}
std::uint64_t total_of(const numbers& all) {
    std::uint64_t total = 0;
    for (const auto& one : all.each) total += one.get();
    return total;
}

TEST(StealNoForce, ACommitIsOneFenceAndNoWriteBackWhereAThreadPaces) {
    test_pool<store> pool({.pace = {.percent = 25, .write_back = retiring::by_thread}});
    auto* all = pool->root<numbers>("numbers").value();
    raise_two(*pool, *all, 0);
    pacer& its = *pool->core().pacing();
    const std::uint64_t rounds = its.rounds();
    const auto before = persist::thread_counters();
    std::uint64_t done = 0;
    for (; done < commits || its.rounds() < rounds + 3; ++done) {
        raise_two(*pool, *all, done);
        // It has time, so that no commit finds the log full.
        while (pool->core().lanes()->room().free < 3) std::this_thread::yield();
    }
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.fences, done);
    EXPECT_EQ(cost.write_backs, 0u);
}

TEST(StealNoForce, CommitsThatPaceNeverFindTheLogFull) {
    test_pool<store> pool({.pace = {.percent = 50, .write_back = retiring::cooperative}});
    auto* all = pool->root<numbers>("numbers").value();
    std::uint64_t most = 0;
    const auto before = persist::thread_counters();
    for (std::uint64_t i = 0; i < commits; ++i) {
        const auto start = persist::thread_counters();
        raise_two(*pool, *all, i);
        most = std::max(most, (persist::thread_counters() - start).write_backs);
    }
    const auto cost = persist::thread_counters() - before;
    const pacer& its = *pool->core().pacing();
    EXPECT_GT(its.rounds(), 5u);
    EXPECT_GT(its.steps(), 3 * its.rounds());
    EXPECT_LE(cost.fences, commits + its.steps() + its.rounds());
    // A round has 500 lines; a segment's share is a seventh of twice as much.
    EXPECT_LT(most, 300u);
}

void expect_refused(const pace_options& pace) {
    persist::test::scratch_directory directory("/dev/shm");
    create_options options;
    options.tmpfs_is_nvram = true;
    options.pace = pace;
    const auto refused = store::pool::create(directory.file("pool"), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
    // Other engines do not look at it.
    EXPECT_TRUE(redo::pool::create(directory.file("pool"), options));
}

TEST(StealNoForce, OptionsThatMeanNothingAreRefused) {
    expect_refused({.percent = 101});
    expect_refused({.write_back = static_cast<retiring>(3)});
}

TEST(StealNoForce, NothingIsPacedWhereNothingNeedsIt) {
    test_pool<store> killed({.durability = level::process});
    EXPECT_EQ(killed->core().pacing(), nullptr);
    persist::test::scratch_directory directory(".");
    create_options options;
    options.where.tmpfs_is_file = true;
    auto on_file = store::pool::create(directory.file("pool"), options);
    ASSERT_TRUE(on_file) << on_file.error().text();
    EXPECT_EQ(on_file->core().pacing(), nullptr);
    options.durability = level::on_power_fail;
    const auto armed = store::pool::create(directory.file("armed"), options);
    ASSERT_FALSE(armed);
    EXPECT_EQ(armed.error().code, errc::level_unavailable);
}

/// Threads commit while others checkpoint and grow; the pool is dropped in the end.
void race(const pace_options& pace) {
    test_pool<store> pool({.pace = pace});
    auto* all = pool->root<numbers>("numbers").value();
    constexpr std::uint64_t threads = 3;
    std::mutex lock;
    std::vector<std::thread> running;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
        running.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < commits; ++i) {
                pool->atomically(lock, [&] {
                        all->each[(i * 7 + thread) % counters] += 1;
                        all->each[(i * 13 + 1) % counters] += 1;
                    }).value();
            }
        });
    }
    for (int times = 0; times < 20; ++times) {
        EXPECT_TRUE(pool->checkpoint());
        if (times == 10) { EXPECT_TRUE(pool->grow(2 << 20)); }
    }
    for (std::thread& each : running) each.join();
    pool.kill();
    all = pool->root<numbers>("numbers").value();
    EXPECT_EQ(total_of(*all), 2 * threads * commits);
}

TEST(StealNoForce, ThreadsCommitWhileOneOfThePoolPaces) { race({.percent = 25, .write_back = retiring::by_thread}); }

TEST(StealNoForce, ThreadsCommitAndTakeStepsInTurn) { race({.percent = 25, .write_back = retiring::cooperative}); }

TEST(StealNoForce, ThreadsCommitAndEachBringsHomeWhatItSees) {
    race({.percent = 0, .write_back = retiring::cooperative});
}

}  // namespace
}  // namespace holdfast
