// The lock of combining.hpp: its chain, its publication list, and threads that are on both.
#include <holdfast/engine/engine_test_support.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;
using detail::publication_record;
using detail::waiting_thread;
using answer = waiting_thread::answer;

/// The test's thread holds the lock. A caller is a thread that posts a request and then waits.
class CombiningMutex : public testing::Test {
protected:
    CombiningMutex() { lock_.lock(); }

    void call() {
        const std::size_t waiting = lock_.waiting();
        threads_.emplace_back([this] {
            waiting_thread self(&where_);
            const bool leads = lock_.lock_or_publish(self, {});
            if (leads) {
                ++led_;
                lock_.unlock();
            } else {
                ++(self.answered() == answer::committed ? committed_ : served_);
            }
        });
        // It posts first.
        while (lock_.waiting() == waiting) std::this_thread::yield();
    }
    publication_record* take_published(const void* where) {
        lock_.look_at_records();
        return lock_.take_published(where);
    }
    void join() {
        for (std::thread& each : threads_) each.join();
        threads_.clear();
    }
    ~CombiningMutex() override {
        join();
        EXPECT_TRUE(lock_.try_lock()) << "nobody holds it or waits";
        EXPECT_EQ(take_published(&where_), nullptr);
        lock_.unlock();
    }

    combining_mutex lock_;
    char where_ = 0;
    char elsewhere_ = 0;
    std::vector<std::thread> threads_;
    std::atomic<int> led_{0};
    std::atomic<int> committed_{0};
    std::atomic<int> served_{0};
};

TEST_F(CombiningMutex, AThreadOnTheChainWhoseRecordHasTheAnswerIsTakenOffByTheRelease) {
    call();
    publication_record* const record = take_published(&where_);
    ASSERT_NE(record, nullptr);
    record->give(answer::committed);
    lock_.unlock();
    join();
    EXPECT_EQ(committed_, 1);
}

TEST_F(CombiningMutex, AThreadIsAnsweredItselfIfItIsTakenOffTheChainWhileItsCallRuns) {
    call();
    publication_record* const record = take_published(&where_);
    ASSERT_NE(record, nullptr);
    waiting_thread& request = record->request();
    EXPECT_EQ(lock_.take_waiting(&where_), nullptr) << "its call runs already";
    EXPECT_FALSE(record->is_taken());
    lock_.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(committed_ + served_ + led_, 0);
    request.give(answer::served);
    join();
    EXPECT_EQ(served_, 1);
}

TEST_F(CombiningMutex, ACallThatWasTakenFromTheChainIsNotPostedAnyMore) {
    call();
    lock_.look_at_records();
    waiting_thread* const waiting = lock_.take_waiting(&where_);
    ASSERT_NE(waiting, nullptr);
    EXPECT_EQ(lock_.take_published(&where_), nullptr) << "though it was posted when the holder looked";
    EXPECT_EQ(take_published(&where_), nullptr);
    lock_.unlock();
    waiting->give(answer::committed);
    join();
    EXPECT_EQ(committed_, 1);
}

TEST_F(CombiningMutex, WhoGetsTheLockHasNoRequestPosted) {
    call();
    lock_.unlock();
    join();
    EXPECT_EQ(led_, 1);
}

TEST_F(CombiningMutex, ARequestForAnotherPoolStaysPosted) {
    call();
    EXPECT_EQ(take_published(&elsewhere_), nullptr);
    publication_record* const record = take_published(&where_);
    ASSERT_NE(record, nullptr);
    record->give(answer::served);
    lock_.unlock();
    join();
    EXPECT_EQ(served_, 1);
}

TEST_F(CombiningMutex, ARecordThatTheGroupBeforeAnsweredIsLeftOutOnce) {
    const auto answer_published = [&] {
        int count = 0;
        for (; publication_record* const each = lock_.take_published(&where_); ++count) each->give(answer::committed);
        return count;
    };
    // Threads are numbered: all records are in use.
    for (int caller = 0; caller < 8; ++caller) call();
    lock_.look_at_records();
    EXPECT_EQ(answer_published(), 8);
    lock_.unlock();
    join();
    lock_.lock();
    for (int caller = 0; caller < 8; ++caller) call();
    lock_.look_at_records();
    EXPECT_EQ(answer_published(), 0);
    lock_.look_at_records();
    EXPECT_EQ(answer_published(), 8);
    lock_.unlock();
    join();
    EXPECT_EQ(committed_, 16);
}

TEST_F(CombiningMutex, ThreadsThatFindTheirRecordTakenWaitOnTheChain) {
    constexpr int callers = 20;
    for (int caller = 0; caller < callers; ++caller) call();
    EXPECT_EQ(lock_.waiting(), std::size_t{callers});
    while (waiting_thread* const each = lock_.take_waiting(&where_)) each->give(answer::committed);
    lock_.unlock();
    join();
    EXPECT_EQ(committed_, callers);
}

