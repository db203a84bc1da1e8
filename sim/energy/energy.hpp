// Counts into energy: the one table of energies per access, with its sources, and the sums.
#pragma once

#include <sim/cache/cache_counters.hpp>
#include <sim/memory/nvram_bank.hpp>

namespace holdfast::sim {

/// Dynamic energy of one access to a cache, in picojoules.
struct cache_energy_pj {
    double read = 0;   ///< tags and the line
    double write = 0;  ///< the same
    double tags = 0;   ///< tags of one set alone: a miss, a step of the tag walker
};

/// | what | figure | source |
/// |---|---|---|
/// | NVRAM row buffer, read and write | 0.93, 1.02 pJ a bit | Table II of the paper, from Lee et al., ISCA 2009 |
/// | NVRAM array, read and write | 2.47, 16.82 pJ a bit | the same |
/// | L1, 32 KB, 8-way | 81.3, 81.6, 0.76 pJ | CACTI 7 |
/// | L2, 8 MB, 16-way | 431, 464, 8.2 pJ | CACTI 7 |
/// | core, an instruction | 1350 pJ | Grochowski and Annavaram, Technology@Intel Magazine, March 2006 |
///
/// CACTI's settings: 22 nm, lines of 64 bytes, one bank, one read-write port, "itrs-hp" cells and periphery, 360 K,
/// 512 bits out, normal access (all ways are read beside the tags). Its figures are for these sizes; a machine with
/// other caches needs others.
///
/// The core's: 11 nJ an instruction for an out-of-order core with x86's cost of decoding (Yonah, at 65 nm and 1.33 V),
/// times 22/65 for the capacitance and (0.8/1.33)^2 for the voltage. Measured with its caches and all that is spent on
/// wrong paths, so it is rather too much; which instruction it is makes no difference that would be seen: a 64-bit
/// multiplication takes 5 pJ more than an addition (Horowitz, ISSCC 2014, 45 nm and 0.9 V, made smaller likewise).
/// What scales with time instead (leakage, an idle clock) is not in it, nor in any other figure here.
struct energy_table {
    double row_buffer_read_pj_per_bit = 0.93;
    double row_buffer_write_pj_per_bit = 1.02;
    double array_read_pj_per_bit = 2.47;
    double array_write_pj_per_bit = 16.82;
    cache_energy_pj l1{81.3, 81.6, 0.76};
    cache_energy_pj l2{431, 464, 8.2};
    double core_pj_per_instruction = 1350;
};

struct nvram_energy_pj {
    double row_buffer_read = 0, row_buffer_write = 0, array_read = 0, array_write = 0;

    double total() const noexcept { return row_buffer_read + row_buffer_write + array_read + array_write; }
};

/// `open_dirty_lines`: what the row buffers hold that the array does not have yet; its writing belongs to the run.
inline nvram_energy_pj energy_of(const nvram_counters& counters, std::uint64_t open_dirty_lines,
                                 const energy_table& table = {}) noexcept {
    constexpr double bits = 8 * line_bytes;
    const auto lines = [](std::uint64_t count, double pj_per_bit) {
        return static_cast<double>(count) * bits * pj_per_bit;
    };
    return {lines(counters.reads, table.row_buffer_read_pj_per_bit),
            lines(counters.writes, table.row_buffer_write_pj_per_bit),
            lines(counters.lines_sensed, table.array_read_pj_per_bit),
            lines(counters.lines_programmed + open_dirty_lines, table.array_write_pj_per_bit)};
}

/// A lookup that hits reads the line, one that misses only the tags; a line that comes in is written, one that goes
/// out read.
inline double energy_of(const cache_counters& counters, const cache_energy_pj& table) noexcept {
    const std::uint64_t out = counters.write_backs + counters.lines_cleaned;
    return static_cast<double>(counters.reads - counters.read_misses + out) * table.read +
           static_cast<double>(counters.writes + counters.fills) * table.write +
           static_cast<double>(counters.misses() + counters.sets_walked) * table.tags;
}

}  // namespace holdfast::sim
