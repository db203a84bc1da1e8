// cc_htm with the rest of a pool: fence, barrier, growth, copies, and what it refuses.
#include <holdfast/engine/cc_htm_counters_test.hpp>

#include <holdfast/log/lanes.hpp>
#include <holdfast/log/retirement.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast {
namespace {

using test::counters;

template <class Engine>
class CcHtmPool : public test::cc_htm_counters<Engine> {};
TYPED_TEST_SUITE(CcHtmPool, cc_htm_variants, cc_htm_variant_names);

TYPED_TEST(CcHtmPool, AFenceBringsEverythingHomeThatHasReturned) {
    test::test_pool<TypeParam> pool({.durability = level::lag});
    auto& all = this->root_of(pool);
    for (std::uint64_t i = 0; i < 50; ++i) this->add(pool, all, i);
    retirement& queue = *pool->core().retiring();
    EXPECT_LT(queue.retired(), pool->core().lanes()->last_sequence());
    pool->fence().value();
    EXPECT_EQ(queue.retired(), queue.prefix());
}

TYPED_TEST(CcHtmPool, AtABarrierNoTransactionCommitsAndTheMediumHasWhatIsSeen) {
    for (const char* directory : {"/dev/shm", "."}) {
        test::test_pool<TypeParam> pool({.durability = level::lag, .directory = directory});
        auto& all = this->root_of(pool);
        std::atomic<bool> stop{false};
        std::thread other([&] {
            for (std::uint64_t i = 0; !stop; ++i) this->add(pool, all, i);
        });
        std::uint64_t last = 0;
        for (int i = 0; i < 20; ++i) {
            pool->barrier([&] {
                    const std::uint64_t before = this->sum_if_equal(all);
                    std::this_thread::yield();
                    EXPECT_EQ(this->sum_if_equal(all), before);
                    EXPECT_GE(before, last);
                    last = before;
                })
                .value();
        }
        stop = true;
        other.join();
        this->sum_if_equal(all);
    }
}

TYPED_TEST(CcHtmPool, FenceAndBarrierInsideATransactionAreMisuse) {
    test::test_pool<TypeParam> pool;
    pool->atomically([&] {
            EXPECT_EQ(pool->fence().error().code, errc::misuse);
            EXPECT_EQ(pool->barrier([] {}).error().code, errc::misuse);
        })
        .value();
}

TYPED_TEST(CcHtmPool, PrivateMemoryIsReportedAndGivenBackAtABarrier) {
    test::test_pool<TypeParam> pool({.durability = level::lag});
    auto& all = this->root_of(pool);
    this->add(pool, all, 1);
    pool->fence().value();
    EXPECT_EQ(pool->info().private_bytes > 0, TypeParam::aliases == aliases_in::pages);
    pool->barrier([] {}).value();
    EXPECT_EQ(pool->info().private_bytes, 0u);
    this->add(pool, all, 1);
    EXPECT_EQ(this->sum_if_equal(all), 2u);
}

TYPED_TEST(CcHtmPool, ItGrowsAndIsCopiedWhileThreadsCommit) {
    test::test_pool<TypeParam> pool({.durability = level::lag});
    auto& all = this->root_of(pool);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (std::uint64_t i = 0; !stop; ++i) this->add(pool, all, i);
    });
    pool->grow(2 << 20).value();
    pool->snapshot(pool.file("copy")).value();
    pool->atomically([&] {
            auto* const block = TypeParam::template make<const std::uint64_t>(7u);
            all.values[255] = all.values[255];
            TypeParam::destroy(block);
        })
        .value();
    stop = true;
    other.join();
    const std::uint64_t last = this->sum_if_equal(all);
    pool.replace_by(pool.file("copy"));
    EXPECT_LE(this->sum_if_equal(this->root_of(pool)), last);
}

TYPED_TEST(CcHtmPool, ManyThreadsShareAnOverfullLog) {
    test::test_pool<TypeParam> pool(
        {.durability = level::lag, .log_bytes = 64 << 10, .lag = {.commits = 2, .backlog = 1}});
    auto& all = this->root_of(pool);
    constexpr std::uint64_t threads = 40, each = 100;
    std::vector<std::thread> running;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < each; ++i) this->add(pool, all, thread + i);
        });
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(this->sum_if_equal(all), threads * each);
    pool.kill();
    EXPECT_EQ(this->sum_if_equal(this->root_of(pool)), threads * each);
}

TYPED_TEST(CcHtmPool, RetiringByAThreadLosesNothing) {
    test::test_pool<TypeParam> pool({.durability = level::power, .lag = {.backlog = 4, .retire = retiring::by_thread}});
    auto& all = this->root_of(pool);
    for (std::uint64_t i = 0; i < 2000; ++i) this->add(pool, all, i);
    pool.kill();
    EXPECT_EQ(this->sum_if_equal(this->root_of(pool)), 2000u);
}

/// Its destructor must not throw, and loads.
template <class Engine>
struct careful {
    using counter = basic_field<Engine, std::uint64_t>;
    basic_field<Engine, counter*> counts;
    ~careful() {
        if (counter* const mine = counts) *mine = *mine + 1;
    }
};

TYPED_TEST(CcHtmPool, ADestructorThatMustNotThrowOutlivesAConflict) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    static_assert(std::is_nothrow_destructible_v<careful<TypeParam>>);
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    careful<TypeParam>* kept = nullptr;
    pool->atomically([&] {
            kept = TypeParam::template make<careful<TypeParam>>();
            kept->counts = &all.values[0];
        })
        .value();
    int attempts = 0;
    pool->atomically([&] {
            const std::uint64_t before = all.values[1];
            if (++attempts == 1) std::thread([&] { this->add(pool, all, 0); }).join();
            TypeParam::destroy(kept);
            all.values[2] = before + 1;
        })
        .value();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(all.values[0].get(), 2u);
    EXPECT_EQ(all.values[2].get(), 2u);
}

