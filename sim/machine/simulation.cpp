// The phases of a run: fill, warm up, measure, finish, and once more without a machine to compare.
#include <sim/machine/simulation.hpp>

#include <sim/front/machine.hpp>
#include <sim/machine/common_findings.hpp>
#include <sim/machine/measured_phase.hpp>
#include <sim/machine/running_program.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/warming_memory.hpp>

namespace holdfast::sim {
namespace {

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
    const std::uint64_t timed = options.operations + measured_phase::settling_transactions(options);
    const std::uint64_t most_operations = most + timed + options.operations / 4 + 1000;
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
    measured_phase phase(guest, built, filled->hardware.get(), config, options);
    if (auto failed = phase.run(made)) return *failed;
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
