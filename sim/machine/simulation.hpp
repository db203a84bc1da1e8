// One run of one guest program on one machine, from the filling of its structure to the verification of the result.
#pragma once

#include <sim/logging/logging_hardware.hpp>
#include <sim/machine/machine_config.hpp>
#include <sim/machine/run_trace.hpp>
#include <sim/machine/statistics.hpp>

#include <functional>

namespace holdfast::sim {

class common_findings;
struct simulated_machine;

struct simulation_options {
    std::string program{};  ///< the path of its ELF file
    std::uint32_t threads = 1;
    std::uint64_t footprint_bytes = 32u << 20;
    std::uint64_t operations = 100'000;  ///< that are measured, of all threads together
    std::uint64_t seed = 1;
    std::string element = "int";
    sim::design design = sim::design::non_pers;
    logged_values unsafe_values = logged_values::redo;  ///< which ones the log of unsafe-base has
    std::optional<trace_window> trace{};
    /// For hardware of one's own: called with the machine before anything runs on it, to put pointers into its ports;
    /// and when the last store of the measured phase has taken effect, at `end`. What is attached has to live until
    /// simulate returns, and may be called after `measured`, too.
    std::function<void(simulated_machine& built)> attach{};
    std::function<void(simulated_machine& built, time end)> measured{};
};

struct simulation_result {
    /// Of the detailed phase, in a fixed order: bit for bit the same in each run.
    std::vector<statistic> statistics{};
    /// Those that depend on the host.
    std::vector<statistic> host{};
    std::optional<timeline> trace{};  ///< if it was asked for
    bool verified = false;
    std::string said{};      ///< the program's last line
    std::string expected{};  ///< that of the program without a log, caches and time

    /// A number by its name; 0 if there is none.
    double number(std::string_view name) const noexcept {
        for (const std::vector<statistic>* each : {&statistics, &host}) {
            for (const statistic& one : *each) {
                if (one.name == name) return one.value;
            }
        }
        return 0;
    }
};

/// What is being done and how many instructions or transactions of it are done; total 0: unknown.
using simulation_progress = std::function<void(const char* phase)>;

/// Fills without time, warms the caches with operations, measures `operations` transactions in detail, and lets the
/// program finish without time on the bytes that caches and memory have then; compares what the program found with
/// what one finds that logs nothing and never saw them. Requires: check(config) finds nothing.
/// Errors: the program is not there or fails, or ends before as many operations were measured, or before the window
/// that is to be traced.
/// Thread safety: several may run side by side.
result<simulation_result> simulate(const machine_config& config, const simulation_options& options,
                                   const simulation_progress& progress);
/// The same; what is found that others need, too, is taken from `common` and left there.
result<simulation_result> simulate(const machine_config& config, const simulation_options& options,
                                   const simulation_progress& progress, common_findings& common);

}  // namespace holdfast::sim
