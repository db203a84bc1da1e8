// Calls inside signal handlers are refused wherever the handler runs, and calls outside never are.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/base/signal_handlers.hpp>

#include <pthread.h>

#include <atomic>
#include <cfenv>
#include <csetjmp>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

std::function<void()> in_first, in_second;
void first(int) { in_first(); }
void second(int) { in_second(); }
sigjmp_buf before_signal;

class SignalHandlers : public ::testing::Test {
protected:
    SignalHandlers() {
        install(SIGUSR1, first, 0);
        install(SIGUSR2, second, 0);
        in_first = [this] { expect_refused(); };
        in_second = [this] { expect_refused(); };
    }
    ~SignalHandlers() override {
        std::signal(SIGUSR1, SIG_DFL);
        std::signal(SIGUSR2, SIG_DFL);
    }

    static void install(int number, void (*handler)(int), int flags) {
        struct sigaction action {};
        action.sa_handler = handler;
        action.sa_flags = flags;
        ASSERT_EQ(::sigaction(number, &action, nullptr), 0);
    }
    /// Both from one place: having been here outside must not vouch for the handler.
    auto add() {
        return pool_->atomically([this] { *number_ += 1; });
    }
    void expect_refused() {
        const auto done = add();
        ++handled_;
        if (done || done.error().code != errc::misuse) ++let_in_;
    }
    void expect_done() {
        ASSERT_TRUE(add());
        ++added_;
    }
    /// Both kinds of call: one that begins a transaction, and one that joins.
    void raise_everywhere() {
        for (int i = 0; i < 3; ++i) {
            expect_done();
            ::raise(SIGUSR1);
            ASSERT_TRUE(pool_->atomically([&] {
                expect_done();
                ::raise(SIGUSR1);
                expect_done();
            }));
        }
        expect(6);
    }
    void expect(int handled_at_least) {
        EXPECT_GE(handled_, handled_at_least);
        EXPECT_EQ(let_in_, 0);
        EXPECT_EQ(*number_, added_);
    }

    test_pool<redo> pool_;
    redo::field<long>* number_ = pool_->root<redo::field<long>>("number").value();
    long added_ = 0;
    std::atomic<int> handled_ = 0, let_in_ = 0;
};

TEST_F(SignalHandlers, AreRefusedOnTheStackThatTheyInterrupt) { raise_everywhere(); }

TEST_F(SignalHandlers, AreRefusedOnAStackOfTheirOwn) {
    std::vector<char> room(256 << 10);
    stack_t own{}, before{};
    own.ss_sp = room.data();
    own.ss_size = room.size();
    ASSERT_EQ(::sigaltstack(&own, &before), 0);
    install(SIGUSR1, first, SA_ONSTACK);
    raise_everywhere();
    ::sigaltstack(&before, nullptr);
}

TEST_F(SignalHandlers, AreRefusedInsideOneAnother) {
    in_first = [this] {
        expect_refused();
        ::raise(SIGUSR2);
        expect_refused();
    };
    raise_everywhere();
    expect(18);
}

TEST_F(SignalHandlers, AreRefusedAfterTheyHaveDoneArithmetic) {
    in_first = [this] {
        volatile long double third = 1.0L;
        third = third / 3;
        volatile double small = 1e-300;
        small = small * small;
        const int rounding = std::fegetround();
        std::fesetround(FE_UPWARD);
        std::fesetround(rounding);
        std::fenv_t environment;
        std::feholdexcept(&environment);
        std::fesetenv(&environment);
        expect_refused();
    };
    raise_everywhere();
}

TEST_F(SignalHandlers, AreRefusedAtAnyMoment) {
    std::atomic<bool> is_done = false;
    const pthread_t interrupted = ::pthread_self();
    std::thread other([&] {
        while (!is_done) {
            ::pthread_kill(interrupted, SIGUSR1);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    });
    for (int i = 0; i < 100'000 && (i < 2000 || handled_ < 100); ++i) expect_done();
    is_done = true;
    other.join();
    expect(0);
}

TEST_F(SignalHandlers, AreRefusedInAThreadThatInheritsTheMark) {
    expect_done();
    std::thread([this] { raise_everywhere(); }).join();
}

TEST_F(SignalHandlers, ThatAreLeftByAJumpLeaveCallsAsTheyAre) {
    expect_done();
    const auto refuse_here = in_first;
    in_first = [] { ::siglongjmp(before_signal, 1); };
    static int i;
    for (i = 0; i < 3; ++i) {
        if (sigsetjmp(before_signal, 1) == 0) ::raise(SIGUSR1);
        expect_done();
    }
    in_first = refuse_here;
    raise_everywhere();
}

#if defined(__x86_64__)
TEST_F(SignalHandlers, AreRefusedAfterTheMarkWasLost) {
    expect_done();
    asm volatile("fninit");
    raise_everywhere();
    std::fesetenv(FE_DFL_ENV);
    raise_everywhere();
}
#endif

/// Runs f that far down the stack. False: refused.
template <class F>
[[gnu::noinline]] bool is_done_below(std::size_t bytes, F&& f) {
    auto* const between = static_cast<volatile char*>(__builtin_alloca(bytes + 16));
    between[0] = 0;
    bool done = true;
    try {
        f();
    } catch (const failure&) {
        done = false;
    }
    between[1] = 0;
    return done;
}

TEST_F(SignalHandlers, AreRefusedWhereAnotherFunctionRanInTheSameFrame) {
    constexpr std::size_t step = 16, depths = 512;
    in_first = [this] {
        for (std::size_t i = 0; i < depths; ++i) {
            ++handled_;
            if (is_done_below(i * step, [this] { redo::transact(number_, [this] { *number_ -= 1; }); })) ++let_in_;
        }
    };
    for (std::size_t i = 0; i < 10 * depths; ++i) {
        // Where a handler's frames are, too.
        const std::size_t below = 4096 + i % depths * step;
        ASSERT_TRUE(is_done_below(below, [this] { redo::transact(number_, [this] { *number_ += 1; }); }));
        ++added_;
        if (i % 64 == 63) ::raise(SIGUSR1);
    }
    expect(static_cast<int>(10 * depths / 64 * depths));
}

/// Joins in each of `depth` frames, one inside the other.
[[gnu::noinline]] void join_down(basic_pool<redo>& pool, int depth) {
    ignore(pool.atomically([&] {
        if (depth > 0) join_down(pool, depth - 1);
    }));
}

TEST_F(SignalHandlers, AreNotLookedForOnTheStackInEachFrame) {
    if (!detail::marks_handlers()) GTEST_SKIP() << "no marks here";
    expect_done();
    const auto before = detail::looks_at_stack;
    join_down(*pool_, 2000);
    EXPECT_EQ(detail::looks_at_stack, before);
    ::raise(SIGUSR1);
    join_down(*pool_, 2000);
    EXPECT_EQ(detail::looks_at_stack, before + 1) << "in the handler";
    expect(1);
}

}  // namespace
}  // namespace holdfast
