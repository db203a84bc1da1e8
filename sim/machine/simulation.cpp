// The phases of a run: fill, warm up, measure, finish, and once more without a machine to compare.
#include <sim/machine/simulation.hpp>

#include <sim/energy/logging_overhead.hpp>
#include <sim/front/machine.hpp>
#include <sim/machine/common_findings.hpp>
#include <sim/machine/running_program.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/warming_memory.hpp>

#include <ctime>

namespace holdfast::sim {
namespace {

double cpu_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// What lies in the arena outside the NVRAM would be DRAM, and no run would show it.
std::optional<problem> arena_outside_nvram(const address_space& space, const memory_map& map) {
    for (std::uint64_t page = arena_begin.value; page < address_space::limit; page += address_space::page_bytes) {
        if (space.find<1>(page, readable) == nullptr) continue;
        if (map.is_nvram({page}) && map.is_nvram({page + address_space::page_bytes - 1})) continue;
        const address end = map.nvram_begin + map.nvram_bytes;
        return problem{"the program's arena is not in the NVRAM", "memory.nvram_begin, memory.nvram_bytes",
                       "all pages of the arena, such as " + hexadecimal(page),
                       "NVRAM from " + hexadecimal(map.nvram_begin.value) + " to " + hexadecimal(end.value)};
    }
    return std::nullopt;
}

struct warm_up {
    std::uint64_t filled_bytes = 0;  ///< of the NVRAM
    std::uint64_t transactions = 0;
    bool complete = false;
};

/// The largest number of transactions that warm the caches up. A footprint that fits into L2 is warm when about every
/// line of it has been asked for.
std::uint64_t warm_up_most(const machine_config& config, const simulation_options& options) {
    const std::uint64_t lines = config.caches.l2.bytes / line_bytes;
    return options.footprint_bytes <= config.caches.l2.bytes ? options.footprint_bytes / line_bytes : 8 * lines;
}

result<warm_up> warm(running_program& guest, simulated_machine& built, std::uint64_t transactions_most) {
    built.memory.set_instant(true);
    built.caches.set_instant(true);
    const std::uint64_t filled_bytes = fill(built, guest.space());
    guest.announce(built.registers);
    guest.restart_clocks(untimed_quantum);
    warming_memory memory(built.placement, guest.space(), built.caches, built.registers, built.ports,
                          {transactions_most});
    no_observer nobody;
    const auto status = machine<warming_memory>(guest.process(), memory, nobody).run();
    if (!status) return status.problem();
    if (built.ports.on_time) built.ports.on_time->measured_begin();
    built.caches.set_instant(false);
    built.memory.set_instant(false);
    return warm_up{filled_bytes, memory.transactions(), memory.is_warm() && memory.transactions() < transactions_most};
}

void add_core_statistics(std::vector<statistic>& to, const scoreboard& board, const core_memory& memory,
                         running_program& guest, cycle cycles) {
    counter_list nothing, sum;
    scoreboard_counters all;
    std::uint64_t waited = 0, spun = 0;
    for (const hart& each : guest.process().harts().all()) {
        const scoreboard_counters& of = board.counters(each.id);
        all.instructions += of.instructions;
        all.branches += of.branches;
        all.mispredictions += of.mispredictions;
        all.loads += of.loads;
        all.stores += of.stores;
        all.atomics += of.atomics;
        waited += each.waited;
        spun += each.spun;
    }
    nothing.add("", scoreboard_counters{});
    nothing.add("", core_memory_counters{});
    sum.add("", all);
    sum.add("", memory.counters());
    to = sum.since(nothing);
    to.push_back({"spinning_instructions", "count", static_cast<double>(spun)});
    to.push_back({"sleeping_cycles", "cycles", static_cast<double>(waited)});
    to.push_back({"cycles", "cycles", static_cast<double>(cycles)});
    const double seconds = static_cast<double>(memory.clock().time_of(cycles).picoseconds) * 1e-12;
    to.push_back({"instructions_per_cycle", "1", static_cast<double>(all.instructions) / static_cast<double>(cycles)});
    to.push_back({"tx_per_s", "1/s", static_cast<double>(memory.counters().transactions) / seconds});
}

std::optional<problem> add_log_statistics(std::vector<statistic>& to, const logging_hardware& hardware) {
    if (hardware.log().failure()) return hardware.log().failure();
    counter_list nothing, all;
    nothing.add("log_", log_counters{});
    nothing.add("log_", scan_counters{});
    all.add("log_", hardware.log().counters());
    all.add("log_", hardware.scans());
    const std::vector<statistic> counted = all.since(nothing);
    to.insert(to.end(), counted.begin(), counted.end());
    return std::nullopt;
}

/// Of NVRAM and caches, and of what logging hardware adds: its buffer, and where there are scans the state bits.
std::vector<statistic> energy_until_now(const simulated_machine& built, const logging_hardware* hardware,
                                        const machine_config& config, design what) {
    std::vector<statistic> all = energy_of(built);
    if (hardware == nullptr) return all;
    const double buffer_pj = buffer_energy_pj(hardware->log().counters().bytes, config.caches.dl1);
    all.push_back({"log_buffer_energy_pj", "pJ", config.log.buffer_entries == 0 ? 0 : buffer_pj});
    const double bits_pj = what == design::fwb ? state_bits_energy_pj(built, config.caches) : 0;
    all.push_back({"state_bits_energy_pj", "pJ", bits_pj});
    return all;
}

/// Of the core and of all that `energy_until_now` has.
void add_energy(std::vector<statistic>& to, double instructions, const std::vector<statistic>& before,
                const std::vector<statistic>& after) {
    double sum_pj = instructions * energy_table{}.core_pj_per_instruction;
    to.push_back({"core_energy_pj", "pJ", sum_pj});
    for (std::size_t i = 0; i < after.size(); ++i) {
        to.push_back({after[i].name, after[i].unit, after[i].value - before[i].value});
        sum_pj += to.back().value;
    }
    to.push_back({"energy_pj", "pJ", sum_pj});
}

/// The detailed phase. Its statistics go into `into`.
std::optional<problem> measure(running_program& guest, simulated_machine& built, const logging_hardware* hardware,
                               const machine_config& config, const simulation_options& options,
                               simulation_result& into) {
    guest.restart_clocks(config.scheduling.quantum_cycles);
    core_memory memory(config.core, config.caches, built.placement, guest.space(), built.caches, built.registers);
    memory.pause_behind_transactions(options.operations);
    scoreboard board(config.core, built.placement, memory, guest.process().harts(),
                     [&built](time now) { built.settle(now); });
    std::optional<run_trace> trace;
    if (options.trace) {
        trace.emplace(config, built.placement, *options.trace, hardware != nullptr);
        memory.set_watch(*trace);
        board.set_watch(*trace);
        built.ports.on_cache = &*trace;
        built.ports.on_bank = &*trace;
        built.ports.on_logging = &*trace;
    }
    const counter_list before = counters_of(built);
    const auto energy_before = energy_until_now(built, hardware, config, options.design);
    const double began_s = cpu_seconds();
    const auto status = machine<core_memory, scoreboard>(guest.process(), memory, board).run();
    const double took_s = cpu_seconds() - began_s;
    if (!status) return status.problem();
    if (memory.counters().transactions < options.operations) {
        return problem{"the program ended too early", options.program,
                       std::to_string(options.operations) + " transactions",
                       std::to_string(memory.counters().transactions)};
    }
    if (memory.is_stuck()) {
        return problem{"a transaction could not begin", options.program, "a commit within 10 ms",
                       "256 active transactions, none of which commits"};
    }
    if (built.memory.nvram().has_overflowed()) {
        return problem{"hardware sent writes without waiting until they were accepted", "the NVRAM controller",
                       "each one when the one before it has been accepted",
                       "hundreds that wait for a place in the queue"};
    }
    const cycle cycles = memory.drain_everything();
    if (options.measured) options.measured(built, memory.clock().time_of(cycles));
    if (trace) {
        built.ports.on_cache = nullptr;
        built.ports.on_bank = nullptr;
        built.ports.on_logging = nullptr;
        if (cycles <= options.trace->from) {
            return problem{"the run ended before the window to be traced", options.program,
                           "more than " + std::to_string(options.trace->from) + " cycles", std::to_string(cycles)};
        }
        into.trace = std::move(*trace).collected("cycles " + std::to_string(options.trace->from) + " to " +
                                                 std::to_string(options.trace->to));
    }
    add_core_statistics(into.statistics, board, memory, guest, cycles);
    const std::vector<statistic> below = counters_of(built).since(before);
    into.statistics.insert(into.statistics.end(), below.begin(), below.end());
    const double instructions = into.statistics.front().value;
    add_energy(into.statistics, instructions, energy_before,
               energy_until_now(built, hardware, config, options.design));
    into.host = {{"host_instructions_per_s", "1/s", instructions / took_s},
                 {"host_detailed_cpu_s", "s", took_s}};
    return std::nullopt;
}

/// A program behind its filling, and the machine that goes on with it.
struct filled_machine {
    std::unique_ptr<running_program> guest;
    std::unique_ptr<simulated_machine> built;
    std::unique_ptr<logging_hardware> hardware;  ///< of the design; nullptr if it has none
};

result<filled_machine> fill_and_build(const machine_config& config, const simulation_options& options,
                                      std::uint64_t operations) {
    auto guest = running_program::start(config, options, operations);
    if (!guest) return guest.problem();
    if (auto failed = (*guest)->fill()) return *failed;
    if (auto outside = arena_outside_nvram((*guest)->space(), config.memory.map)) return *outside;
    filled_machine made{*std::move(guest), std::make_unique<simulated_machine>(config, options.threads), nullptr};
    if (has_logging_hardware(options.design)) {
        simulated_machine& built = *made.built;
        made.hardware = std::make_unique<logging_hardware>(options.design, config.log, built.ports, built.registers,
                                                           built.memory, built.caches);
    }
    return made;
}

/// How many operations the program is told to do, before it begins. What it does behind the measured phase costs the
/// host time, so the caches are warmed once only to count how many transactions that takes without a log. All designs
/// get the same number, because some programs lay out their memory by it. None takes more to warm the caches: whatever
/// logs or cleans lines writes more. Twice as many as are needed, so that no hart is done with its part while others
/// are measured.
result<std::uint64_t> operations_of(const machine_config& config, simulation_options options) {
    options.design = design::non_pers;
    options.attach = nullptr;
    const std::uint64_t most = warm_up_most(config, options);
    const std::uint64_t most_operations = most + options.operations + options.operations / 4 + 1000;
    if (options.footprint_bytes <= config.caches.l2.bytes) return most_operations;
    const auto filled = fill_and_build(config, options, most_operations);
    if (!filled) return filled.problem();
    const auto warmed = warm(*filled->guest, *filled->built, most);
    if (!warmed) return warmed.problem();
    return std::min(most_operations, 2 * (warmed->transactions + options.operations) + 1000);
}

/// What the program without a log says, that never sees a machine: a design's own has to say the same.
result<std::string> reference(const machine_config& config, simulation_options options, std::uint64_t operations) {
    options.design = design::non_pers;
    auto guest = running_program::start(config, options, operations);
    if (!guest) return guest.problem();
    return (*guest)->finish();
}

}  // namespace

result<simulation_result> simulate(const machine_config& config, const simulation_options& options,
                                   const simulation_progress& progress) {
    common_findings nobody_else;
    return simulate(config, options, progress, nobody_else);
}

result<simulation_result> simulate(const machine_config& config, const simulation_options& options,
                                   const simulation_progress& progress, common_findings& common) {
    progress("filling");
    const auto operations = common.operations(config, options, [&] { return operations_of(config, options); });
    if (!operations) return operations.problem();
    auto filled = fill_and_build(config, options, *operations);
    if (!filled) return filled.problem();
    running_program& guest = *filled->guest;
    simulated_machine& built = *filled->built;
    if (options.attach) options.attach(built);
    progress("warming up");
    const auto warmed = warm(guest, built, warm_up_most(config, options));
    if (!warmed) return warmed.problem();
    progress("measuring");
    simulation_result made;
    if (auto failed = measure(guest, built, filled->hardware.get(), config, options, made)) return *failed;
    if (filled->hardware) {
        if (auto failed = add_log_statistics(made.statistics, *filled->hardware)) return *failed;
    }
    made.statistics.push_back({"filled_bytes", "bytes", static_cast<double>(warmed->filled_bytes)});
    made.statistics.push_back({"warm_up_transactions", "count", static_cast<double>(warmed->transactions)});
    made.statistics.push_back({"warm_up_complete", "1", warmed->complete ? 1.0 : 0.0});
    take_back(built, guest.space());
    guest.take_over(built.registers.transactions());
    filled->hardware.reset();
    filled->built.reset();
    progress("verifying");
    auto said = guest.finish();
    if (!said) return said.problem();
    made.said = *said;
    auto expected =
        common.said(config, options, *operations, [&] { return reference(config, options, *operations); });
    if (!expected) return expected.problem();
    made.expected = *expected;
    made.verified = made.said == made.expected && made.said.find(" verified: ") != std::string::npos;
    return made;
}

}  // namespace holdfast::sim
