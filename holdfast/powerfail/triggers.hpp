// The triggers that there are, besides SIGPWR, which the watcher takes itself.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/trigger.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace holdfast::powerfail {

/// The power key of an input device, /dev/input/event0 or such. Errors: not_found, permission_denied, invalid_argument
/// (it is no input device, or has no power key), io.
result<std::unique_ptr<trigger>> power_button(const std::string& device);
/// The same for a descriptor from which input events can be read; the trigger closes it.
std::unique_ptr<trigger> power_button_at(int descriptor);

/// The lines of a modem, as the carrier trigger asks for them.
class modem_lines {
public:
    virtual ~modem_lines() = default;
    /// Waits until the carrier has changed. False: it never will any more.
    virtual bool wait_for_change() = 0;
    virtual bool has_carrier() = 0;
};
/// The carrier of a serial line: where it drops the power fails, where it is there again it is back. A thread waits for
/// it; a change while all threads are stopped goes unseen. Errors: not_found, permission_denied, invalid_argument (it
/// has no modem lines), level_unavailable (it has no carrier now), io.
result<std::unique_ptr<trigger>> carrier(const std::string& line);
/// The same for any lines.
result<std::unique_ptr<trigger>> carrier_of(std::unique_ptr<modem_lines> lines);

/// A connection to `holdfast powerd` at that socket. It is lost where it ends, or the daemon is silent for so long, or
/// says that the power will fail only later: time enough to be at `power` by then. Errors: not_found,
/// permission_denied, io (what answers is no such daemon).
result<std::unique_ptr<trigger>> daemon_link(const std::string& socket, std::chrono::milliseconds silence_allowed);

}  // namespace holdfast::powerfail
