// Exact counts of what was asked of the medium.
#pragma once

#include <cstdint>

namespace holdfast::persist {

/// What one thread has asked of the medium since it started. Exact, never sampled.
struct counters {
    std::uint64_t write_backs = 0;     ///< cache lines written back
    std::uint64_t fences = 0;          ///< fences that order write-backs and streams
    std::uint64_t streamed_bytes = 0;  ///< bytes given to stream
    std::uint64_t written_bytes = 0;   ///< bytes given to the kernel by pwrite
    std::uint64_t syncs = 0;           ///< waits for the device: fdatasync, RWF_DSYNC, msync

    /// Bytes sent towards the medium: whole lines for write-backs.
    std::uint64_t medium_bytes() const noexcept { return write_backs * 64 + streamed_bytes + written_bytes; }

    friend counters operator-(const counters& a, const counters& b) noexcept {
        return {a.write_backs - b.write_backs, a.fences - b.fences, a.streamed_bytes - b.streamed_bytes,
                a.written_bytes - b.written_bytes, a.syncs - b.syncs};
    }
    friend counters operator+(const counters& a, const counters& b) noexcept {
        return {a.write_backs + b.write_backs, a.fences + b.fences, a.streamed_bytes + b.streamed_bytes,
                a.written_bytes + b.written_bytes, a.syncs + b.syncs};
    }
    friend bool operator==(const counters&, const counters&) = default;
};

namespace detail {
inline constinit thread_local counters this_thread{};

/// Adds what another thread asked of the medium for the calling one.
inline void count_as_own(const counters& of_the_other) noexcept { this_thread = this_thread + of_the_other; }
}

/// The calling thread's counters so far. Two readings subtracted give the cost between them.
inline const counters& thread_counters() noexcept { return detail::this_thread; }

}  // namespace holdfast::persist
