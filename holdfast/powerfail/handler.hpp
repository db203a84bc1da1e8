// The handler that saves pools when the power fails. A program registers one before it opens a pool at `on_power_fail`:
// the library's process_handler, or its own.
#pragma once

#include <holdfast/format/shadow_log.hpp>
#include <holdfast/persist/line_path.hpp>
#include <holdfast/powerfail/save_name.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::powerfail {

/// A pool that a handler has charge of. The object stays at its address until `disarm`.
struct charge {
    std::string path;
    format::shadow_header* shadow = nullptr;  ///< followed by the log; nullptr on an ordinary file, as the next two
    std::byte* pool = nullptr;
    persist::line_path lines;
    save_name name;  ///< for a handler that keeps saves apart from the pool
    std::uint64_t log_bytes = 0;   ///< upper bound of the bytes that a save copies
    std::uint64_t reserved_bytes = 0;  ///< of addresses from `pool` on, as far as it may grow
    std::uint64_t pool_bytes = 0;  ///< that a save writes back, as of opening; the pool may have grown since
    /// The handler calls it when it can no longer save the pool and, for a pool on an ordinary file, when the power is
/// about to fail: from then on the pool is at `power`, all of it durable, and is disarmed.
    /// Returns whether this is so now. If not (the pool is being opened, or a write failed), call it again as long as
    /// the pool is armed. It waits for a snapshot in progress. Requires: the calling thread has no transaction open and
    /// holds no lock that `disarm` takes.
    std::function<bool()> lost;
};

/// Calls for one pool come one at a time; those for different pools may overlap.
class handler {
public:
    virtual ~handler() = default;
    /// True: the handler is armed for this pool. From now on, whenever the power fails, it stops the threads that use
    /// the pool and calls `save`, or it calls `lost` in time. False: it declines, because a save would take longer than
    /// the power lasts.
    virtual bool arm(charge& taken) = 0;
    /// The same of a pool on an ordinary file, whose commits are in the page cache. True: the handler calls `lost` in
    /// time, which syncs the file: it is told seconds before the power fails. What a sync takes grows with what the
    /// pool has changed since the last one, at most `pool_bytes`.
    virtual bool arm_on_file(charge& /*taken*/) { return false; }
    /// The pool has grown to `pool_bytes`, which a save writes back from now on. A handler for which this is too much
    /// calls `lost`, but not here: the caller holds locks of the pool.
    virtual void grown(charge&, std::uint64_t /*pool_bytes*/) noexcept {}
    /// Stop saving this pool. A save in progress completes before this returns.
    virtual void disarm(charge& given_back) noexcept = 0;
};

/// Registers the process's handler; nullptr removes it. Requires: no pool is open or being opened at `on_power_fail`;
/// the handler lives as long as it is registered.
void use_handler(handler* used) noexcept;
handler* current_handler() noexcept;

}  // namespace holdfast::powerfail
