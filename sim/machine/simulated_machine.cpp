#include <sim/machine/simulated_machine.hpp>

#include <sim/energy/logging_overhead.hpp>

namespace holdfast::sim {
namespace {

using page_bytes = std::span<std::byte, address_space::page_bytes>;

/// Calls visit(address, bytes) for each page that the program may read.
template <class Visit>
void for_each_page(const address_space& space, Visit&& visit) {
    for (std::uint64_t page = 0; page < address_space::limit; page += address_space::page_bytes) {
        std::byte* const bytes = space.find<1>(page, readable);
        if (bytes != nullptr) visit(address{page}, page_bytes(bytes, address_space::page_bytes));
    }
}

cache_counters sum_of(const hierarchy& caches, cache_counters core_counters::* part) {
    cache_counters sum;
    std::vector<std::uint64_t> values;
    for (std::uint32_t core = 0; core < caches.cores(); ++core) {
        std::size_t at = 0;
        cache_counters::visit_fields(caches.counters(core).*part, [&](const char*, std::uint64_t value) {
            values.resize(std::max(values.size(), at + 1));
            values[at++] += value;
        });
    }
    std::size_t at = 0;
    cache_counters::visit_fields(sum, [&](const char*, std::uint64_t& value) { value = values[at++]; });
    return sum;
}

}  // namespace

std::uint64_t fill(simulated_machine& machine, const address_space& space) {
    std::uint64_t nvram_lines = 0;
    for_each_page(space, [&](address begin, page_bytes bytes) {
        for (std::uint64_t at = 0; at < bytes.size(); at += line_bytes) {
            line_write line{begin + at, byte_mask::all(), {}};
            const line_data zeros{};
            std::memcpy(line.bytes.data(), bytes.data() + at, line_bytes);
            // What was never written is zero anyway, and takes no memory of the host.
            if (line.bytes == zeros) continue;
            machine.memory.poke(line);
            if (machine.memory.map().is_nvram(line.line)) ++nvram_lines;
        }
    });
    return nvram_lines * line_bytes;
}

void take_back(const simulated_machine& machine, const address_space& space) {
    std::vector<std::byte> newest(address_space::page_bytes);
    for_each_page(space, [&](address begin, page_bytes bytes) {
        machine.caches.peek(begin, newest);
        // A page that nobody touched stays one that the host has no memory for.
        if (!std::equal(newest.begin(), newest.end(), bytes.begin())) {
            std::copy(newest.begin(), newest.end(), bytes.begin());
        }
    });
}

counter_list counters_of(const simulated_machine& machine) {
    counter_list all;
    all.add("il1_", sum_of(machine.caches, &core_counters::instructions));
    all.add("dl1_", sum_of(machine.caches, &core_counters::data));
    all.add("l2_", machine.caches.l2_counters());
    all.add("controller_", machine.memory.nvram().counters());
    all.add("nvram_", machine.memory.nvram().dimm().counters());
    all.add("dram_", machine.memory.dram());
    return all;
}

std::vector<statistic> energy_of(const simulated_machine& machine) {
    const energy_table table;
    const nvram_dimm& dimm = machine.memory.nvram().dimm();
    const double nvram = energy_of(dimm.counters(), dimm.dirty_lines(), table).total();
    const double l1 = energy_of(sum_of(machine.caches, &core_counters::instructions), table.l1) +
                      energy_of(sum_of(machine.caches, &core_counters::data), table.l1);
    const double l2 = energy_of(machine.caches.l2_counters(), table.l2);
    return {{"nvram_energy_pj", "pJ", nvram},
            {"l1_energy_pj", "pJ", l1},
            {"l2_energy_pj", "pJ", l2}};
}

double state_bits_energy_pj(const simulated_machine& machine, const hierarchy_config& caches) {
    const energy_table table;
    return state_energy_pj(sum_of(machine.caches, &core_counters::data), caches.dl1, table.l1) +
           state_energy_pj(machine.caches.l2_counters(), caches.l2, table.l2);
}

}  // namespace holdfast::sim
