// Threads that run one at a time and hand on only at known points: a schedule is data, and the same
// schedule gives the same interleaving, always.
//
// The points, called steps: after each store to a recorded pool, after each call of the seam, before
// each lock and after each unlock or signal, at yields and sleeps. Between two steps a thread runs
// undisturbed: what it does there with variables outside the pool happens in one piece.
#pragma once

#include <crash/cut/trace.hpp>

#include <holdfast/base/result.hpp>

#include <time.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace holdfast::crash {

/// A run that takes more goes round in circles.
inline constexpr std::uint64_t steps_at_most = 1'000'000;

/// Which thread runs when. A thread that ends, blocks or yields hands on in any case; the next one is
/// always the next by number, around, that is not blocked.
struct schedule {
    unsigned first = 0;                      ///< the thread that begins
    std::vector<std::uint64_t> preemptions;  ///< after these steps, counted from 1, the next one goes on; ascending

    bool operator==(const schedule&) const = default;
};

/// A schedule with at most `preemptions` preemptions somewhere in `steps` steps, a number that a run of the
/// same threads returned; few of them show most faults. Source: Musuvathi and Qadeer, Iterative
/// Context Bounding for Systematic Testing of Multithreaded Programs, PLDI 2007.
schedule draw_schedule(std::uint64_t seed, unsigned threads, unsigned preemptions, std::uint64_t steps);

/// Runs each function on a fresh thread of its own, numbered in their order, by the schedule, and
/// returns how many steps that took. What thread-locals do at a thread's end belongs to its part.
/// Requires: only threads of the run hold the locks that they take; they wait for each other by
/// pthread mutexes, read-write locks, condition variables, sleeps and yields alone.
/// Not thread-safe where a recorder is at work; not from within a run.
/// Time passes for the run's threads by sleeps, and by a microsecond when one looks at a clock; a wait
/// with a time limit ends by it, the earliest first, only when no thread can go on otherwise.
/// Errors: invalid_argument (too many threads, or no such first one); busy, when every thread left is
/// blocked or when they take more than steps_at_most. Then they stay where they are for good, as does
/// what they hold. Throws what a function threw, the first one, after all have ended.
result<std::uint64_t> run_threads(std::span<const std::function<void()>> functions, const schedule& order);

/// What recorders and interposed functions ask of the run that the calling thread is part of. All
/// are for signal handlers, too, and leave errno as it is; in other threads they do nothing.
namespace scheduled {

/// What a blocked thread waits for.
struct wait {
    const char* what = "";           ///< "the mutex", …
    const void* object = nullptr;
    const void* caller = nullptr;    ///< the code that waits
    std::uint64_t limit_ns = no_limit;  ///< since the run began

    static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
};

bool is_on() noexcept;
/// The number of the calling thread in its run; 0 outside.
std::uint8_t thread() noexcept;
/// A switch may happen here.
void step() noexcept;
/// A step after which the next one goes on, if any can.
void yield() noexcept;
/// Hands on until woken. Returns false when the time limit ended it. Requires: is_on().
bool block(const wait& reason) noexcept;
/// How much time has passed since the run began, as its threads are told; and to let some pass.
std::uint64_t elapsed_ns() noexcept;
void pass_time(std::uint64_t ns) noexcept;
inline constexpr clockid_t known_clocks = CLOCK_BOOTTIME + 1;
/// What the clock said when the run began. Requires: is_on(), a clock below known_clocks.
timespec clock_at_start(clockid_t clock) noexcept;
/// Those blocked on the object go on when it is their turn: all, or the one that waits longest.
void wake_all(const void* object) noexcept;
void wake_one(const void* object) noexcept;

}  // namespace scheduled
}  // namespace holdfast::crash
