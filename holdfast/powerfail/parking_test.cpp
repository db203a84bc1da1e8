// Threads are stopped wherever they are, and none is taken for stopped that runs.
#include <holdfast/base/test_sanitizer.hpp>
#include <holdfast/powerfail/parking.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes patience{10};

class Parking : public ::testing::Test {
protected:
    Parking() { parking::prepare(); }
    void SetUp() override {
        if (persist::test::emulated()) GTEST_SKIP() << "an emulator's own threads cannot be stopped";
    }
};

/// Threads that run `step` again and again until this is destroyed.
class running_threads {
public:
    running_threads(unsigned count, std::function<void()> step) {
        for (unsigned i = 0; i < count; ++i)
            threads_.emplace_back([this, step] {
                while (!ends_.load()) {
                    step();
                    steps_.fetch_add(1);
                }
            });
    }
    ~running_threads() {
        ends_ = true;
        for (auto& each : threads_) each.join();
    }
    std::uint64_t steps() const { return steps_.load(); }
    void wait_for_more() const {
        const std::uint64_t wanted = steps() + 10;
        while (steps() < wanted) std::this_thread::yield();
    }

private:
    std::atomic<bool> ends_{false};
    std::atomic<std::uint64_t> steps_{0};
    std::vector<std::thread> threads_;
};

void let_others_run() {
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
}

TEST_F(Parking, AllOthersStandStillUntilTheyAreReleased) {
    const running_threads others(6, [] {});
    for (int round = 0; round < 20; ++round) {
        others.wait_for_more();
        ASSERT_TRUE(parking::stop(patience));
        const std::uint64_t before = others.steps();
        let_others_run();
        EXPECT_EQ(others.steps(), before);
        EXPECT_GE(parking::count(), 6u);
        parking::release();
    }
    others.wait_for_more();
}

TEST_F(Parking, ThreadsThatBeginAndEndMeanwhileStandStillToo) {
#ifdef HOLDFAST_TEST_SANITIZES_THREADS
    GTEST_SKIP() << "a sanitizer: threads begin with signals blocked, and wait for a lock that parked ones have";
#endif
    std::atomic<std::uint64_t> stores{0};
    const running_threads others(3, [&] { std::thread([&] { stores.fetch_add(1); }).join(); });
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(parking::stop(patience));
        const std::uint64_t before = stores.load();
        let_others_run();
        EXPECT_EQ(stores.load(), before);
        parking::release();
    }
    others.wait_for_more();
}

TEST_F(Parking, AThreadThatBlocksTheSignalIsNotTakenForStoppedAndAllRunOn) {
    std::atomic<bool> blocks{false};
    std::atomic<bool> ends{false};
    std::thread other([&] {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        blocks = true;
        while (!ends.load()) std::this_thread::yield();
        // The signal of the round that is over is delivered here, and the thread does not wait.
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    });
    while (!blocks.load()) std::this_thread::yield();
    {
        const running_threads others(2, [] {});
        EXPECT_FALSE(parking::stop(milliseconds{20}));
        others.wait_for_more();
    }
    ends = true;
    other.join();
    EXPECT_TRUE(parking::stop(patience));
    parking::release();
}

TEST_F(Parking, AThreadThatWaitsInTheKernelIsStoppedAndWaitsOn) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    char read = 0;
    std::thread other([&] { EXPECT_EQ(::read(ends[0], &read, 1), 1); });
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(parking::stop(patience));
        EXPECT_GE(parking::count(), 1u);
        parking::release();
    }
    ASSERT_EQ(::write(ends[1], "a", 1), 1);
    other.join();
    EXPECT_EQ(read, 'a');
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(Parking, AProcessWhoseFirstThreadHasEndedIsStopped) {
    const int status = persist::test::run_in_child([]() -> int {
        parking::prepare();
        std::thread([] {
            // Until the first thread is one that has ended, and still listed.
            std::this_thread::sleep_for(milliseconds{20});
            ::_exit(parking::stop(patience) ? 3 : 4);
        }).detach();
        // No pthread_exit: that unwinds the frames of the test.
        ::syscall(SYS_exit, 0);
        return 5;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 3)) << status;
}

}  // namespace
}  // namespace holdfast::powerfail
