// The only thread with blocks runs their code without barriers, until a second one comes. Each test has a process of
// its own, from its start on.
#include <holdfast/itm/alone_blocks.hpp>
#include <holdfast/itm/itm.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace holdfast::itm {
namespace {

alignas(64) std::int64_t one = 0;
alignas(64) std::int64_t other = 0;

/// 2 where a block is irrevocable, and so alone; 1 where it is not.
int state_in_block() {
    int state = 0;
    __transaction_atomic {
        state = _ITM_inTransaction();
        ++one;
    }
    return state;
}

/// Before the runtime's own constructors, perhaps.
struct has_block_before_main {
    has_block_before_main() { state_in_block(); }
} const before_main;

/// 0 in code without barriers. Code with them calls the other one instead: 1.
int kind_of_code();
[[gnu::transaction_wrap(kind_of_code), gnu::transaction_pure]] int kind_of_code_with_barriers();
[[gnu::noinline]] int kind_of_code() {
    asm volatile("");  // otherwise it is a function that may be called anywhere
    return 0;
}
[[gnu::noinline, gnu::used]] int kind_of_code_with_barriers() { return 1; }

class OnlyThread : public testing::Test {
protected:
    static void SetUpTestSuite() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define EXPECT_IN_A_PROCESS_OF_ITS_OWN(what) EXPECT_EXIT(std::_Exit((what) ? 0 : 1), testing::ExitedWithCode(0), "")

TEST_F(OnlyThread, RunsItsBlocksAloneAlsoBehindThoseOfStaticConstructors) {
    EXPECT_IN_A_PROCESS_OF_ITS_OWN((state_in_block(), state_in_block() == 2) && one == 3);
}

TEST_F(OnlyThread, DoesNotWhereTheEnvironmentSaysSo) {
    setenv("HOLDFAST_BLOCKS_ALONE", "off", 1);
    EXPECT_IN_A_PROCESS_OF_ITS_OWN((state_in_block(), state_in_block() == 1));
    setenv("HOLDFAST_BLOCKS_ALONE", "on", 1);
    EXPECT_IN_A_PROCESS_OF_ITS_OWN((state_in_block(), state_in_block() == 2));
    unsetenv("HOLDFAST_BLOCKS_ALONE");
}

bool a_block_with_a_cancel_can_be_cancelled() {
    state_in_block();
    const std::int64_t before = one;
    int state = 0;
    __transaction_atomic {
        one = 7;
        state = _ITM_inTransaction();
        if (one == 7) __transaction_cancel;
    }
    return state == 0 && one == before;
}
TEST_F(OnlyThread, CanCancelABlock) { EXPECT_IN_A_PROCESS_OF_ITS_OWN(a_block_with_a_cancel_can_be_cancelled()); }

/// A block of its own, which takes back what it did where it is told so.
[[gnu::transaction_safe, gnu::noinline]] int add_or_not(bool keeps) {
    int kind = -1;
    __transaction_atomic {
        auto* const more = new std::int64_t(5);
        other += *more;
        kind = kind_of_code();
        delete more;
        if (!keeps) __transaction_cancel;
    }
    return kind;
}
[[gnu::transaction_safe, gnu::noinline]] int add_surely() {
    int kind = -1;
    __transaction_atomic {
        other += 100;
        kind = kind_of_code();
    }
    return kind;
}

bool blocks_inside_are_right() {
    state_in_block();
    int kinds[3] = {};
    std::int64_t in_between = 0;
    __transaction_atomic {
        one = 1;
        add_or_not(false);
        in_between = other;
        kinds[0] = add_or_not(true);
        kinds[1] = add_surely();
        kinds[2] = kind_of_code();
    }
    return in_between == 0 && other == 105 && one == 1 && kinds[0] == 1 && kinds[1] == 0 && kinds[2] == 0;
}
TEST_F(OnlyThread, RunsBlocksInsideWithoutBarriersAndCancelsThoseThatHaveACancel) {
    EXPECT_IN_A_PROCESS_OF_ITS_OWN(blocks_inside_are_right());
}

[[gnu::transaction_safe, gnu::noinline]] void throw_five() {
    one = 5;
    throw 5;
}
bool an_exception_commits() {
    state_in_block();
    try {
        __transaction_atomic { throw_five(); }
    } catch (int thrown) {
        return thrown == 5 && one == 5 && _ITM_inTransaction() == 0 && state_in_block() == 2;
    }
    return false;
}
TEST_F(OnlyThread, CommitsABlockThatAnExceptionLeaves) { EXPECT_IN_A_PROCESS_OF_ITS_OWN(an_exception_commits()); }

std::atomic<bool> is_inside{false}, second_is_inside{false};
std::atomic<int> seen_too_early{0};

[[gnu::transaction_pure, gnu::noinline]] void tell_and_wait() {
    is_inside = true;
    for (int i = 0; i < 50; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (second_is_inside) ++seen_too_early;
    }
}
[[gnu::transaction_pure, gnu::noinline]] void tell_second() { second_is_inside = true; }

bool a_second_thread_waits() {
    state_in_block();
    one = other = 0;
    std::int64_t found[2] = {};
    std::thread second([&] {
        while (!is_inside) std::this_thread::yield();
        __transaction_atomic {
            tell_second();
            found[0] = one;
            found[1] = other;
        }
    });
    __transaction_atomic {
        one = 1;
        tell_and_wait();
        other = 1;
    }
    second.join();
    return seen_too_early == 0 && found[0] == 1 && found[1] == 1 && state_in_block() == 1;
}
TEST_F(OnlyThread, EndsItsBlockBeforeASecondThreadBeginsOneAndIsTheOnlyOneNoMore) {
    EXPECT_IN_A_PROCESS_OF_ITS_OWN(a_second_thread_waits());
}

/// A second thread comes at some time, and both count.
bool nothing_is_lost(int round) {
    constexpr int rounds = 20'000;
    one = other = 0;
    std::atomic<int> unequal{0};
    const auto count = [&] {
        for (int i = 0; i < rounds; ++i) {
            bool equal = true;
            __transaction_atomic {
                equal = one == other;
                ++one;
                ++other;
            }
            if (!equal) ++unequal;
        }
    };
    std::thread second([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(round * 37 % 400));
        count();
    });
    count();
    second.join();
    return unequal == 0 && one == 2 * rounds && other == 2 * rounds;
}
TEST_F(OnlyThread, LosesNothingWhenASecondOneComes) {
    for (int round = 0; round < 20; ++round) EXPECT_IN_A_PROCESS_OF_ITS_OWN(nothing_is_lost(round));
}

[[gnu::transaction_pure, gnu::noinline]] void be_cancelled() {
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
bool a_cancellation_waits() {
    bool passed_block = false;
    std::thread only([&] {
        state_in_block();
        one = other = 0;
        __transaction_atomic {
            one = 1;
            be_cancelled();
            other = 1;
        }
        pthread_testcancel();
        passed_block = true;
    });
    only.join();
    return one == 1 && other == 1 && !passed_block;
}
TEST_F(OnlyThread, IsCancelledBehindItsBlock) { EXPECT_IN_A_PROCESS_OF_ITS_OWN(a_cancellation_waits()); }

[[gnu::transaction_pure, gnu::noinline]] void exit_thread() {
    if (one == 1) pthread_exit(nullptr);
}
void leave_half_a_block(bool exits) {
    state_in_block();
    one = other = 0;
    __transaction_atomic {
        one = 1;
        if (exits) exit_thread();
        else be_cancelled();
        other = 1;
    }
}
/// Nobody else can cancel it, so nothing is held; what it has done cannot be taken back.
TEST_F(OnlyThread, EndsTheProgramWhereItLeavesHalfABlock) {
    EXPECT_EXIT(leave_half_a_block(true), testing::KilledBySignal(SIGABRT), "runs alone");
    EXPECT_EXIT(leave_half_a_block(false), testing::KilledBySignal(SIGABRT), "runs alone");
}

int began = 0, ended = 0;
void do_nothing(void*) {}
[[gnu::transaction_pure, gnu::noinline]] void act_within() { _ITM_addUserCommitAction(do_nothing, 1, nullptr); }
void act_in_a_block(void*) {
    __transaction_atomic {
        ++other;
        act_within();
    }
}
void act_to_the_end(void*) {
    ++began;
    pthread_testcancel();
    ++ended;
}
[[gnu::transaction_pure, gnu::noinline]] void act_twice() {
    _ITM_addUserCommitAction(act_in_a_block, 1, nullptr);
    _ITM_addUserCommitAction(act_to_the_end, 1, nullptr);
    pthread_cancel(pthread_self());
}
bool actions_run_to_their_end() {
    bool passed = false;
    std::thread only([&] {
        state_in_block();
        __transaction_atomic {
            ++one;
            act_twice();
        }
        int state = PTHREAD_CANCEL_DISABLE;
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
        passed = state == PTHREAD_CANCEL_ENABLE;
        pthread_testcancel();
        passed = false;
    });
    only.join();
    return passed && began == 1 && ended == 1;
}
TEST_F(OnlyThread, IsCancelledBehindItsActionsTooWhichMayHaveBlocks) {
    EXPECT_IN_A_PROCESS_OF_ITS_OWN(actions_run_to_their_end());
}

bool a_child_goes_on_alone() {
    state_in_block();
    const pid_t child = fork();
    if (child == 0) std::_Exit(state_in_block() == 2 ? 0 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 && state_in_block() == 2;
}
TEST_F(OnlyThread, IsTheOnlyOneInAChildToo) { EXPECT_IN_A_PROCESS_OF_ITS_OWN(a_child_goes_on_alone()); }

std::int64_t forks_prepared, forks_of_parent, forks_of_child;
void count_prepared() { __transaction_atomic { ++forks_prepared; } }
void count_parent() { __transaction_atomic { ++forks_of_parent; } }
void count_child() { __transaction_atomic { ++forks_of_child; } }
/// Before the runtime's handlers, inside of which these run then.
[[gnu::constructor(150)]] void register_first() { pthread_atfork(count_prepared, count_parent, count_child); }

bool handlers_of_fork_may_have_blocks() {
    state_in_block();
    forks_prepared = forks_of_parent = forks_of_child = 0;
    const pid_t child = fork();
    if (child == 0) std::_Exit(forks_prepared == 1 && forks_of_child == 1 && state_in_block() == 2 ? 0 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 && forks_prepared == 1 && forks_of_parent == 1;
}
TEST_F(OnlyThread, MayHaveBlocksInHandlersOfForkThatCameBeforeTheRuntimes) {
    EXPECT_IN_A_PROCESS_OF_ITS_OWN(handlers_of_fork_may_have_blocks());
}

}  // namespace
}  // namespace holdfast::itm
