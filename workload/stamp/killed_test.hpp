// STAMP programs that are killed in the middle, in pools of any kind: a child runs one, is killed, and another child
// opens the pool, looks at what is there, and runs the program to its end.
#pragma once

#include <workload/random.hpp>
#include <workload/stamp/life.hpp>
#include <workload/stamp/programs.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <type_traits>

namespace holdfast::workload::test {

/// Transactions of a child, in memory that its parent shares.
struct told_transactions {
    std::atomic<std::uint64_t> committed{0};
    std::atomic<std::uint64_t> last{0};  ///< with this one the child dies; 0: none
};

/// An Access whose transactions are counted where another process sees it. What they store outlives the process.
template <access Access>
class told_access : public Access {
public:
    static constexpr bool outlives_process = true;
    told_access(Access memory, told_transactions& told) : Access(memory), told_(&told) {}

    template <class F>
    bool atomically(F&& f) const {
        const bool good = Access::atomically(f);
        if (told_->committed.fetch_add(1) + 1 == told_->last) ::kill(::getpid(), SIGKILL);
        return good;
    }

private:
    told_transactions* told_;
};

/// Of this test, in the parent before this child began too.
inline int failures_so_far() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

/// A life of a program on threads. What is wrong, or nullptr.
template <class Parameters, access Access>
const char* live(const Access& memory, kept_run* kept, const Parameters& given, std::uint64_t threads) {
    return live_as(memory, kept, given, threads, [&](auto& program) -> const char* {
               const int failures = failures_so_far();
               work_on_threads(program, threads);
               return failures_so_far() != failures ? "a transaction of the work failed" : nullptr;
           })
        .problem;
}

/// The children of a test, one after the other.
class stamp_children {
public:
    /// In a child: a life in the pool, which the child opens. Returns what is wrong, or nullptr.
    using life = std::function<const char*(told_transactions& told)>;

    explicit stamp_children(life one) : life_(std::move(one)) {
        void* const shared =
            ::mmap(nullptr, sizeof(*told_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) throw std::bad_alloc();
        told_ = new (shared) told_transactions;
    }
    ~stamp_children() { ::munmap(told_, sizeof(*told_)); }
    stamp_children(const stamp_children&) = delete;
    stamp_children& operator=(const stamp_children&) = delete;

    /// One that lives to its end. Returns its transactions.
    std::uint64_t live() {
        const pid_t child = start(0);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "the child says what is wrong, or died: " << status;
        return told_->committed;
    }

    /// One that is killed with its transaction of this number, or is at its end before: between two transactions of a
    /// thread, or wherever its threads are a little later. True if it was killed.
    bool kill_at(std::uint64_t transaction, bool is_between) {
        const pid_t child = start(is_between ? transaction : 0);
        int status = 0;
        bool ended = false;
        while (!ended && (is_between || told_->committed < transaction)) {
            ended = ::waitpid(child, &status, is_between ? 0 : WNOHANG) == child;
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        if (!ended) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
        }
        const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        EXPECT_TRUE(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            << "the child says what is wrong, or died: " << status;
        return was_killed;
    }

private:
    static unsigned life_seconds_max() noexcept { return holdfast::test::at_full_length() ? 900 : 30; }

    pid_t start(std::uint64_t last) {
        told_->committed = 0;
        told_->last = last;
        std::fflush(nullptr);
        const pid_t child = ::fork();
        if (child != 0) return child;
        // A structure that was torn may be a ring.
        ::alarm(life_seconds_max());
        const char* const problem = life_(*told_);
        if (problem != nullptr) std::fprintf(stderr, "in the child: %s\n", problem);
        ::_exit(problem == nullptr ? 0 : 1);
    }

    life life_;
    told_transactions* told_ = nullptr;
};

/// At each point a run is killed, then what resumes it, and a third life must bring it to its end.
inline void kill_at_points(stamp_children& children, std::uint64_t seed) {
    random random(seed);
    const std::uint64_t points = holdfast::test::at_full_length() ? 50 : 5, all = children.live();
    std::uint64_t killed = 0, again = 0;
    const int failures = failures_so_far();
    for (std::uint64_t i = 0; i < points && failures_so_far() == failures; ++i) {
        if (!children.kill_at(1 + random.below(all), i % 2 == 0)) continue;
        ++killed;
        again += children.kill_at(1 + random.below(all), i % 2 == 0) ? 1u : 0u;
        children.live();
    }
    EXPECT_GT(killed, 0u);
    std::printf("  %llu of %llu runs of %llu transactions were killed, %llu of them twice\n",
                static_cast<unsigned long long>(killed), static_cast<unsigned long long>(points),
                static_cast<unsigned long long>(all), static_cast<unsigned long long>(again));
}

/// f(name, parameters) for each program, small enough to be killed many times.
template <class F>
void each_killed(F&& f) {
    f("bayes", bayes_parameters{});
    // Most segments come many times, and entering one again changes nothing.
    f("genome", genome_parameters{.segments = 512});
    f("intruder", intruder_parameters{});
    f("kmeans-high", kmeans_parameters{.clusters = 15});
    f("kmeans-low", kmeans_parameters{});
    f("labyrinth", labyrinth_parameters{});
    f("ssca2", ssca2_parameters{.scale = 12});
    vacation_program_parameters high{vacation_high}, low{vacation_low};
    high.tasks.relations = low.tasks.relations = 1024;
    f("vacation-high", high);
    f("vacation-low", low);
    f("yada", yada_parameters{});
}

}  // namespace holdfast::workload::test
