// cc_htm with locks that nested calls name: they are never waited for, since others may wait for the transaction.
#include <holdfast/engine/cc_htm_counters_test.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using test::counters;

template <class Engine>
class CcHtmLocks : public test::cc_htm_counters<Engine> {};
TYPED_TEST_SUITE(CcHtmLocks, cc_htm_variants, cc_htm_variant_names);

TYPED_TEST(CcHtmLocks, ALockOfANestedCallIsNotWaitedForWithOthersWaiting) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    std::mutex lock;
    const auto add = [&] { all.values[0] = all.values[0] + 1; };
    constexpr int rounds = 300;
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) pool->atomically(lock, add).value();
    });
    for (int i = 0; i < rounds; ++i)
        pool->atomically([&] {
                all.values[1] = all.values[1] + 1;
                all.values[0] = all.values[0] + 1;
                pool->atomically(lock, add).value();
            })
            .value();
    other.join();
    EXPECT_EQ(all.values[0].get(), 3u * rounds);
}

/// Another thread that has the lock may wait for this transaction, which may be alone.
TYPED_TEST(CcHtmLocks, ALockOfANestedCallIsNotWaitedForInADestructorEither) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    std::mutex lock;
    std::atomic<int> runs{0};
    std::atomic<bool> is_held{false};
    std::thread other([&] {
        const std::lock_guard held(lock);
        is_held = true;
        constexpr int most_waits = 2000;
        for (int i = 0; i < most_waits && runs < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    while (!is_held) std::this_thread::yield();
    struct at_end {
        test::test_pool<TypeParam>& pool;
        counters<TypeParam>& all;
        std::mutex& lock;
        std::atomic<int>& runs;
        ~at_end() noexcept(false) {
            pool->atomically([&] {
                    // A processor's transaction would forget the count: a system call sends it to the fallback.
                    std::this_thread::yield();
                    ++runs;
                    pool->atomically(lock, [&] { all.values[0] = 1u; }).value();
                })
                .value();
        }
    };
    try {
        const at_end last{pool, all, lock, runs};
        throw 1;
    } catch (int) {
    }
    other.join();
    EXPECT_GE(runs, 3) << "it waited, and ran once";
    EXPECT_EQ(all.values[0].get(), 1u);
}

TYPED_TEST(CcHtmLocks, ThreadsThatTakeLocksInDifferentOrderComeThrough) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    std::array<std::mutex, 2> locks;
    constexpr std::uint64_t threads = 3, each = 300;
    std::vector<std::thread> running;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < each; ++i) {
                std::mutex& outer = locks[(thread + i) % 2];
                std::mutex& inner = locks[(thread + i + 1) % 2];
                pool->atomically(outer, [&] {
                        all.values[0] = all.values[0] + 1;
                        pool->atomically(inner, [&] { all.values[1] = all.values[1] + 1; }).value();
                    })
                    .value();
            }
        });
    for (std::thread& thread : running) thread.join();
    EXPECT_EQ(all.values[0].get(), threads * each);
    EXPECT_EQ(all.values[1].get(), threads * each);
}

/// Another thread that has a lock, and waits for this one's transaction to end.
template <class Engine>
class lock_holder {
public:
    explicit lock_holder(test::test_pool<Engine>& pool)
        : pool_(pool), thread_([this] { run(); }) {}
    ~lock_holder() { thread_.join(); }

    std::mutex& lock() { return lock_; }
    /// From a transaction, once it runs: the lock is held when this returns. (A system call: over hardware the
    /// transaction runs alone from here on.)
    void begin() {
        std::this_thread::yield();
        is_wanted_ = true;
        while (!is_held_) std::this_thread::yield();
    }
    /// The transaction was refused the lock: no need to hold it any longer.
    void let_go() { is_over_ = true; }

private:
    void run() {
        while (!is_wanted_) std::this_thread::yield();
        const std::lock_guard held(lock_);
        is_held_ = true;
        pool_->atomically([] {}).value();
        // Over software it did not wait.
        constexpr int most_waits = 2000;
        for (int i = 0; i < most_waits && !is_over_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    test::test_pool<Engine>& pool_;
    std::mutex lock_;
    std::atomic<bool> is_wanted_{false}, is_held_{false}, is_over_{false};
    std::thread thread_;
};

TYPED_TEST(CcHtmLocks, BehindAnExceptionALockOfANestedCallIsNotWaitedFor) {
    test::test_pool<TypeParam> pool;
    auto& all = this->root_of(pool);
    int refused = 0;
    {
        lock_holder<TypeParam> other(pool);
        struct at_end {
            test::test_pool<TypeParam>& pool;
            counters<TypeParam>& all;
            lock_holder<TypeParam>& other;
            int& refused;
            ~at_end() {
                if (pool->atomically(other.lock(), [&] { all.values[0] = 1u; })) return;
                ++refused;
                other.let_go();
            }
        };
        EXPECT_THROW(static_cast<void>(pool->atomically([&] {
                         const at_end last{pool, all, other, refused};
                         all.values[1] = 1u;
                         other.begin();
                         throw 1;
                     })),
                     int);
    }
    EXPECT_GE(refused, 1) << "it waited";
    EXPECT_EQ(all.values[0].get(), 0u);
    EXPECT_EQ(all.values[1].get(), 0u);
}

/// Its destructor must not throw, and joins under a lock.
template <class Engine>
struct locking {
    inline static test::test_pool<Engine>* pool = nullptr;
    inline static lock_holder<Engine>* other = nullptr;
    inline static int refused = 0;
    basic_field<Engine, std::uint64_t> value;
    ~locking() {
        if ((*pool)->atomically(other->lock(), [&] { value = 2u; })) return;
        ++refused;
        other->let_go();
    }
};

TYPED_TEST(CcHtmLocks, ADestructorThatMustNotThrowDoesNotWaitForALock) {
    test::test_pool<TypeParam> pool;
    locking<TypeParam>* doomed = nullptr;
    pool->atomically([&] { doomed = TypeParam::template make<locking<TypeParam>>(); }).value();
    lock_holder<TypeParam> other(pool);
    locking<TypeParam>::pool = &pool;
    locking<TypeParam>::other = &other;
    locking<TypeParam>::refused = 0;
    pool->atomically([&] {
            doomed->value = 1u;
            other.begin();
            TypeParam::destroy(doomed);
        })
        .value();
    EXPECT_GE(locking<TypeParam>::refused, 1) << "it waited";
}

}  // namespace
}  // namespace holdfast
