// The thread that waits for what the triggers have to say, and calls who has to know.
#pragma once

#include <holdfast/powerfail/trigger.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <poll.h>

namespace holdfast::powerfail {

class watcher {
public:
    using clock = std::chrono::steady_clock;
    struct duties {
        /// Called by the thread, with the moment at which it was known. Alarms meanwhile are ignored.
        std::function<void(clock::time_point)> power_fails;
        /// Called by the thread when a trigger is lost; it must not wait.
        std::function<void()> lost;
        /// Called by the thread when the power is back, but for what ends an alarm.
        std::function<void()> power_is_back = [] {};
    };

    /// `on_sigpwr`: SIGPWR is one more trigger, as long as the watcher lives. One watcher of a process has it.
    watcher(std::vector<std::unique_ptr<trigger>> triggers, bool on_sigpwr, duties calls);
    /// Ends the thread, behind an alarm that was told before. Requires: `power_fails`, if it is called, returns.
    ~watcher();
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// From now on SIGPWR does not end the process; a watcher that takes it hears of it, also of one that came before.
    static void take_sigpwr() noexcept;
    /// What has come so far is no alarm. Returns when it came; nothing: none did. Requires: no watcher takes SIGPWR.
    static std::optional<clock::time_point> forget_sigpwr() noexcept;

    /// False: there is no thread for it.
    bool start() noexcept;
    /// As if a trigger had said so. Thread-safe, async-signal-safe.
    void tell(news what) noexcept;
    /// Waits until the power is back, a trigger says so, or `at_most` has passed; 0: for ever. Requires: the caller is
    /// in `power_fails`. Neither locks nor allocates.
    void wait_for_power(std::chrono::milliseconds at_most) noexcept;
    bool has_lost_trigger() const noexcept { return has_lost_trigger_.load(std::memory_order_acquire); }

private:
    struct heard {
        bool fails = false;
        bool is_back = false;
        bool stops = false;
    };
    void watch() noexcept;
    heard wait(clock::time_point until) noexcept;
    void listen_to(std::size_t index, clock::time_point now, heard& all) noexcept;
    /// `index`: in `polled_`.
    void note_loss(std::size_t index) noexcept;
    int wait_ms(clock::time_point until) const noexcept;

    std::vector<std::unique_ptr<trigger>> triggers_;
    std::vector<clock::time_point> last_heard_;
    std::vector<pollfd> polled_;  ///< the triggers', and what wakes
    std::atomic<int> wakes_{-1};  ///< -1: closed by others
    bool on_sigpwr_;
    duties calls_;
    std::atomic<bool> told_fails_{false};
    std::atomic<bool> told_back_{false};
    std::atomic<bool> stops_{false};
    std::atomic<bool> has_lost_trigger_{false};
    bool loss_to_tell_ = false;
    std::thread thread_;
};

}  // namespace holdfast::powerfail
