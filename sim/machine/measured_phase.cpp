#include <sim/machine/measured_phase.hpp>

#include <sim/energy/logging_overhead.hpp>

#include <algorithm>
#include <ctime>

namespace holdfast::sim {
namespace {

double cpu_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The clocks begin before there is a core memory that reads them.
running_program& with_new_clocks(running_program& guest, std::uint64_t quantum) {
    guest.restart_clocks(quantum);
    return guest;
}

}  // namespace

measured_phase::measured_phase(running_program& guest, simulated_machine& built, const logging_hardware* hardware,
                               const machine_config& config, const simulation_options& options)
    : guest_(with_new_clocks(guest, config.scheduling.quantum_cycles)),
      built_(built),
      hardware_(hardware),
      config_(config),
      options_(options),
      memory_(config.core, config.caches, built.placement, guest.space(), built.caches, built.registers),
      board_(config.core, built.placement, memory_, guest.process().harts(), [this](time now) { built_.settle(now); }),
      machine_(guest.process(), memory_, board_),
      log_begins_(hardware != nullptr ? hardware->log().appended() : 0) {}

std::optional<problem> measured_phase::run_until(std::uint64_t transactions) {
    memory_.pause_behind_transaction(transactions);
    const auto status = machine_.run();
    if (!status) return status.problem();
    if (auto failed = failure()) return failed;
    if (memory_.counters().transactions < transactions) {
        return problem{"the program ended too early", options_.program, std::to_string(transactions) + " transactions",
                       std::to_string(memory_.counters().transactions)};
    }
    return std::nullopt;
}

/// Whatever makes the run void.
std::optional<problem> measured_phase::failure() const {
    if (memory_.is_stuck()) {
        return problem{"a transaction could not begin", options_.program, "a commit within 10 ms",
                       "256 active transactions, none of which commits"};
    }
    if (built_.memory.nvram().has_overflowed()) {
        return problem{"hardware sent writes without waiting until they were accepted", "the NVRAM controller",
                       "each one when the one before it has been accepted",
                       "hundreds that wait for a place in the queue"};
    }
    return hardware_ != nullptr ? hardware_->log().failure() : std::nullopt;
}

bool measured_phase::has_settled() const {
    if (hardware_ == nullptr || !hardware_->has_scans()) return true;
    const hardware_log& log = hardware_->log();
    const std::uint64_t lap = std::min(log.units(), units_to_settle);
    return hardware_->scans_are_steady() && log.appended() - log_begins_ >= lap;
}

std::optional<problem> measured_phase::settle() {
    const bool has_scans = hardware_ != nullptr && hardware_->has_scans();
    return has_scans ? run_until(settling_transactions(options_)) : std::nullopt;
}

std::optional<problem> measured_phase::run(simulation_result& into) {
    if (auto failed = failure()) return failed;
    if (auto failed = settle()) return failed;
    const bool is_settled = has_settled();
    cycle began_at = 0;
    for (const hart& each : guest_.process().harts().all()) began_at = std::max(began_at, board_.last_commit(each.id));
    std::optional<run_trace> trace;
    if (options_.trace) {
        watch(trace.emplace(config_, built_.placement, trace_window_from(began_at), hardware_ != nullptr));
    }
    const counted before = counted_at(began_at);
    const double began_s = cpu_seconds();
    if (auto failed = run_until(before.transactions + options_.operations)) return failed;
    const double took_s = cpu_seconds() - began_s;
    const cycle ended_at = memory_.drain_everything();
    if (options_.measured) options_.measured(built_, memory_.clock().time_of(ended_at));
    if (trace) {
        if (auto failed = collect_trace(*std::move(trace), ended_at - began_at, into)) return failed;
    }
    add_statistics(before, counted_at(ended_at), into.statistics);
    into.statistics.push_back({"settled", "1", is_settled ? 1.0 : 0.0});
    into.host = {{"host_instructions_per_s", "1/s", into.statistics.front().value / took_s},
                 {"host_detailed_cpu_s", "s", took_s}};
    return failure();
}

trace_window measured_phase::trace_window_from(cycle began_at) const noexcept {
    return {began_at + options_.trace->from, began_at + options_.trace->to};
}

void measured_phase::watch(run_trace& trace) {
    memory_.set_watch(trace);
    board_.set_watch(trace);
    built_.ports.on_cache = &trace;
    built_.ports.on_bank = &trace;
    built_.ports.on_logging = &trace;
}

std::optional<problem> measured_phase::collect_trace(run_trace&& trace, cycle cycles, simulation_result& into) const {
    built_.ports.on_cache = nullptr;
    built_.ports.on_bank = nullptr;
    built_.ports.on_logging = nullptr;
    const trace_window& window = *options_.trace;
    if (cycles <= window.from) {
        return problem{"the run ended before the window to be traced", options_.program,
                       "more than " + std::to_string(window.from) + " cycles", std::to_string(cycles)};
    }
    into.trace = std::move(trace).collected("cycles " + std::to_string(window.from) + " to " +
                                            std::to_string(window.to));
    return std::nullopt;
}

measured_phase::counted measured_phase::counted_at(cycle at) const {
    counted made;
    made.at = at;
    scoreboard_counters all;
    for (const hart& each : guest_.process().harts().all()) {
        const scoreboard_counters& of = board_.counters(each.id);
        all.instructions += of.instructions;
        all.branches += of.branches;
        all.mispredictions += of.mispredictions;
        all.loads += of.loads;
        all.stores += of.stores;
        all.atomics += of.atomics;
        made.waited += each.waited;
        made.spun += each.spun;
    }
    made.core.add("", all);
    made.core.add("", memory_.counters());
    made.transactions = memory_.counters().transactions;
    made.below = counters_of(built_);
    if (hardware_ != nullptr) {
        made.log.add("log_", hardware_->log().counters());
        made.log.add("log_", hardware_->scans_until(memory_.clock().time_of(at)));
    }
    made.energy = energy_until_now();
    return made;
}

/// Of NVRAM and caches, and of what logging hardware adds: its buffer, and where there are scans the state bits.
std::vector<statistic> measured_phase::energy_until_now() const {
    std::vector<statistic> all = energy_of(built_);
    if (hardware_ == nullptr) return all;
    const double buffer_pj = buffer_energy_pj(hardware_->log().counters().bytes, config_.caches.dl1);
    all.push_back({"log_buffer_energy_pj", "pJ", config_.log.buffer_entries == 0 ? 0 : buffer_pj});
    const double bits_pj = hardware_->has_scans() ? state_bits_energy_pj(built_, config_.caches) : 0;
    all.push_back({"state_bits_energy_pj", "pJ", bits_pj});
    return all;
}

void measured_phase::add_statistics(const counted& before, const counted& after, std::vector<statistic>& to) const {
    const auto add = [&to](const std::vector<statistic>& more) { to.insert(to.end(), more.begin(), more.end()); };
    add(after.core.since(before.core));
    const double instructions = to.front().value;
    const auto cycles = static_cast<double>(after.at - before.at);
    const double seconds = static_cast<double>(memory_.clock().time_of(after.at - before.at).picoseconds) * 1e-12;
    const auto transactions = static_cast<double>(after.transactions - before.transactions);
    to.push_back({"spinning_instructions", "count", static_cast<double>(after.spun - before.spun)});
    to.push_back({"sleeping_cycles", "cycles", static_cast<double>(after.waited - before.waited)});
    to.push_back({"cycles", "cycles", cycles});
    to.push_back({"instructions_per_cycle", "1", instructions / cycles});
    to.push_back({"tx_per_s", "1/s", transactions / seconds});
    add(after.below.since(before.below));
    double sum_pj = instructions * energy_table{}.core_pj_per_instruction;
    to.push_back({"core_energy_pj", "pJ", sum_pj});
    for (std::size_t i = 0; i < after.energy.size(); ++i) {
        to.push_back({after.energy[i].name, after.energy[i].unit, after.energy[i].value - before.energy[i].value});
        sum_pj += to.back().value;
    }
    to.push_back({"energy_pj", "pJ", sum_pj});
    if (hardware_ != nullptr) add(after.log.since(before.log));
    if (hardware_ != nullptr && hardware_->has_scans()) {
        to.push_back({"scan_periods", "1", seconds * 1e12 / static_cast<double>(config_.log.period().picoseconds)});
    }
    to.push_back({"settling_transactions", "count", static_cast<double>(before.transactions)});
}

}  // namespace holdfast::sim
