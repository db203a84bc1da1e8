// Atomic blocks over an engine that isolates by itself: threads that conflict in blocks, without locks, and what is
// left of an attempt whose block met a conflict. Beside engine_entry_test.cpp, which exports the runtime.
#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/handle/test_pool.hpp>
#include <holdfast/itm/conflicting_blocks_test.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

// What blocks call for a new object, and what gives it back: those of one size are counted.
namespace {
std::atomic<void*> counted_blocks[8];
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    void* const made = std::malloc(bytes);
    if (bytes != sizeof(holdfast::itm::counted_object)) return made;
    for (std::atomic<void*>& each : counted_blocks) {
        void* none = nullptr;
        if (each.compare_exchange_strong(none, made)) break;
    }
    ++holdfast::itm::balance_of_news;
    return made;
}
void operator delete(void* block) noexcept {
    for (std::atomic<void*>& each : counted_blocks)
        if (block != nullptr && each.load() == block) {
            each = nullptr;
            --holdfast::itm::balance_of_news;
        }
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

namespace holdfast::itm {
namespace {

using store = HOLDFAST_ITM_TEST_ENGINE;

class IsolatedEntry : public testing::Test {
protected:
    IsolatedEntry() {
        pool_->atomically([&] {
                 words_ = reinterpret_cast<long*>(store::allocate(64 * sizeof(long)));
                 store::fill_zero(words_, 64 * sizeof(long));
             }).value();
    }

    /// Commits a store to `home` in another thread, and to the lines that the tests' blocks load from behind that: an
    /// algorithm with versions looks at what was read only there.
    void change(long* home, long value) {
        std::thread([&] {
            pool_->atomically([&] {
                     set(home, value);
                     set(&words_[9], value);
                     set(&words_[17], value);
                 }).value();
        }).join();
    }
    /// Calls f(run), with run from 1, until an attempt meets no conflict.
    template <class F>
    int runs_of(F&& f) {
        int runs = 0;
        pool_->atomically([&] { f(++runs); }).value();
        return runs;
    }

    test::test_pool<store> pool_{{.durability = level::process}};
    long* words_ = nullptr;
};

TEST_F(IsolatedEntry, ThreadsThatAddInBlocksWithoutLocksLoseNothing) {
    constexpr int threads = 3, rounds = 3000;
    std::atomic<long> runs = 0;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([&, thread] {
            for (int round = 0; round < rounds; ++round)
                pool_->atomically([&] {
                         ++runs;
                         move_some(words_, round + thread, &let_others_run);
                     }).value();
        });
    for (std::thread& each : all) each.join();
    long sum = 0;
    for (int each = 0; each < 63; ++each) sum += words_[each];
    EXPECT_EQ(words_[63], threads * rounds);
    EXPECT_EQ(sum, 0) << "what was taken from one was given to another";
    EXPECT_GT(runs, threads * rounds) << "no block met a conflict, so that nothing was tested";
}

TEST_F(IsolatedEntry, AConflictInABlockRunsTheFunctionAgain) {
    long seen = 0;
    const int runs = runs_of([&](int run) {
        const long first = read_in_block(&words_[0]);
        if (run == 1) change(&words_[0], 5);
        // In the first run this block must not come to its end: words_[0] is not what it was.
        seen = first + add_in_block(&words_[8], 1);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(seen, 5 + 1);
    EXPECT_EQ(words_[8], 1);
}

TEST_F(IsolatedEntry, ABlockThatMeetsAConflictIsLeftInItsMiddle) {
    int behind = 0;
    const int runs = runs_of([&](int run) {
        std::atomic<bool> wants = run == 1;
        read_change_read(words_, [this] { change(&words_[0], 7); }, wants, behind);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(behind, 1) << "the second read of the first run, or what follows it, was executed";
}

struct counted {
    static inline int alive = 0;
    counted() { ++alive; }
    ~counted() { --alive; }
};

TEST_F(IsolatedEntry, AroundACallThatJoinsDestructorsRun) {
    counted::alive = 0;
    const int runs = runs_of([&](int run) {
        const counted object;
        const long first = read_in_block(&words_[0]);
        if (run == 1) change(&words_[0], first + 1);
        pool_->atomically([&] { add_in_block(&words_[8], 1); }).value();
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(words_[8], 1);
}

TEST_F(IsolatedEntry, ACallWhoseResultIsDiscardedBehindAConflictRunsAgain) {
    const int runs = runs_of([&](int run) {
        const long first = read_in_block(&words_[0]);
        if (run == 1) change(&words_[0], first + 1);
        try {
            pool_->atomically([&] { add_in_block(&words_[8], 1); }).value();
        } catch (...) {
            // The attempt is over all the same.
        }
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(words_[8], 1);
}

TEST_F(IsolatedEntry, AConflictInAHandlerLeavesNoExceptionBehind) {
    const int runs = runs_of([&](int run) {
        const long first = read_in_block(&words_[0]);
        try {
            throw std::runtime_error("handled");
        } catch (const std::runtime_error&) {
            if (run == 1) change(&words_[0], first + 1);
            add_in_block(&words_[8], 1);
        }
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(words_[8], 1);
    EXPECT_FALSE(std::current_exception());
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

struct adds_when_destroyed {
    long* home;
    ~adds_when_destroyed() { add_in_block(home, 1); }
};

TEST_F(IsolatedEntry, AConflictWhileAnExceptionIsOnItsWayRunsTheFunctionAgain) {
    int runs = 0;
    EXPECT_THROW((void)pool_->atomically([&] {
        ++runs;
        const adds_when_destroyed object{&words_[8]};
        const long first = read_in_block(&words_[0]);
        if (runs == 1) change(&words_[0], first + 1);
        throw std::runtime_error("out");
    }),
                 std::runtime_error);
    EXPECT_EQ(runs, 2) << "an exception that an inconsistent attempt throws says nothing";
    EXPECT_EQ(words_[8], 0);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_F(IsolatedEntry, LocalVariablesAreAsTheyWereBeforeTheBlock) {
    long variable = 3;
    std::vector<long> found;
    const int runs = runs_of([&](int run) {
        found.push_back(variable);
        std::atomic<bool> wants = run == 1;
        add_to_own_and_read(&variable, words_, [this] { change(&words_[0], 9); }, wants);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(found, (std::vector<long>{3, 3}));
    EXPECT_EQ(variable, 4);
}

TEST_F(IsolatedEntry, MemoryOfALostAttemptIsGivenBackOnce) {
    balance_of_news = 0;
    counted_object* kept = nullptr;
    const int runs = runs_of([&](int run) {
        kept = make_counted(run);
        const long first = read_in_block(&words_[0]);
        if (run == 1) change(&words_[0], first + 1);
        add_in_block(&words_[8], 1);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(balance_of_news, 1) << "one for the attempt that committed";
    EXPECT_EQ(kept->value, 2);
    pool_->atomically([&] { delete_counted(kept); }).value();
    EXPECT_EQ(balance_of_news, 0);
}

TEST_F(IsolatedEntry, MemoryIsKeptWhenTheConflictIsOutsideOfBlocksToo) {
    balance_of_news = 0;
    counted_object* kept = nullptr;
    const int runs = runs_of([&](int run) {
        kept = make_counted(run);
        const long first = read_value<store>(&words_[0]);
        if (run == 1) change(&words_[0], first + 1);
        store_value(current_transaction<store>(), &words_[8], first);
        // Met here, by the engine's own load.
        EXPECT_TRUE(read_value<store>(&words_[16]) == 0 && run == 2);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(balance_of_news, 1);
    pool_->atomically([&] { delete_counted(kept); }).value();
}

TEST_F(IsolatedEntry, UndoActionsOfALostBlockRunWhenTheAttemptIsTakenBack) {
    undone.clear();
    const int runs = runs_of([&](int run) {
        std::atomic<bool> wants = run == 1;
        tell_and_read(words_, [this] { change(&words_[0], 9); }, wants);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(undone, "ba");
}

TEST_F(IsolatedEntry, ACancelInsideOfAnAttemptThatGoesOnTakesBackTheBlockAlone) {
    const int runs = runs_of([&](int run) {
        const long first = read_in_block(&words_[0]);
        EXPECT_FALSE(add_and_cancel(&words_[24]));
        if (run == 1) change(&words_[0], first + 1);
        add_in_block(&words_[16], 1);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(words_[24], 0);
    EXPECT_EQ(words_[16], 1);
}

TEST_F(IsolatedEntry, OutsideBlocksAreIsolatedByTheStm) {
    static long counters[2];
    counters[0] = counters[1] = 0;
    constexpr int rounds = 3000;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([] {
            for (int round = 0; round < rounds; ++round) move_one(counters, &let_others_run);
        });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(counters[0], 2 * rounds);
    EXPECT_EQ(counters[1], -2 * rounds);
}

TEST_F(IsolatedEntry, CommitActionsOfABlockRunOnceAndOnlyWhenTheTransactionHasCommitted) {
    told = 0;
    undone.clear();
    const int runs = runs_of([&](int run) {
        read_in_block(&words_[0]);
        add_and_tell(&words_[32]);
        EXPECT_EQ(told, 0) << "nothing has committed yet";
        if (run == 1) change(&words_[0], 1);
        read_in_block(&words_[16]);
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(undone, "u") << "the first attempt was taken back";
    const auto refused = pool_->atomically([&]() -> result<void> {
        add_and_tell(&words_[32]);
        return error{.code = errc::aborted, .what = "no"};
    });
    EXPECT_FALSE(refused);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(undone, "uu");
    EXPECT_EQ(words_[32], 1);
}

}  // namespace
}  // namespace holdfast::itm
