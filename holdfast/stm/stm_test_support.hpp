// What the tests of this room share.
#pragma once

#include <holdfast/base/test_run.hpp>
#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/planted.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>

#ifdef HOLDFAST_STM_TEST_ALGORITHMS
#include HOLDFAST_STM_TEST_ALGORITHMS
#endif

namespace holdfast::stm::test {

using holdfast::test::at_full_length;

// A room above compiles these tests once more for an algorithm of its own, which this header of it names.
#ifndef HOLDFAST_STM_TEST_ALGORITHMS
using algorithms = ::testing::Types<value, versioned>;

struct algorithm_names {
    template <class A>
    static std::string GetName(int) {
        return std::is_same_v<A, value> ? "value" : "versioned";
    }
};
#endif

struct alignas(64) line {
    word words[8] = {};
};

[[noreturn]] inline void unexpected_restart() noexcept {
    std::fputs("a conflict where there should be none\n", stderr);
    std::abort();
}

/// One transaction that meets no conflict.
template <class A, class F>
void must_commit(F&& f) {
    A& open = A::of_this_thread();
    open.begin({.restart = unexpected_restart});
    f();
    EXPECT_TRUE(open.commit());
}

/// Tests of a thread beside which another one has had a transaction: one that is the only one may store home at once
/// (home_at_once_test.cpp).
template <class A>
void let_another_thread_begin() {
    must_commit<A>([] {});
    std::thread([] { must_commit<A>([] {}); }).join();
}
template <class A>
class not_the_only_thread : public ::testing::Test {
protected:
    static void SetUpTestSuite() { let_another_thread_begin<A>(); }
};

template <class A>
void add_one(word* home) {
    A& open = A::of_this_thread();
    open.store(home, open.load(home) + 1, 0xFF);
}

#ifdef HOLDFAST_STM_TESTED

/// From how many words on a write set is large, for a test.
class write_sets_are_large_from {
public:
    explicit write_sets_are_large_from(std::size_t words) { large_write_set = words; }
    write_sets_are_large_from(const write_sets_are_large_from&) = delete;
    write_sets_are_large_from& operator=(const write_sets_are_large_from&) = delete;
    ~write_sets_are_large_from() { large_write_set = usual_; }

private:
    std::size_t usual_ = large_write_set;
};

/// Threads take themselves for the only one where that is a guess, which is in `value` alone.
class each_thread_seems_alone {
public:
    each_thread_seems_alone() { everyone_seems_alone = true; }
    each_thread_seems_alone(const each_thread_seems_alone&) = delete;
    each_thread_seems_alone& operator=(const each_thread_seems_alone&) = delete;
    ~each_thread_seems_alone() { everyone_seems_alone = false; }
};

/// Threads that run beside the test's own, each until it is over or waits for others, outside of a transaction. One
/// that waits may be waiting for the transaction of the test: all are joined at the end.
template <class A>
class companions {
public:
    companions() { between = note_waiting; }
    companions(const companions&) = delete;
    companions& operator=(const companions&) = delete;
    ~companions() { join(); }

    template <class F>
    void run(F f) {
        std::atomic<bool>& arrived = arrived_.emplace_back(false);
        threads_.emplace_back([&arrived, f] {
            own = &arrived;
            f();
            own = nullptr;
            arrived = true;
        });
        while (!arrived) std::this_thread::yield();
    }
    /// Two words, so that nobody can find only one of them.
    void store(word* one, word* other, word what) {
        run([=] {
            atomically<A>([=] {
                A::of_this_thread().store(one, what, 0xFF);
                A::of_this_thread().store(other, what, 0xFF);
            });
        });
    }
    void join() {
        for (std::thread& each : threads_) each.join();
        threads_.clear();
        between = nullptr;
    }

private:
    static inline thread_local std::atomic<bool>* own = nullptr;
    static bool note_waiting() noexcept {
        if (own != nullptr && !A::of_this_thread().active()) *own = true;
        return false;
    }

    std::list<std::atomic<bool>> arrived_;
    std::list<std::thread> threads_;
};

#endif

}  // namespace holdfast::stm::test
