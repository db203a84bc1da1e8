// The part of a run that takes time: until the scans of logging hardware have settled, and from then on measured.
//
// While caches are warmed up there is no time, so scans come as the log fills, not as time passes. How much of the
// caches is dirty, how much of the log is in use and when the next scan begins are as they stay only behind a few scans
// in time and a lap of the log, which is empty at first. What happens until then is not measured.
#pragma once

#include <sim/core/scoreboard.hpp>
#include <sim/front/machine.hpp>
#include <sim/machine/run_trace.hpp>
#include <sim/machine/running_program.hpp>
#include <sim/machine/simulated_machine.hpp>

namespace holdfast::sim {

class measured_phase {
public:
    /// `hardware` is nullptr if the design has none. All outlive it. Requires: the caches are warm.
    measured_phase(running_program& guest, simulated_machine& built, const logging_hardware* hardware,
                   const machine_config& config, const simulation_options& options);

    /// Transactions that are done before measuring begins, if there are scans. Warming up leaves more dirty lines than
    /// scans that follow each other in time, and the first ones take longer. As many for each machine: what differs in
    /// its scans alone is measured at the same time.
    static std::uint64_t settling_transactions(const simulation_options& options) noexcept {
        return options.operations;
    }

    /// Statistics and the trace go into `into`.
    std::optional<problem> run(simulation_result& into);

private:
    /// A log that is larger never runs short in a run: nobody waits until it has gone around. That is 4 MiB.
    static constexpr std::uint64_t units_to_settle = 131'072;

    /// Everything that counts, at one moment.
    struct counted {
        counter_list core, below, log;
        std::uint64_t transactions = 0, waited = 0, spun = 0;
        cycle at = 0;
        std::vector<statistic> energy{};
    };

    std::optional<problem> run_until(std::uint64_t transactions);
    bool has_settled() const;
    std::optional<problem> settle();
    std::optional<problem> failure() const;
    trace_window trace_window_from(cycle began_at) const noexcept;
    void watch(run_trace& trace);
    std::optional<problem> collect_trace(run_trace&& trace, cycle cycles, simulation_result& into) const;
    counted counted_at(cycle at) const;
    std::vector<statistic> energy_until_now() const;
    void add_statistics(const counted& before, const counted& after, std::vector<statistic>& to) const;

    running_program& guest_;
    simulated_machine& built_;
    const logging_hardware* hardware_;
    const machine_config& config_;
    const simulation_options& options_;
    core_memory memory_;
    scoreboard board_;
    machine<core_memory, scoreboard> machine_;
    std::uint64_t log_begins_ = 0;  ///< units that were appended before
};

}  // namespace holdfast::sim
