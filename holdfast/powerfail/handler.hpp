// Who saves pools when the power fails. The library brings none: a program, a daemon's client or a driver's is made
// known here before a pool is opened at `on_power_fail`.
#pragma once

#include <holdfast/format/shadow_log.hpp>
#include <holdfast/persist/line_path.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::powerfail {

/// A pool that a handler has charge of. It stays where it is until it is given back.
struct charge {
    std::string path;
    format::shadow_header* shadow = nullptr;  ///< followed by the log
    std::byte* pool = nullptr;
    persist::line_path lines;
    std::uint64_t log_bytes = 0;   ///< a save copies at most this
    std::uint64_t pool_bytes = 0;  ///< and writes back this, when the pool was opened; it may have grown since
    /// Call it when the pool can no longer be saved: from then on its commits are durable one by one, and the charge is
    /// given back. Returns whether that is so now. If not, call it again as long as the charge is there: the pool is
    /// being opened, or a write failed. It waits for a snapshot that is being made. Requires: no transaction of the
    /// calling thread is open, and no lock held that `disarm` takes.
    std::function<bool()> lost;
};

/// Calls come one at a time for each charge; those of different pools may overlap.
class handler {
public:
    virtual ~handler() = default;
    /// Returns whether it is armed for this pool: from now on, whenever the power fails, it stops the threads that use
    /// the pool and calls `save`, or it calls `lost` in time. False: it declines, since that would take longer than
    /// the power holds.
    virtual bool arm(charge& taken) = 0;
    /// The pool is no longer to be saved; a save that has begun is through when this returns.
    virtual void disarm(charge& given_back) noexcept = 0;
};

/// Makes it the handler of this process; nullptr: there is none. Requires: no pool is open at `on_power_fail`, or being
/// opened; it lives as long as it is used.
void use_handler(handler* used) noexcept;
handler* current_handler() noexcept;

}  // namespace holdfast::powerfail
