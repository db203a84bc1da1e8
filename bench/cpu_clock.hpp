// The clock of suites that run on one thread and never wait.
#pragma once

#include <ctime>

namespace holdfast::bench {

/// CPU time of the calling thread, which is what the paper on cache-line transactions measured too: what other programs
/// take of the processor does not count. A reading costs a fraction of a microsecond.
inline double thread_cpu_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace holdfast::bench