TYPED_TEST(CcHtmPool, TwoTransactionsThatFreeOneBlockAreAConflict) {
    if constexpr (waits_alone<TypeParam>) GTEST_SKIP() << "a function that starts a thread runs alone";
    test::test_pool<TypeParam> pool;
    struct holder {
        basic_field<TypeParam, const std::uint64_t*> block;
    };
    auto& holds = *pool->template root<holder>("holder").value();
    pool->atomically([&] { holds.block = TypeParam::template make<const std::uint64_t>(1u); }).value();
    int attempts = 0;
    pool->atomically([&] {
            const std::uint64_t* const block = holds.block;
            if (++attempts == 1)
                std::thread([&] {
                    pool->atomically([&] {
                            TypeParam::deallocate(holds.block.get());
                            holds.block = nullptr;
                        })
                        .value();
                }).join();
            TypeParam::deallocate(block);
            holds.block = nullptr;
        })
        .value();
    EXPECT_EQ(attempts, 2);
    EXPECT_TRUE(pool.audit());
}

TYPED_TEST(CcHtmPool, FreeingABlockTwiceIsMisuse) {
    test::test_pool<TypeParam> pool;
    const auto twice = pool->atomically([&] {
        const auto* const block = TypeParam::template make<const std::uint64_t>(1u);
        TypeParam::deallocate(block);
        TypeParam::deallocate(block);
    });
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, errc::misuse);
}

/// A fork waits for a transaction that is alone, which asks meanwhile whether a field is in some pool.
TYPED_TEST(CcHtmPool, AForkDoesNotWaitForATransactionThatWaitsForIt) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    basic_field<TypeParam, std::uint64_t> outside;
    std::atomic<bool> is_open{false};
    std::thread other([&] {
        pool->atomically([&] {
                all.values[0] = 1u;
                is_open = true;
                // The other thread comes to its fork.
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                outside = 1u;
            })
            .value();
    });
    while (!is_open) std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(0);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    other.join();
    EXPECT_EQ(all.values[0].get(), 1u);
}

/// Two seconds: for one the block is believed to be another transaction's, in each of two calls.
TEST(CcHtmHeap, ABlockThatIsNotAllocatedIsRefusedInTheEnd) {
    test::test_pool<cc_htm> pool;
    std::uint64_t* block = nullptr;
    std::uint64_t* another = nullptr;
    pool->atomically([&] {
            block = reinterpret_cast<std::uint64_t*>(cc_htm::allocate(64));
            another = reinterpret_cast<std::uint64_t*>(cc_htm::allocate(64));
        })
        .value();
    pool->atomically([&] { cc_htm::deallocate(block); }).value();
    const auto free_both = [&](std::uint64_t* good) {
        return pool->atomically([&] {
            if (good != nullptr) cc_htm::deallocate(good);
            cc_htm::deallocate(block);
        });
    };
    for (std::uint64_t* const good : {static_cast<std::uint64_t*>(nullptr), another}) {
        const auto freed = free_both(good);
        ASSERT_FALSE(freed);
        EXPECT_EQ(freed.error().code, errc::misuse);
    }
    pool->atomically([&] { cc_htm::deallocate(another); }).value();
}

TYPED_TEST(CcHtmPool, TheFunctionOfABarrierMayNotCallItsPoolNorAnotherOfItsEngine) {
    test::test_pool<TypeParam> pool;
    test::test_pool<TypeParam> other({.order = 1});
    auto& all = this->root_of(pool);
    auto& elsewhere = this->root_of(other);
    const auto code_of = [](const auto& outcome) { return outcome ? errc{} : outcome.error().code; };
    bool has_run = false;
    pool->barrier([&] {
            has_run = true;
            EXPECT_EQ(code_of(pool->atomically([&] { all.values[0] = 1u; })), errc::misuse);
            EXPECT_EQ(code_of(pool->template root<counters<TypeParam>>("another")), errc::misuse);
            EXPECT_EQ(code_of(pool->fence()), errc::misuse);
            EXPECT_EQ(code_of(pool->barrier([] {})), errc::misuse);
            EXPECT_EQ(code_of(pool->checkpoint()), errc::misuse);
            EXPECT_EQ(code_of(pool->close()), errc::misuse);
            EXPECT_EQ(all.values[0].get(), 0u);
            EXPECT_EQ(code_of(other->atomically([&] { elsewhere.values[0] = 3u; })), errc::misuse);
            EXPECT_EQ(code_of(other->barrier([] {})), errc::misuse);
        })
        .value();
    EXPECT_TRUE(has_run);
    pool->atomically([&] { all.values[0] = 2u; }).value();
    EXPECT_EQ(all.values[0].get(), 2u);
    EXPECT_EQ(elsewhere.values[0].get(), 0u);
}

TYPED_TEST(CcHtmPool, AFieldOfAnotherPoolIsTheNewestInATransaction) {
    test::test_pool<TypeParam> pool;
    test::test_pool<TypeParam> other({.order = 1});
    auto& all = this->root_of(pool);
    auto& elsewhere = this->root_of(other);
    other->atomically([&] { elsewhere.values[0] = 42u; }).value();
    pool->atomically([&] { all.values[0] = elsewhere.values[0] + 1; }).value();
    EXPECT_EQ(all.values[0].get(), 43u);
}

}  // namespace
}  // namespace holdfast
