// Pools at `on_power_fail`, whose logs the kernel module saves, or declines; and those on ordinary files, which the
// process syncs when it is warned.
#pragma once

#include "signals.hpp"

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/module_handler.hpp>
#include <holdfast/powerfail/process_handler.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast::rig {

/// The level that the pools of such an engine are asked to have.
inline bool is_armed_name(const std::string& engine) {
    return engine.ends_with("_armed") || engine.ends_with("_declined");
}

/// The program's handler, from construction to the end of the program.
class armed_by_module {
public:
    explicit armed_by_module(const std::string& engine) : is_declined_(engine.ends_with("_declined")) {
        powerfail::use_handler(&handler_);
    }
    ~armed_by_module() { powerfail::use_handler(nullptr); }
    armed_by_module(const armed_by_module&) = delete;
    armed_by_module& operator=(const armed_by_module&) = delete;

    /// From now on the machine hears that its power fails.
    void listen() {
        line_.emplace();
        std::thread([] { obey_console(); }).detach();
    }
    /// Throws where the pool is armed and should not be, or the other way round. Called when it is open.
    void check() {
        if (is_checked_.exchange(true)) return;
        if ((handler_.pools() == 0) == is_declined_) return;
        throw std::runtime_error(is_declined_ ? "the module took a log that it had to decline"
                                              : "the module declined: " + handler_.last_decline());
    }

private:
    bool is_declined_;
    std::atomic<bool> is_checked_{false};
    powerfail::module_handler handler_;
    std::optional<signal_line> line_;
};

/// The same for pools on ordinary files.
class armed_by_process {
public:
    armed_by_process() { powerfail::use_handler(&handler_); }
    ~armed_by_process() { powerfail::use_handler(nullptr); }
    armed_by_process(const armed_by_process&) = delete;
    armed_by_process& operator=(const armed_by_process&) = delete;

    void listen() {
        std::thread([] { obey_console(); }).detach();
    }
    /// Throws where the pool is not armed, and nobody has warned. Called when it is open.
    void check() {
        if (is_checked_.exchange(true) || handler_.pools() != 0) return;
        throw std::runtime_error("the handler declined: " + handler_.last_decline());
    }

private:
    static powerfail::process_handler_options options() {
        powerfail::process_handler_options made;
        made.hold_up = std::chrono::minutes{10};  // of an emulated disk
        made.parks = false;
        return made;
    }

    std::atomic<bool> is_checked_{false};
    powerfail::process_handler handler_{options()};
};

}  // namespace holdfast::rig
