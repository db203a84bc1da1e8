// How the rig tells the machine that its power fails, where it does not do so from outside.
#pragma once

namespace holdfast::rig {

/// The machine's second serial port with the kernel module's line discipline, from construction to destruction. Throws
/// std::system_error.
class signal_line {
public:
    signal_line();
    ~signal_line();
    signal_line(const signal_line&) = delete;
    signal_line& operator=(const signal_line&) = delete;

private:
    int opened_ = -1;
};

/// Reads lines from the console: `debug` writes to the module's file in debugfs, `panic` makes the kernel panic,
/// `restart` restarts the machine by force, `warning` sends this process SIGPWR. Returns at the end of the console.
void obey_console();

}  // namespace holdfast::rig
