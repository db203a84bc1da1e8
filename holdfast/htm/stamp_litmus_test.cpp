// What the fence of the stamp is for: two threads whose transactions collide, round by round, and the order of their
// stamps beside the order of their commits. Only where the processor has hardware transactions.
#include <holdfast/base/test_run.hpp>
#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/stm/wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace holdfast::htm {
namespace {

struct alignas(128) padded {
    word value = 0;
};

/// One thread's transaction of a round. 0: it came to nothing.
struct alignas(128) outcome {
    std::uint64_t stamp = 0;
    word found = 0;
};

/// Reads `x` where `reads`, else stores `own` there; then stamps.
template <bool Fenced>
void try_once(word& x, bool reads, word own, outcome& mine) {
    std::uint64_t stamp = 0;
    word found = 0;
    mine.stamp = 0;
    if (hardware::begin({}) != status::started) return;
    if (reads)
        found = hardware::load(&x);
    else
        hardware::store(&x, own, 0xFF);
    stamp = Fenced ? hardware::fenced_ticks() : hardware::bare_ticks();
    hardware::end();
    mine = {stamp, found};
}

class rounds {
public:
    rounds(int count, bool second_reads) : count_(count), second_reads_(second_reads) {}

    /// How many rounds in which both committed carried stamps in the other order.
    template <bool Fenced>
    int reversed() {
        int found = 0;
        std::thread second([this] {
            for (int round = 1; round <= count_; ++round) {
                meet();
                try_once<Fenced>(x_.value, second_reads_, 2, results_[1]);
                meet();
            }
        });
        for (int round = 1; round <= count_; ++round) {
            __atomic_store_n(&x_.value, word{0}, __ATOMIC_SEQ_CST);
            meet();
            try_once<Fenced>(x_.value, false, 1, results_[0]);
            meet();
            found += is_reversed();
        }
        second.join();
        return found;
    }

private:
    /// Both are here before either goes on.
    void meet() {
        const int mine = generation_.load();
        if (arrived_.fetch_add(1) == 1) {
            arrived_ = 0;
            generation_ = mine + 1;
        } else {
            for (stm::waiter wait; generation_ == mine;) wait.pause();
        }
    }
    bool is_reversed() const {
        const outcome& first = results_[0];
        const outcome& second = results_[1];
        if (first.stamp == 0 || second.stamp == 0) return false;
        // A load of the old value comes before the store; of two stores the one that is left came last.
        const bool second_came_first = second_reads_ ? second.found == 0 : x_.value == 1;
        return second_came_first ? second.stamp > first.stamp : first.stamp > second.stamp;
    }

    int count_;
    bool second_reads_;
    padded x_;
    outcome results_[2];
    alignas(128) std::atomic<int> arrived_{0};
    alignas(128) std::atomic<int> generation_{0};
};

int count() { return test::at_full_length() ? 5'000'000 : 200'000; }

/// Where others use the processors, or the code of a sanitizer stands in between, the two threads may not meet so.
#ifdef HOLDFAST_FEW_PLACES
constexpr int batches = 5;
#else
constexpr int batches = 100;
#endif
bool some_are_reversed(bool second_reads) {
    for (int batch = 0; batch < batches; ++batch)
        if (rounds(10'000, second_reads).reversed<false>() != 0) return true;
    return false;
}

/// Tells whether the test could have failed: a processor on which nothing is ever reversed is no fault of ours.
void tell_what_the_fence_is_for(const char* of_what, bool second_reads) {
    std::printf("%s: without the fence reversed stamps are %s\n", of_what,
                some_are_reversed(second_reads) ? "seen" : "not seen here");
}

TEST(StampLitmus, WithTheFenceNoStampsAreReversed) {
    if (!hardware::is_available()) GTEST_SKIP() << obstacle_here();
    EXPECT_EQ(rounds(count(), false).reversed<true>(), 0) << "two stores to one word";
    EXPECT_EQ(rounds(count(), true).reversed<true>(), 0) << "a load that is overwritten";
    tell_what_the_fence_is_for("two stores to one word", false);
    tell_what_the_fence_is_for("a load that is overwritten", true);
}

}  // namespace
}  // namespace holdfast::htm
