// The phases of a run: fill, warm up, measure, finish, and once more without a machine to compare.
#include <sim/machine/simulation.hpp>

#include <sim/core/log_operation.hpp>
#include <sim/energy/logging_overhead.hpp>
#include <sim/front/functional_memory.hpp>
#include <sim/front/machine.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/warming_memory.hpp>

#include <ctime>

namespace holdfast::sim {
namespace {

/// Instructions by which a hart may run ahead where there is no time: changing harts costs the host as much as dozens
/// of instructions.
constexpr std::uint64_t untimed_quantum = 1000;

double cpu_seconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A program with its address space and what it has written.
class running_program {
public:
    static result<std::unique_ptr<running_program>> start(const machine_config& config,
                                                          const simulation_options& options, std::uint64_t operations);

    result<std::optional<int>> run_functionally(bool to_region_of_interest) {
        functional_memory memory(*space_);
        memory.take_over(transactions_);
        if (to_region_of_interest) memory.pause_behind(custom_operation::region_of_interest_begin);
        no_observer nobody;
        auto status = machine<functional_memory>(*process_, memory, nobody).run();
        log_operations_ = memory.log_operations();
        transactions_ = memory.transactions();
        return status;
    }
    /// What the program did with its log in the phase without time that came last, and the transaction registers at its
    /// end, for the machine that goes on.
    void announce(port::control_registers& registers) const {
        for (const functional_memory::log_operation& each : log_operations_) {
            operate_log(registers, each.by, each.what, each.first, each.second, time{});
        }
        registers.take_over(transactions_, time{});
    }
    /// The last phase; what the program says then is its result.
    result<std::string> finish() {
        restart_clocks(untimed_quantum);
        const auto status = run_functionally(false);
        if (!status) return status.problem();
        while (!said_.empty() && said_.back() == '\n') said_.pop_back();
        if (status->value_or(-1) != 0) return problem{"the program failed", name_, "exit status 0", said_};
        return said_;
    }

    /// Times of the phases have units of their own.
    void restart_clocks(std::uint64_t quantum) {
        process_->harts().set_quantum(quantum);
        for (hart& each : process_->harts().all()) each.local_time = each.waited = each.spun = 0;
    }

    /// The other way round.
    void take_over(const transaction_registers& others) { transactions_ = others; }

    const address_space& space() const { return *space_; }
    sim::process& process() { return *process_; }

private:
    std::string name_{};
    std::optional<address_space> space_{};
    program loaded_{};
    std::optional<sim::process> process_{};
    std::string said_{};
    std::vector<functional_memory::log_operation> log_operations_{};
    transaction_registers transactions_{harts_max};
};

/// The program's --logging.
std::string software_logging(const simulation_options& options) {
    switch (options.design) {
    case design::unsafe_base: return options.unsafe_values == logged_values::undo ? "undo-unsafe" : "redo-unsafe";
    case design::redo_clwb: return "redo";
    case design::undo_clwb: return "undo";
    case design::hwl: return "lines";
    case design::snf_sw: return "snf";
    default: return "none";
    }
}

/// Undo and redo in a log of all threads have a program of their own beside it.
std::string program_of(const machine_config& config, const simulation_options& options) {
    const bool is_either = options.design == design::redo_clwb || options.design == design::undo_clwb;
    const bool is_central = layout_of(config.software_log.place, 0, options.threads).is_central();
    return options.program + (is_either && is_central ? "-central" : "");
}

result<std::unique_ptr<running_program>> running_program::start(const machine_config& config,
                                                                const simulation_options& options,
                                                                std::uint64_t operations) {
    auto made = std::make_unique<running_program>();
    made->name_ = program_of(config, options);
    const auto file = read_file(made->name_);
    if (!file) return file.problem();
    auto space = address_space::create();
    if (!space) return space.problem();
    made->space_ = *std::move(space);
    auto loaded = load_elf(*file, made->name_, *made->space_);
    if (!loaded) return loaded.problem();
    made->loaded_ = *std::move(loaded);
    std::string& said = made->said_;
    made->process_.emplace(made->loaded_, *made->space_, [&said](int, std::string_view text) { said += text; },
                           process_options{options.threads, untimed_quantum});
    auto started = made->process_->start({options.program, "--operations", std::to_string(operations), "--footprint",
                                          std::to_string(options.footprint_bytes), "--threads",
                                          std::to_string(options.threads), "--seed", std::to_string(options.seed),
                                          "--element", options.element, "--logging", software_logging(options), "--log",
                                          std::string(name_of(config.software_log.place)),
                                          "--log-bytes", std::to_string(config.software_log.bytes)});
    if (!started) return started.problem();
    return made;
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

}  // namespace

result<simulation_result> simulate(const machine_config& config, const simulation_options& options,
                                   const simulation_progress& progress) {
    const std::uint64_t warm_up_transactions = warm_up_most(config, options);
    const std::uint64_t operations = warm_up_transactions + options.operations + options.operations / 4 + 1000;
    auto guest = running_program::start(config, options, operations);
    if (!guest) return guest.problem();
    progress("filling");
    if (auto filled = (*guest)->run_functionally(true); !filled) return filled.problem();
    if (auto outside = arena_outside_nvram((*guest)->space(), config.memory.map)) return *outside;
    simulation_result made;
    {
        simulated_machine built(config, options.threads);
        std::optional<logging_hardware> hardware;
        if (has_logging_hardware(options.design))
            hardware.emplace(options.design, config.log, built.ports, built.registers, built.memory, built.caches);
        if (options.attach) options.attach(built);
        progress("warming up");
        const auto warmed = warm(**guest, built, warm_up_transactions);
        if (!warmed) return warmed.problem();
        progress("measuring");
        const logging_hardware* const attached = hardware ? &*hardware : nullptr;
        if (auto failed = measure(**guest, built, attached, config, options, made)) return *failed;
        if (hardware) {
            if (auto failed = add_log_statistics(made.statistics, *hardware)) return *failed;
        }
        made.statistics.push_back({"filled_bytes", "bytes", static_cast<double>(warmed->filled_bytes)});
        made.statistics.push_back({"warm_up_transactions", "count", static_cast<double>(warmed->transactions)});
        made.statistics.push_back({"warm_up_complete", "1", warmed->complete ? 1.0 : 0.0});
        take_back(built, (*guest)->space());
        (*guest)->take_over(built.registers.transactions());
    }
    progress("verifying");
    auto said = (*guest)->finish();
    if (!said) return said.problem();
    made.said = *said;
    auto reference = running_program::start(config, options, operations);
    if (!reference) return reference.problem();
    auto expected = (*reference)->finish();
    if (!expected) return expected.problem();
    made.expected = *expected;
    made.verified = made.said == made.expected && made.said.find(" verified: ") != std::string::npos;
    return made;
}

}  // namespace holdfast::sim
