// What the kernel module promises of logs that are registered with it.
#pragma once

#include <cstdint>

namespace holdfast::rig {

/// `times`: so often each way in which a process ends.
void try_logs(std::uint64_t seed, unsigned times);
/// A save that is there when the module is loaded again, and finding it.
void leave_a_log();
void find_the_log();
/// Where the module does not wait for processors to stop.
void find_every_log_declined();

}  // namespace holdfast::rig
