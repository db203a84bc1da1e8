// cc_htm over all isolations: isolation without locks, conflicts, levels, and what is left after a kill.
#include <holdfast/engine/cc_htm_variants_test.hpp>

#include <holdfast/handle/test_pool.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/retirement.hpp>
#include <holdfast/persist/counters.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

template <class Engine>
struct accounts {
    std::array<basic_field<Engine, std::uint64_t>, 64> balance;
    basic_field<Engine, std::uint64_t> transfers;
};

template <class Engine>
class CcHtm : public ::testing::Test {
protected:
    using pool_type = test::test_pool<Engine>;
    using object = accounts<Engine>;

    static object& root_of(pool_type& pool) {
        return *pool->template root<object>("accounts").value();
    }
    static void fill(pool_type& pool) {
        object& all = root_of(pool);
        pool->atomically([&] {
                for (auto& each : all.balance) each = 100;
                all.transfers = 0;
            })
            .value();
    }
    static std::uint64_t sum(object& all) {
        std::uint64_t total = 0;
        for (auto& each : all.balance) total += each;
        return total;
    }
    static void transfer(object& all, std::uint64_t from, std::uint64_t to) {
        all.balance[from] = all.balance[from] - 1;
        all.balance[to] = all.balance[to] + 1;
        all.transfers = all.transfers + 1;
    }
};

TYPED_TEST_SUITE(CcHtm, cc_htm_variants, cc_htm_variant_names);

TYPED_TEST(CcHtm, ThreadsNeedNoLock) {
    test::test_pool<TypeParam> pool({.bytes = 4 << 20, .log_bytes = 256 << 10});
    this->fill(pool);
    auto& all = this->root_of(pool);
    constexpr std::uint64_t transfers_each = 3000;
    std::atomic<unsigned> torn{0};
    const auto work = [&](std::uint64_t seed) {
        std::uint64_t state = seed;
        for (std::uint64_t i = 0; i < transfers_each; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            pool->atomically([&] { this->transfer(all, state >> 33 & 63, state >> 43 & 63); }).value();
            if (i % 64 == 0 && pool->atomically([&] { return this->sum(all); }).value() != 6400) ++torn;
        }
    };
    std::vector<std::thread> threads;
    for (const std::uint64_t seed : {1u, 2u, 3u}) threads.emplace_back(work, seed);
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(torn, 0u);
    EXPECT_EQ(this->sum(all), 6400u);
    EXPECT_EQ(all.transfers, 3 * transfers_each);
    pool.kill();
    auto& found = this->root_of(pool);
    EXPECT_EQ(found.transfers, 3 * transfers_each);
    EXPECT_EQ(this->sum(found), 6400u);
    EXPECT_TRUE(pool.audit());
}

TYPED_TEST(CcHtm, WhatWasClosedIsOpenedAtEveryLevel) {
    test::test_pool<TypeParam> pool({.durability = level::lag});
    this->fill(pool);
    for (const level each : {level::process, level::power, level::lag, level::power}) {
        pool.set_level(each);
        pool.reopen();
        auto& all = this->root_of(pool);
        const std::uint64_t before = all.transfers;
        pool->atomically([&] { this->transfer(all, 3, 4); }).value();
        EXPECT_EQ(all.transfers, before + 1);
        pool.kill();
        EXPECT_EQ(this->root_of(pool).transfers, before + 1);
        EXPECT_EQ(this->sum(this->root_of(pool)), 6400u);
    }
}

TYPED_TEST(CcHtm, ACommitIsOneFence) {
    test::test_pool<TypeParam> pool({.durability = level::lag});
    this->fill(pool);
    auto& all = this->root_of(pool);
    const persist::counters before = persist::thread_counters();
    for (int i = 0; i < 100; ++i) pool->atomically([&] { this->transfer(all, 1, 2); }).value();
    const persist::counters spent = persist::thread_counters() - before;
    EXPECT_EQ(spent.fences, 100u);
    EXPECT_EQ(spent.write_backs, 0u);
}

TYPED_TEST(CcHtm, HomesOnTheMediumFollowInBatches) {
    test::test_pool<TypeParam> pool(
        {.durability = level::lag, .lag = {.retire = retiring::cooperative, .table_words = 128}});
    this->fill(pool);
    auto& all = this->root_of(pool);
    for (std::uint64_t i = 0; i < 10'000; ++i)
        pool->atomically([&] { this->transfer(all, i % 64, (i + 1) % 64); }).value();
    retirement& queue = *pool->core().retiring();
    EXPECT_GE(queue.retired() + 128 + 32, queue.prefix());
    if constexpr (TypeParam::aliases == aliases_in::table) {
        EXPECT_GT(pool->core().aliases()->retirements(), 20u);
        pool->checkpoint().value();
        EXPECT_GT(pool->core().aliases()->first_not_home(), queue.prefix());
    } else {
        EXPECT_GT(queue.batches(), 20u);
        pool->checkpoint().value();
        EXPECT_EQ(queue.retired(), queue.prefix());
    }
}

TYPED_TEST(CcHtm, AnExceptionTakesEverythingBack) {
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    EXPECT_THROW(static_cast<void>(pool->atomically([&] {
        this->transfer(all, 1, 2);
        throw std::runtime_error("no");
    })),
                 std::runtime_error);
    EXPECT_EQ(all.transfers, 0u);
    const auto refused = pool->atomically([&]() -> result<void> {
        this->transfer(all, 1, 2);
        return error{.code = errc::aborted, .what = "no"};
    });
    EXPECT_FALSE(refused);
    EXPECT_EQ(all.balance[1], 100u);
    EXPECT_EQ(all.balance[2], 100u);
}

/// Lets another thread commit between two loads of the first attempt.
template <class Engine>
class meddler {
public:
    meddler(test::test_pool<Engine>& pool, accounts<Engine>& all) : pool_(pool), all_(all) {}
    void once() {
        if (has_run_) return;
        has_run_ = true;
        std::thread([this] {
            pool_->atomically([this] {
                     all_.balance[0] = 50;
                     all_.balance[1] = 150;
                 })
                .value();
        }).join();
    }

private:
    test::test_pool<Engine>& pool_;
    accounts<Engine>& all_;
    bool has_run_ = false;
};

TYPED_TEST(CcHtm, AConflictDestroysWhatTheFunctionMade) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    meddler<TypeParam> other(pool, all);
    int made = 0, destroyed = 0;
    struct counted {
        int& destroyed;
        ~counted() { ++destroyed; }
    };
    const std::uint64_t seen = pool->atomically([&] {
                                       ++made;
                                       const counted local{destroyed};
                                       const std::uint64_t first = all.balance[0];
                                       other.once();
                                       return first + all.balance[1];
                                   })
                                   .value();
    EXPECT_EQ(seen, 200u);
    EXPECT_EQ(made, 2);
    EXPECT_EQ(destroyed, 2);
}