TEST_F(CombiningMutex, AForkedChildForgetsWhatIsPosted) {
    call();
    combining_mutex& in_child = lock_;
    waiting_thread* const parents = in_child.take_waiting(&where_);
    ASSERT_NE(parents, nullptr);
    call();
    in_child.look_at_records();
    publication_record* const record = in_child.take_published(&where_);
    ASSERT_NE(record, nullptr);
    waiting_thread& request = record->request();
    in_child.forget_waiting();
    EXPECT_EQ(in_child.waiting(), 0u);
    EXPECT_FALSE(record->is_taken());
    EXPECT_EQ(take_published(&where_), nullptr);
    lock_.unlock();
    parents->give(answer::served);
    request.give(answer::served);
    join();
    EXPECT_EQ(served_, 2);
}

TEST_F(CombiningMutex, ThreadsThatSleepAreWokenByTheAnswer) {
    for (int caller = 0; caller < 12; ++caller) call();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (publication_record* const each = take_published(&where_)) each->give(answer::committed);
    lock_.unlock();
    join();
    EXPECT_EQ(committed_ + led_, 12);
}

struct words {
    redo::field<std::uint64_t> values[2];
};

/// Two threads with short calls: one that waits has posted, and is answered before it goes to sleep.
class CombiningList : public testing::Test {
protected:
    template <class F>
    void run_two(F&& f) {
        std::latch start(2);
        const auto run = [&](unsigned thread) {
            start.arrive_and_wait();
            f(thread);
        };
        std::thread other([&] { run(1); });
        run(0);
        other.join();
    }

    test_pool<redo> pool_{{.bytes = 8 << 20}};
    words* data_ = pool_->root<words>("words").value();
    combining_mutex lock_;
};

/// Takes its time to release, in which its owner must not be answered.
class slow_mutex {
public:
    void lock() { mutex_.lock(); }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(2);
        while (std::chrono::steady_clock::now() < end) {
        }
        mutex_.unlock();
    }

private:
    std::mutex mutex_;
};

TEST_F(CombiningList, ACallerIsAnsweredWhenTheLocksThatItsFunctionTookAreReleased) {
    // A group ends after a function that took a lock, so that the other thread must lead.
    std::atomic<bool> is_over{false};
    run_two([&](unsigned thread) {
        while (thread == 0 && !is_over) EXPECT_TRUE(pool_->atomically(lock_, [&] { ++data_->values[0]; }));
        for (int round = 0; thread == 1 && round < 5000; ++round) {
            slow_mutex own;
            EXPECT_TRUE(pool_->atomically(lock_, [&] {
                EXPECT_TRUE(pool_->atomically(own, [&] { ++data_->values[1]; }));
            }));
            EXPECT_TRUE(own.try_lock());
            own.unlock();
        }
        is_over = true;
    });
    EXPECT_EQ(data_->values[1].get(), 5000u);
}

TEST_F(CombiningList, CallsThatArePostedShareFences) {
    constexpr std::uint64_t times = 20'000;
    std::atomic<std::uint64_t> fences{0};
    std::uint64_t rounds = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
        fences = 0;
        ++rounds;
        run_two([&](unsigned thread) {
            const persist::counters before = persist::thread_counters();
            for (std::uint64_t i = 0; i < times; ++i)
                EXPECT_TRUE(pool_->atomically(lock_, [&] {
                    ++data_->values[thread];
                    // With the lock held, so that the other thread finds it so also where there is one processor.
                    if (i % 100 == 0) std::this_thread::yield();
                }));
            fences += (persist::thread_counters() - before).fences;
        });
    } while (fences >= 2 * times && std::chrono::steady_clock::now() < end);
    EXPECT_EQ(data_->values[0].get() + data_->values[1].get(), rounds * 2 * times);
    EXPECT_LT(fences, 2 * times);
}

TEST_F(CombiningList, FunctionsThatFailAreTakenBackAloneAndTheirCallersTold) {
    std::atomic<std::uint64_t> committed{0};
    std::atomic<std::uint64_t> actions{0};
    run_two([&](unsigned thread) {
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            const auto caller = std::this_thread::get_id();
            const auto done = pool_->atomically(lock_, [&, caller]() -> result<std::uint64_t> {
                ++data_->values[thread];
                if (i % 3 == 0) redo::on_commit([&, caller] { actions += caller == std::this_thread::get_id(); });
                if (i % 4 == thread) return error{.code = errc::busy, .what = "no"};
                return i;
            });
            ASSERT_EQ(done.has_value(), i % 4 != thread);
            if (done) {
                ASSERT_EQ(*done, i);
            }
            committed += done ? 1 : 0;
        }
    });
    EXPECT_EQ(data_->values[0].get() + data_->values[1].get(), committed);
    EXPECT_EQ(committed, 15'000u);
    EXPECT_EQ(actions, 5'001u);
}

}  // namespace
}  // namespace holdfast
