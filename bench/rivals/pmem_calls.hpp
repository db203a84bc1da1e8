// What libpmemobj asks of the medium, counted and slowed as ours is.
#pragma once

#include <cstdint>

namespace holdfast::bench {

/// From now on each line that libpmemobj writes back or streams costs `delay_ns` more at the next fence, as with
/// persist::line_path::delay_ns. The counts are in persist::thread_counters().
/// Requires: the program exports its symbols; otherwise libpmemobj goes on calling libpmem, and nothing is counted.
void set_libpmem_delay(std::uint32_t delay_ns) noexcept;

}  // namespace holdfast::bench