TYPED_TEST(CcHtm, AConflictThatIsSwallowedIsRunAgain) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    meddler<TypeParam> other(pool, all);
    int attempts = 0;
    pool->atomically([&] {
            ++attempts;
            try {
                const std::uint64_t first = all.balance[0];
                other.once();
                all.balance[2] = first + all.balance[1];
            } catch (...) {
                all.balance[2] = 7;
            }
        })
        .value();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(all.balance[2], 200u);
}

TYPED_TEST(CcHtm, ADestructorMayLoadWhileAConflictUnwinds) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    meddler<TypeParam> other(pool, all);
    struct reader {
        accounts<TypeParam>& all;
        ~reader() { all.balance[5] = all.balance[0] + all.balance[1]; }
    };
    pool->atomically([&] {
            const reader local{all};
            const std::uint64_t first = all.balance[0];
            other.once();
            all.balance[6] = first + all.balance[1];
        })
        .value();
    EXPECT_EQ(all.balance[5], 200u);
    EXPECT_EQ(all.balance[6], 200u);
}

TYPED_TEST(CcHtm, ActionsOfAnAttemptThatMetAConflictDoNotRun) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    meddler<TypeParam> other(pool, all);
    int committed = 0, aborted = 0;
    pool->atomically([&] {
            TypeParam::on_commit([&] { ++committed; });
            TypeParam::on_abort([&] { ++aborted; });
            const std::uint64_t first = all.balance[0];
            other.once();
            all.balance[6] = first + all.balance[1];
        })
        .value();
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(aborted, 0);
}

TYPED_TEST(CcHtm, NestedCallsJoinAndLocksMayBeGiven) {
    test::test_pool<TypeParam> pool;
    this->fill(pool);
    auto& all = this->root_of(pool);
    std::mutex outer, inner;
    pool->atomically(outer, [&] {
            this->transfer(all, 1, 2);
            pool->atomically(inner, [&] { this->transfer(all, 2, 3); }).value();
            EXPECT_EQ(all.transfers, 2u);
        })
        .value();
    EXPECT_TRUE(outer.try_lock());
    EXPECT_TRUE(inner.try_lock());
    outer.unlock();
    inner.unlock();
}

TYPED_TEST(CcHtm, ALargeTransactionGoesThroughTheLogInParts) {
    test::test_pool<TypeParam> pool({.bytes = 4 << 20, .log_bytes = 256 << 10});
    this->fill(pool);
    auto& all = this->root_of(pool);
    basic_field<TypeParam, std::uint64_t>* words = nullptr;
    constexpr std::size_t count = 4000;
    for (std::uint64_t round = 1; round <= 5; ++round) {
        pool->atomically([&] {
                if (words == nullptr)
                    words = reinterpret_cast<basic_field<TypeParam, std::uint64_t>*>(TypeParam::allocate(count * 8));
                for (std::size_t i = 0; i < count; ++i) words[i] = round * i;
                all.balance[0] = reinterpret_cast<std::uint64_t>(words);
            })
            .value();
    }
    pool.kill();
    auto& found = this->root_of(pool);
    words = reinterpret_cast<basic_field<TypeParam, std::uint64_t>*>(found.balance[0].get());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(words[i].get(), 5 * i);
}

TYPED_TEST(CcHtm, OnAFileOnlyOneOfManyCommitsWaitsForASync) {
    test::test_pool<TypeParam> pool({.durability = level::lag, .directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private()) << "the working directory is on no ordinary file system";
    this->fill(pool);
    auto& all = this->root_of(pool);
    const persist::counters before = persist::thread_counters();
    for (int i = 0; i < 1000; ++i) pool->atomically([&] { this->transfer(all, 1, 2); }).value();
    const persist::counters spent = persist::thread_counters() - before;
    EXPECT_GE(spent.syncs, 1000u / 129);
    EXPECT_LE(spent.syncs, 20u);
    pool.set_level(level::power);
    pool.reopen();
    EXPECT_EQ(this->root_of(pool).transfers, 1000u);
    const persist::counters strict = persist::thread_counters();
    pool->atomically([&] { this->transfer(this->root_of(pool), 1, 2); }).value();
    EXPECT_GE((persist::thread_counters() - strict).syncs, 1u);
    pool.kill();
    EXPECT_EQ(this->root_of(pool).transfers, 1001u);
}

}  // namespace
}  // namespace holdfast
