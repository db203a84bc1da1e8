// The handler of the library, in the process itself: it learns that the power fails, stops the threads of the program,
// and saves its pools.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/handler.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::powerfail {

/// Where `holdfast powerd` listens unless it is told otherwise.
inline constexpr const char* usual_daemon_socket = "/run/holdfast/powerd.sock";

struct process_handler_options {
    /// How long the power lasts after it is known to fail.
    std::chrono::microseconds hold_up{10'000};
    /// How much of that the handler may plan for: the scheduler takes the rest.
    double share = 0.5;
    /// If the process still runs this long after a save, the power has stayed. Must exceed `hold_up`; otherwise only
    /// pools on ordinary files are armed. 0: only the daemon, or `when_saved` by calling `power_is_back`, can report
    /// that the power has stayed, since everything else is stopped.
    std::chrono::milliseconds stays_after{1000};
    /// Minimum number of threads for which the budget is computed.
    unsigned threads = 16;
    /// False: nothing is stopped. For programs that themselves prevent stores to a pool when they call `fail_power`.
    bool parks = true;

    // The triggers that report a power failure. `fail_power` is always available.
    bool on_sigpwr = true;     ///< SIGPWR, which init and uninterruptible power supplies' daemons send
    std::string carrier{};     ///< a serial line whose carrier drops, such as /dev/ttyS0
    std::string button{};      ///< an input device with a power key, such as /dev/input/event0
    std::string daemon{};      ///< the socket of `holdfast powerd`, such as `usual_daemon_socket`
    /// After this time without a heartbeat of the daemon, which sends one every 20 ms, all pools continue at `power`.
    std::chrono::milliseconds daemon_silence{75};

    /// Called when all is saved, while all threads are still stopped. It must not lock or allocate: a stopped thread
    /// may hold the lock.
    std::function<void()> when_saved{};
};

/// What a save would take, in microseconds, and what it may.
struct save_budget {
    std::uint64_t park_us = 0;
    std::uint64_t copy_us = 0;
    std::uint64_t write_back_us = 0;  ///< or to sync
    std::uint64_t allowed_us = 0;  ///< the share of the hold-up time

    std::uint64_t sum_us() const noexcept { return park_us + copy_us + write_back_us; }
};

/// Result of one alarm. Times are measured from its detection.
struct alarm_report {
    using time = std::chrono::nanoseconds;
    std::uint64_t number = 0;  ///< of the alarm, from 1
    std::size_t at_power = 0;  ///< pools on ordinary files, which are being synced and continue at `power`
    std::size_t pools = 0;     ///< that are saved; 0: no pool was armed, or a thread could not be stopped
    unsigned threads = 0;      ///< that were stopped
    bool is_stopped = false;   ///< all threads were
    time parked{}, log_copied{}, written_back{}, sealed{}, resumed{}, released{};
};

/// Saves the pools of this process.
///
/// It promises: what was acknowledged on an armed pool survives, if the hold-up time is what the options say and the
/// system lets its thread and the stopped ones run at once. It stops only threads of its own process, and writes back
/// only lines of its own pools: by instructions that reach every core's caches, but line by line. Where it may, it runs
/// with a real-time priority. A save that is cut short leaves a pool that counts as not saved, and never a torn pool
/// that opens without an error.
///
/// Where a thread cannot be stopped within the hold-up time (it blocks the signal, or the kernel holds it), nothing is
/// sealed: that thread might store to a pool while it is saved. All threads resume, and if the power stays, the pools
/// continue at `power`.
///
/// Pools on ordinary files, which are page-granular, need a `hold_up` of seconds, such as that of an uninterruptible
/// power supply's last charge: no thread is stopped, and an alarm, also one of the daemon's for later, makes each pool
/// sync its file once and continue at `power`. A handler manages pools of one kind only, that of the first.
///
/// A process has one; the program passes it to `use_handler`. Thread-safe. A forked child begins without pools, and
/// arms its own. What holds if the process dies inside: as for a process that is killed elsewhere; the next opening in
/// this boot loses nothing.
/// Source: DNV Memory, sections 3.1 and 4.2.
class process_handler final : public handler {
public:
    /// Measures what copies and stopping threads take, in some milliseconds, and takes the signals. Threads are started
    /// when the first pool is armed. `ready` reports triggers that are not available.
    explicit process_handler(process_handler_options options = {});
    /// Requires: no pool is armed.
    ~process_handler() override;
    process_handler(const process_handler&) = delete;
    process_handler& operator=(const process_handler&) = delete;

    /// Why this handler declines every pool: a trigger that cannot be opened, a daemon that does not answer. Errors:
    /// those of the triggers.
    result<void> ready() const;

    /// Declines a pool with which a save would take more than the share of the hold-up time. Measures on the pool, and
    /// stops all threads for a moment to see whether it can.
    bool arm(charge& taken) override;
    /// The same of a pool on an ordinary file, by a measurement of a sync in its directory. Stops nothing.
    bool arm_on_file(charge& taken) override;
    void grown(charge& of, std::uint64_t pool_bytes) noexcept override;
    void disarm(charge& given_back) noexcept override;

    /// Why the last pool was declined; empty: none was.
    std::string last_decline() const;
    std::size_t pools() const;
    /// Of all armed pools together.
    save_budget budget() const;

    /// Reports a power failure, as a trigger does. Returns when all threads run again. Requires: the caller is no
    /// signal handler. Errors: misuse (no pool was ever armed in this process).
    result<alarm_report> fail_power();
    /// The power has stayed: threads may run on. Async-signal-safe. While all threads are stopped only `when_saved` can
    /// call it.
    void power_is_back() noexcept;
    /// Stops saving: all pools continue at `power`. Returns whether all do. The handler calls it itself when the daemon
    /// falls silent, when a pool has grown too large, and when a thread could not be stopped. Requires: as
    /// `charge::lost`.
    bool give_up();
    /// Of the last alarm.
    alarm_report last_alarm() const;

private:
    class implementation;
    std::unique_ptr<implementation> made_;
};

}  // namespace holdfast::powerfail
