// A cache whose process is killed, in pools of any kind: what was answered is there, and at most one command more.
#pragma once

#include <workload/cache/shared_test.hpp>

#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace holdfast::workload::test {

inline constexpr cache_settings small_cache{.limit_bytes = 5000, .partitions = 2, .buckets = 16,
                                            .value_bytes_max = 400, .move_after_s = 5};

/// One pool, the children that die over it, and what it must hold. `Pool` has close(); open(), after a kill or a close;
/// memory() and all(), an Access and the cache, while it is open; and audit(), whether the heap is whole.
template <class Pool>
class killed_cache {
public:
    /// Requires: `pool` is open, and has no cache.
    killed_cache(Pool& pool, std::uint64_t seed) : seed_(seed), random_(seed), pool_(pool) {
        EXPECT_TRUE(pool_.all().create(small_cache));
    }

    /// A child runs commands until it is killed, after a while that is drawn. Each answer is told before the next one.
    void kill_one() {
        int told[2];
        ASSERT_EQ(::pipe(told), 0);
        pool_.close();
        const pid_t child = ::fork();
        if (child == 0) run_in_child(told[1]);
        ::close(told[1]);
        const std::uint64_t enough = random_.below(3000);
        std::uint64_t answered = done_, number = 0;
        while (answered - done_ < enough && ::read(told[0], &number, sizeof number) == sizeof number) answered = number;
        std::this_thread::sleep_for(std::chrono::microseconds(random_.below(300)));
        ::kill(child, SIGKILL);
        while (::read(told[0], &number, sizeof number) == sizeof number) answered = number;
        ::close(told[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself: " << status;
        pool_.open();
        verify(answered);
    }

    std::uint64_t done() const { return done_; }
    const cache_model& model() const { return model_; }

private:
    [[noreturn]] void run_in_child(int told) {
        pool_.open();
        cache_runner<decltype(pool_.memory())> runner(pool_.all());
        for (std::uint64_t i = done_ + 1;; ++i) {
            if (runner.run(drawn_command(seed_, i)).answer == cache_answer::failed) ::_exit(4);
            if (::write(told, &i, sizeof i) != sizeof i) ::_exit(5);
        }
    }

    /// What was answered is there, and at most one command more.
    void verify(std::uint64_t answered) {
        model_.forget();
        for (; done_ < answered; ++done_) model_.run(drawn_command(seed_, done_ + 1));
        std::string differs = difference(pool_.memory(), pool_.all(), model_);
        if (!differs.empty()) {
            model_.run(drawn_command(seed_, ++done_));
            differs = difference(pool_.memory(), pool_.all(), model_);
        }
        EXPECT_EQ(differs, "") << "after " << answered << " answers";
        EXPECT_TRUE(pool_.audit());
    }

    std::uint64_t seed_;
    random random_;
    Pool& pool_;
    cache_model model_{small_cache};
    std::uint64_t done_ = 0;
};

template <class Pool>
void run_kills(Pool& pool) {
    const std::uint64_t kills = holdfast::test::at_full_length() ? 50 : 5;
    killed_cache<Pool> campaign(pool, holdfast::test::seed_of_run());
    for (std::uint64_t i = 0; i < kills && !::testing::Test::HasFailure(); ++i) campaign.kill_one();
    EXPECT_GT(campaign.done(), 0u);
    std::printf("  %llu kills, %llu commands, %llu evictions\n", static_cast<unsigned long long>(kills),
                static_cast<unsigned long long>(campaign.done()),
                static_cast<unsigned long long>(campaign.model().statistics().evictions));
}

}  // namespace holdfast::workload::test
