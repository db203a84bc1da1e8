// Settings of the cores, and their clock.
#pragma once

#include <sim/base/configuration.hpp>

#include <array>

namespace holdfast::sim {

/// Counts cycles of the cores' clock: a point in time, as time is, or a span.
using cycle = std::uint64_t;

/// What SMT threads share without dividing it: issue slots, units, caches and their miss registers, the predictor's
/// tables. Reorder buffer, load and store queue are divided among the harts of a core.
struct core_config {
    std::uint32_t issue_width = 4;
    std::uint32_t reorder_buffer = 168;
    std::uint32_t load_queue = 64;
    std::uint32_t store_queue = 36;
    std::uint32_t l1_miss_registers = 10;  ///< lines that one core's DL1 waits for at the same time
    std::uint32_t l2_miss_registers = 32;
    std::uint32_t load_ports = 2;
    /// A store's line is asked for when the store commits, and not only when it is the oldest of its queue.
    bool store_prefetch = true;
    std::uint32_t misprediction_cycles = 14;
    std::uint32_t history_bits = 14;  ///< of gshare; its table has two to this power entries
    std::uint32_t return_stack = 16;
    // From operands to result.
    std::uint32_t multiply_cycles = 3;
    std::uint32_t divide_cycles = 22;
    std::uint32_t fp_add_cycles = 3;
    std::uint32_t fp_multiply_cycles = 5;
    std::uint32_t fp_divide_cycles = 14;
    /// 2.5 GHz.
    time clock = ps(400);

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("issue_width", self.issue_width, 1, 16);
        visitor.number("reorder_buffer", self.reorder_buffer, 2, 1024);
        visitor.number("load_queue", self.load_queue, 2, 1024);
        visitor.number("store_queue", self.store_queue, 2, 1024);
        visitor.number("l1_miss_registers", self.l1_miss_registers, 1, 256);
        visitor.number("l2_miss_registers", self.l2_miss_registers, 1, 1024);
        visitor.number("load_ports", self.load_ports, 1, 16);
        visitor.flag("store_prefetch", self.store_prefetch);
        visitor.number("misprediction_cycles", self.misprediction_cycles, 0, 100);
        visitor.number("history_bits", self.history_bits, 1, 24);
        visitor.number("return_stack", self.return_stack, 1, 64);
        visitor.number("multiply_cycles", self.multiply_cycles, 1, 100);
        visitor.number("divide_cycles", self.divide_cycles, 1, 200);
        visitor.number("fp_add_cycles", self.fp_add_cycles, 1, 100);
        visitor.number("fp_multiply_cycles", self.fp_multiply_cycles, 1, 100);
        visitor.number("fp_divide_cycles", self.fp_divide_cycles, 1, 200);
        visitor.span("clock_ns", self.clock, ps(100), ns(100));
    }
};

/// A core of 2012 in 22 nm, and the small one that simulators ship as their default: a queue of 128 for loads and
/// stores together, here half of it for each.
inline constexpr std::array<std::string_view, 2> core_names{"2012", "small"};
/// The setting of that name. Errors: there is none.
std::optional<core_config> core_named(std::string_view name);

/// Converts between cycles and time.
class core_clock {
public:
    explicit core_clock(time period) noexcept : period_(period) {}
    time time_of(cycle at) const noexcept { return period_ * at; }
    /// The first cycle that begins no earlier.
    cycle at_or_after(time at) const noexcept {
        return (at.picoseconds + period_.picoseconds - 1) / period_.picoseconds;
    }

private:
    time period_;
};

}  // namespace holdfast::sim
