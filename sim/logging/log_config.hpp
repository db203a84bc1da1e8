// Settings of the logging hardware.
#pragma once

#include <sim/base/configuration.hpp>

#include <array>

namespace holdfast::sim {

/// How a store's record lies in the log.
enum class record_format : std::uint8_t {
    packed,  ///< 32 bytes, two to a line
    line,    ///< 64 bytes, as the paper's
    merged,  ///< 64 bytes, which up to three words share that a transaction stores to one line in a row
};
inline constexpr std::array<std::string_view, 3> record_format_names{"packed", "line", "merged"};
constexpr std::uint64_t bytes_of(record_format format) noexcept { return format == record_format::packed ? 32 : 64; }

/// Which values a record has.
enum class logged_values : std::uint8_t { undo_redo, undo, redo };
inline constexpr std::array<std::string_view, 3> logged_values_names{"undo_redo", "undo", "redo"};

/// What keeps a line out of the NVRAM until its records are there, and a record in the log until its line is home.
enum class log_safety : std::uint8_t {
    faithful,  ///< timing alone, as in the paper: violations are counted
    safe,      ///< the controller holds lines, and appends wait for the log's head
};
inline constexpr std::array<std::string_view, 2> log_safety_names{"faithful", "safe"};

/// When tx_commit is done.
enum class log_commit : std::uint8_t {
    instant,  ///< when its record is in the log buffer, as in the paper: a crash may lose acknowledged transactions
    durable,  ///< when its record, and all before it, are at the persist point
};
inline constexpr std::array<std::string_view, 2> log_commit_names{"instant", "durable"};

/// Whose logs there are.
enum class log_place : std::uint8_t {
    central,  ///< one, of all harts
    hart,     ///< each hart's own; with durable commits only
};
inline constexpr std::array<std::string_view, 2> log_place_names{"central", "hart"};

struct log_config {
    std::uint64_t bytes = 4u << 20;  ///< of all logs together
    log_place place = log_place::central;
    record_format record = record_format::packed;
    logged_values values = logged_values::undo_redo;
    log_safety safety = log_safety::safe;
    log_commit commit = log_commit::durable;
    /// Records that wait for the log source; 0: each store waits for it itself.
    std::uint32_t buffer_entries = 15;
    /// A record leaves the buffer at most so often: a cycle of 2.5 GHz.
    time buffer_step = ps(400);
    /// A line that is not full leaves the write-combining buffer at a commit, or after this time.
    time partial_line_limit = ns(1000);
    /// Between the beginnings of two scans; 0: in proportion to the log, as in the paper's Figure 11(b), where it is
    /// 3 million cycles for 4 MiB. A log that is smaller fills sooner, and scans that come late are all hurried.
    time scan_period{};
    /// False: scans only look at tags, which tells what that alone costs. The log gets free by nothing then.
    bool scans_force = true;
    static constexpr time paper_period = ns(1'200'000);
    static constexpr std::uint64_t paper_bytes = 4u << 20;

    time period() const noexcept {
        if (scan_period != time{}) return scan_period;
        return ps(bytes * paper_period.picoseconds / paper_bytes);
    }

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("bytes", self.bytes, 4096, std::uint64_t{1} << 32);
        visitor.choice("place", self.place, std::span(log_place_names));
        visitor.choice("record", self.record, std::span(record_format_names));
        visitor.choice("values", self.values, std::span(logged_values_names));
        visitor.choice("safety", self.safety, std::span(log_safety_names));
        visitor.choice("commit", self.commit, std::span(log_commit_names));
        visitor.number("buffer_entries", self.buffer_entries, 0, 256);
        visitor.span("buffer_step_ns", self.buffer_step, ps(0), ns(1'000));
        visitor.span("partial_line_limit_ns", self.partial_line_limit, ns(1), ns(1'000'000));
        visitor.span("scan_period_ns", self.scan_period, ps(0), ns(1'000'000'000));
        visitor.flag("scans_force", self.scans_force);
    }
};

/// Between logs of harts there is no order but that of durable commits: with instant ones a transaction could survive a
/// crash that another one, whose values it has read, does not survive.
inline void check_order(const log_config& config, range_check& check) {
    if (config.place == log_place::central || config.commit == log_commit::durable) return;
    check.refuse("place", "hart", "central where log.commit is instant: logs of harts keep no order between commits");
}

}  // namespace holdfast::sim
