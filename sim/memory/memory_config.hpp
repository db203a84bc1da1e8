// Settings of the memory: what lies where, the NVRAM DIMM, its controller, and DRAM.
#pragma once

#include <sim/base/configuration.hpp>

#include <array>

namespace holdfast::sim {

/// The persistent arena is NVRAM, everything else (code, stacks, volatile data) DRAM.
struct memory_map {
    address nvram_begin{0x10'0000'0000};
    std::uint64_t nvram_bytes = std::uint64_t{8} << 30;

    constexpr bool is_nvram(address where) const noexcept { return where.value - nvram_begin.value < nvram_bytes; }

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("nvram_begin", self.nvram_begin.value, 0, std::uint64_t{1} << 47);
        visitor.number("nvram_bytes", self.nvram_bytes, 4096, std::uint64_t{1} << 44);
    }
};

/// Phase-change memory behind row buffers. Times are those of a whole access and include its burst on the bus, which
/// shows only when accesses meet there.
struct nvram_config {
    std::uint32_t banks = 8;
    std::uint32_t row_bytes = 2048;
    /// This many bytes in a row lie in one bank, the next ones in the next; `row_bytes` keeps a row together.
    std::uint32_t interleave_bytes = 2048;
    time row_hit = ns(36);
    time read_conflict = ns(100);
    time write_conflict = ns(300);
    time bus_burst = ns(4);
    /// Energy of opening a row: of all its bytes, or of the line that is read.
    bool whole_row_activation = false;

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.power_of_two("banks", self.banks, 1, 64);
        visitor.power_of_two("row_bytes", self.row_bytes, line_bytes, 4096);
        visitor.power_of_two("interleave_bytes", self.interleave_bytes, line_bytes, 1 << 20);
        visitor.span("row_hit_ns", self.row_hit, ps(1), ns(100'000));
        visitor.span("read_conflict_ns", self.read_conflict, ps(1), ns(100'000));
        visitor.span("write_conflict_ns", self.write_conflict, ps(1), ns(100'000));
        visitor.span("bus_burst_ns", self.bus_burst, ps(0), ns(1'000));
        visitor.flag("whole_row_activation", self.whole_row_activation);
    }
};

/// When writes leave the queue for the banks. A fence sends the writes that it waits for, whatever the policy.
enum class drain_policy : std::uint8_t {
    marks,          ///< from the high mark down to the low one, at once; a read waits for the writes of its bank
    marks_block,    ///< the same, and reads wait until the low mark is reached
    marks_between,  ///< from high to low mark, one write at a time in each bank: a read waits for one at most
    until_full,     ///< only when the queue is full, one for each bank
    idle,           ///< whenever its bank has nothing else to do
};
inline constexpr std::array<std::string_view, 5> drain_policy_names{"marks", "marks_block", "marks_between",
                                                                    "until_full", "idle"};

/// How lines that bypass the caches, of the log source and of non-temporal stores, stand to the write-backs. They have
/// the same rule, so that logs of hardware and of software have the same bandwidth.
enum class log_arbitration : std::uint8_t {
    log_first,   ///< goes to its bank as it arrives
    in_order,    ///< waits in the write queue and drains like everything else
    data_first,  ///< goes as it arrives, but not while write-backs are drained
};
inline constexpr std::array<std::string_view, 3> log_arbitration_names{"log_first", "in_order", "data_first"};

/// In which order lines of the log source reach the persist point. Non-temporal stores keep none.
enum class log_order : std::uint8_t {
    any,   ///< as lines of non-temporal stores do; those of one line in order
    kept,  ///< that of their appends: of the log a crash leaves a beginning
};
inline constexpr std::array<std::string_view, 2> log_order_names{"any", "kept"};

/// From where on bytes survive a crash.
enum class persist_point : std::uint8_t { array, controller };
inline constexpr std::array<std::string_view, 2> persist_point_names{"array", "controller"};

struct controller_config {
    std::uint32_t read_entries = 64;
    std::uint32_t write_entries = 64;
    std::uint32_t high_mark = 48;
    std::uint32_t low_mark = 16;
    drain_policy drain = drain_policy::marks;
    std::uint32_t combining_entries = 6;
    /// A line leaves the write-combining buffer after this time at the latest; 0: when there is a reason.
    time combining_limit = ns(0);
    std::uint32_t log_entries = 64;
    log_arbitration log = log_arbitration::log_first;
    sim::log_order log_order = sim::log_order::any;
    persist_point persist = persist_point::array;
    /// From the last cache to the banks, and for a read that a queued write answers.
    time latency = ns(0);
    time forward = ns(4);

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("read_entries", self.read_entries, 1, 1024);
        visitor.number("write_entries", self.write_entries, 2, 1024);
        visitor.number("high_mark", self.high_mark, 1, 1024);
        visitor.number("low_mark", self.low_mark, 0, 1023);
        visitor.choice("drain", self.drain, std::span(drain_policy_names));
        visitor.number("combining_entries", self.combining_entries, 1, 64);
        visitor.span("combining_limit_ns", self.combining_limit, ns(0), ns(1'000'000));
        visitor.number("log_entries", self.log_entries, 1, 1024);
        visitor.choice("log", self.log, std::span(log_arbitration_names));
        visitor.choice("log_order", self.log_order, std::span(log_order_names));
        visitor.choice("persist", self.persist, std::span(persist_point_names));
        visitor.span("latency_ns", self.latency, ns(0), ns(10'000));
        visitor.span("forward_ns", self.forward, ns(0), ns(10'000));
    }
};

/// A fixed time for each access: what is looked at here is not DRAM.
struct dram_config {
    time latency = ns(50);

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.span("latency_ns", self.latency, ns(0), ns(100'000));
    }
};

struct memory_config {
    memory_map map{};
    nvram_config nvram{};
    controller_config controller{};
    dram_config dram{};
};

/// The first setting that is out of its range, as `nvram.banks` and the like.
std::optional<configuration_error> check(const memory_config& config);
/// Sets one field by its key. Errors: there is no such key, or the text does not fit; ranges are check's business.
std::optional<configuration_error> set(memory_config& config, std::string_view key, std::string_view text);

}  // namespace holdfast::sim
