// What logging hardware adds to the chip, the paper's Table I, and the energy that it takes.
#pragma once

#include <sim/cache/cache_config.hpp>
#include <sim/energy/energy.hpp>

#include <bit>

namespace holdfast::sim {

struct logging_overhead {
    std::uint64_t transaction_register_bytes = 1;
    std::uint64_t head_bytes = 8;
    std::uint64_t tail_bytes = 8;
    std::uint64_t buffer_bytes = 0;
    std::uint64_t state_bytes = 0;  ///< a bit for each line that can be dirty
};
/// The paper's: 964 bytes are 15 entries of 514 bits; 768 bytes are bits for 6,144 lines, its caches have 133,120.
inline constexpr logging_overhead paper_overhead{1, 8, 8, 964, 768};

/// Lines of an L1 for instructions are never dirty.
inline std::uint64_t lines_with_state(const hierarchy_config& caches) noexcept {
    return (caches.cores * caches.dl1.bytes + caches.l2.bytes) / line_bytes;
}

inline logging_overhead overhead_of(const hierarchy_config& caches, std::uint32_t buffer_entries,
                                    std::uint64_t bytes_of_record) noexcept {
    logging_overhead made;
    made.buffer_bytes = buffer_entries * bytes_of_record;
    made.state_bytes = (lines_with_state(caches) + 7) / 8;
    return made;
}

/// A record is written to the buffer and read from it. No figure for so small an array is at hand: a line of it is
/// taken for one way's share of an L1 that reads all of its ways, whose bit lines are four times as long, so it is
/// rather too much.
inline double buffer_energy_pj(std::uint64_t appended_bytes, const cache_config& dl1,
                               const energy_table& table = {}) noexcept {
    const double lines = static_cast<double>(appended_bytes) / line_bytes;
    return lines * (table.l1.read + table.l1.write) / dl1.ways;
}

/// One bit more to read and write wherever the tags of a set are: its share of them. A tag has the address above the
/// set, valid and dirty bit.
inline double state_energy_pj(const cache_counters& counters, const cache_config& of,
                              const cache_energy_pj& table) noexcept {
    constexpr int address_bits = 48;
    const int bits_below = std::countr_zero(of.sets() * std::uint64_t{line_bytes});
    const int tag_bits = address_bits - bits_below + 2;
    const std::uint64_t lookups = counters.reads + counters.writes + counters.sets_walked;
    return static_cast<double>(lookups) * table.tags / tag_bits;
}

}  // namespace holdfast::sim
