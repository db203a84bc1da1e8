// The clocks of suites that run on one thread and never wait.
#pragma once

#include <bench/contest/contestant.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace holdfast::bench {

/// CPU time of the calling thread, which is what the paper on cache-line transactions measured too: what other programs
/// take of the processor does not count. A reading costs a fraction of a microsecond.
inline double thread_cpu_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// CPU time of all threads of the process.
inline double process_cpu_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// What the process's other threads took of processors: an engine that works in the background spends it there.
inline observation others_per_transaction(double others_ns, std::uint64_t transactions) {
    return {"others_ns_per_tx", "ns", std::max(0.0, others_ns) / static_cast<double>(transactions)};
}

/// The same time, counted from construction, where thread_cpu_ns would cost too much. It reads the wall clock, and
/// thread_cpu_ns only after a gap between two readings that is long enough for another program to have had the
/// processor. Read it often. Never runs backwards. One thread.
class undisturbed_clock {
public:
    double now_ns() noexcept {
        const double wall_ns =
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - wall_begin_).count();
        if (wall_ns - last_wall_ns_ > suspicious_ns) [[unlikely]]
            lost_ns_ = std::max(lost_ns_, wall_ns - (thread_cpu_ns() - cpu_begin_ns_));
        last_wall_ns_ = wall_ns;
        now_ns_ = std::max(now_ns_, wall_ns - lost_ns_);
        return now_ns_;
    }

private:
    static constexpr double suspicious_ns = 20'000;

    std::chrono::steady_clock::time_point wall_begin_ = std::chrono::steady_clock::now();
    double cpu_begin_ns_ = thread_cpu_ns();
    double last_wall_ns_ = 0;
    double lost_ns_ = 0;  ///< to others, as far as it was noticed
    double now_ns_ = 0;
};

}  // namespace holdfast::bench
