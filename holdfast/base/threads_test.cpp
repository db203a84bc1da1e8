#include <holdfast/base/threads.hpp>

#include <gtest/gtest.h>

#include <sched.h>

namespace holdfast {
namespace {

TEST(Threads, OneThatIsPinnedMayRunOnOneProcessor) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(processors_of_this_thread(), static_cast<unsigned>(CPU_COUNT(&before)));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(processors_of_this_thread(), 1u);
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Threads, OneWithoutSignalsBlocksAllButTheOneThatParksAndItsStarterBlocksWhatItDidBefore) {
    sigset_t before, after, in_it;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    std::thread started = start_without_signals([&] { pthread_sigmask(SIG_SETMASK, nullptr, &in_it); });
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    ASSERT_TRUE(started.joinable());
    started.join();
    EXPECT_EQ(sigismember(&in_it, signal_that_parks()), 0);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF}) {
        EXPECT_EQ(sigismember(&in_it, signal), 1) << signal;
        EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
    }
}

}  // namespace
}  // namespace holdfast
