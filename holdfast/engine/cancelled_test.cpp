// Threads that are cancelled, or exit, while they have transactions: what they had not committed is taken back, what
// they had begun to commit is committed, and the pool goes on.
#include <holdfast/engine/engine_test_support.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
struct counters {
    typename Engine::template field<std::uint64_t> first, second;
    typename Engine::template field<std::uint64_t> more[200];
};

template <class Engine>
class Cancelled : public ::testing::Test {};
TYPED_TEST_SUITE(Cancelled, recovering_engines);

/// What a thread that runs `f` returns when it is cancelled once `reached` is true.
template <class F>
void* cancel_once(const std::atomic<bool>& reached, unsigned delay_us, F& f) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, nullptr, [](void* function) -> void* {
        (*static_cast<F*>(function))();
        return nullptr;
    }, &f), 0);
    while (!reached) ::usleep(50);
    ::usleep(delay_us);
    EXPECT_EQ(pthread_cancel(thread), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    return result;
}

template <class Engine>
std::vector<pool_setup> places() {
    // The smallest log: commits wait for room in it.
    std::vector<pool_setup> all{{.log_bytes = 64 << 10}};
    if (Engine::description.power_on_files) all.push_back({.log_bytes = 64 << 10, .directory = "."});
    return all;
}

TYPED_TEST(Cancelled, InACommitItIsCommittedAndThePoolGoesOn) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* words = pool->template root<counters<TypeParam>>("counters").value();
        std::uint64_t acknowledged = 0;
        for (unsigned round = 0; round < 20; ++round) {
            std::mutex lock;
            std::atomic<bool> reached = false;
            auto count = [&] {
                for (;;) {
                    const auto done = pool->atomically(lock, [&] {
                        ++words->first;
                        for (auto& each : words->more) each = words->first.get();
                        ++words->second;
                    });
                    if (!done) return;
                    ++acknowledged;
                    reached = true;
                    pthread_testcancel();
                }
            };
            ASSERT_EQ(cancel_once(reached, round * 37, count), PTHREAD_CANCELED);
            ASSERT_TRUE(lock.try_lock()) << "the locks are released";
            lock.unlock();
            ASSERT_EQ(words->first, acknowledged) << "round " << round;
            ASSERT_EQ(words->second, acknowledged);
        }
        pool.kill();
        words = pool->template root<counters<TypeParam>>("counters").value();
        EXPECT_EQ(words->first, acknowledged);
        EXPECT_EQ(words->more[199], acknowledged);
    }
}

TYPED_TEST(Cancelled, InAnActionAllActionsRun) {
    test_pool<TypeParam> pool;
    std::mutex lock;
    std::atomic<bool> reached = false, may_go_on = false;
    std::string told;
    auto act = [&] {
        static_cast<void>(pool->atomically(lock, [&] {
            TypeParam::on_commit([&] {
                reached = true;
                while (!may_go_on) ::usleep(50);
                ::usleep(1);
                told += "one ";
            });
            TypeParam::on_commit([&] { told += "two"; });
        }));
        for (;;) ::usleep(50);
    };
    std::thread other([&] {
        while (!reached) ::usleep(50);
        ::usleep(1000);
        may_go_on = true;
    });
    ASSERT_EQ(cancel_once(reached, 0, act), PTHREAD_CANCELED);
    other.join();
    EXPECT_EQ(told, "one two");
}

TYPED_TEST(Cancelled, InTheFunctionItIsTakenBack) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* words = pool->template root<counters<TypeParam>>("counters").value();
        std::mutex lock;
        std::atomic<bool> reached = false;
        auto wait = [&] {
            static_cast<void>(pool->atomically(lock, [&] {
                words->first = 7;
                reached = true;
                for (;;) ::usleep(100);
                words->second = 7;
            }));
        };
        ASSERT_EQ(cancel_once(reached, 0, wait), PTHREAD_CANCELED);
        EXPECT_EQ(words->first, 0u);
        ASSERT_TRUE(pool->atomically(lock, [&] { words->second = 1; }));
        pool.kill();
        words = pool->template root<counters<TypeParam>>("counters").value();
        EXPECT_EQ(words->first, 0u);
        EXPECT_EQ(words->second, 1u);
    }
}

}  // namespace
}  // namespace holdfast
