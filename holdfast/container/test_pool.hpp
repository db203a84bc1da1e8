// A pool with room for what tests of containers put into it.
#pragma once

#include <holdfast/handle/test_pool.hpp>

namespace holdfast::test {

inline constexpr pool_setup for_containers{.bytes = 64 << 20, .log_bytes = 0};

/// Bytes that f streams to the log, records' headers and padding included.
template <class F>
std::uint64_t streamed_bytes_of(F&& f) {
    const persist::counters before = persist::thread_counters();
    f();
    return (persist::thread_counters() - before).streamed_bytes;
}

}  // namespace holdfast::test
