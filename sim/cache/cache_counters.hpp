// What a cache did, for statistics and for energy/energy.hpp. `visit_fields` calls `visit(name, value)`, so that
// printers need no list of their own.
#pragma once

#include <cstdint>

namespace holdfast::sim {

struct cache_counters {
    std::uint64_t reads = 0;         ///< lookups for loads or fetches; in L2 for any miss above
    std::uint64_t writes = 0;        ///< stores; in L2 lines written back from above
    std::uint64_t read_misses = 0;   ///< of an L1, without those that found the line in flight
    std::uint64_t write_misses = 0;  ///< the line was not there
    std::uint64_t upgrades = 0;      ///< the line was there, but not writable
    std::uint64_t fills = 0;
    std::uint64_t evictions = 0;
    std::uint64_t write_backs = 0;       ///< dirty lines evicted
    std::uint64_t lines_cleaned = 0;     ///< dirty lines written back that stayed
    std::uint64_t recalled = 0;          ///< lines given up because another core or L2 wanted that
    std::uint64_t sets_walked = 0;

    std::uint64_t misses() const noexcept { return read_misses + write_misses; }

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("reads", self.reads);
        visit("writes", self.writes);
        visit("read_misses", self.read_misses);
        visit("write_misses", self.write_misses);
        visit("upgrades", self.upgrades);
        visit("fills", self.fills);
        visit("evictions", self.evictions);
        visit("write_backs", self.write_backs);
        visit("lines_cleaned", self.lines_cleaned);
        visit("recalled", self.recalled);
        visit("sets_walked", self.sets_walked);
    }
};

struct core_counters {
    cache_counters instructions{}, data{};
};

}  // namespace holdfast::sim
