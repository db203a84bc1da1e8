// All the parts of one machine, put together, and the copying of a program's bytes into it and out of it.
#pragma once

#include <sim/core/scoreboard.hpp>
#include <sim/machine/machine_config.hpp>
#include <sim/machine/statistics.hpp>

namespace holdfast::sim {

struct simulated_machine {
    /// Requires: check(config) finds nothing, and there are not more harts than the machine has.
    simulated_machine(const machine_config& config, std::uint32_t harts)
        : placement{harts, config.caches.cores},
          registers(harts, ports),
          memory(config.memory, ports),
          caches(config.caches, memory, ports) {}
    simulated_machine(const simulated_machine&) = delete;
    simulated_machine& operator=(const simulated_machine&) = delete;

    /// Nothing will be asked for any more that happens before `now`.
    void settle(time now) {
        memory.settle(now);
        caches.settle(now);
        if (ports.on_time) ports.on_time->reached(now);
    }

    hart_placement placement;
    port::ports ports{};  ///< attach logging hardware here before anything runs
    port::control_registers registers;
    memory_system memory;
    hierarchy caches;
};

/// What the program has in its address space becomes what the memory has. Returns how many bytes of the NVRAM that
/// took, in lines that are not all zero. Requires: the caches are empty.
std::uint64_t fill(simulated_machine& machine, const address_space& space);
/// The newest bytes, wherever they are, back into the address space.
void take_back(const simulated_machine& machine, const address_space& space);

/// The counters of caches and memory as they are now.
counter_list counters_of(const simulated_machine& machine);
/// Dynamic energy of NVRAM and caches until now, in picojoules.
std::vector<statistic> energy_of(const simulated_machine& machine);
/// What a bit more beside each tag of a cache for data has taken, in picojoules.
double state_bits_energy_pj(const simulated_machine& machine, const hierarchy_config& caches);

}  // namespace holdfast::sim
