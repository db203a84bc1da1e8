// Steal but no force: which machines its figures compare, and the runs that they are drawn from.
#pragma once

#include <bench/figures/figures.hpp>
#include <bench/figures/simulated_runs.hpp>

#include <sim/logging/design.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench::steal {

inline constexpr double line_bytes_of_log = 64;

using machine_settings = std::map<std::string, std::string>;

/// As printed in the paper: a record of a line, nothing but time keeps the order, and a commit waits for nothing.
const machine_settings& paper_machine();
/// The same record, but the controller holds lines back, and a commit waits until its record is durable.
const machine_settings& safe_machine();
/// The paper's with the log's lines in order, through fewer entries: a log without bandwidth to spare.
const machine_settings& slow_log_machine();

/// A design on one of the machines, as the figures show it.
struct contender {
    std::string_view design;
    const machine_settings* machine;  ///< nullptr: without logging hardware
    const char* title;
    const char* colour;
};
/// In the paper's order, and ours. unsafe-base is what they are compared with.
const std::vector<contender>& contenders();
inline constexpr std::string_view base_design = sim::name_of(sim::design::unsafe_base),
                                  ideal_design = sim::name_of(sim::design::non_pers),
                                  new_values_design = sim::name_of(sim::design::hw_rlog),
                                  old_values_design = sim::name_of(sim::design::hw_ulog),
                                  logged_design = sim::name_of(sim::design::hwl),
                                  forced_design = sim::name_of(sim::design::fwb),
                                  stealing_design = sim::name_of(sim::design::snf_sw);
/// Software that writes lines back and waits.
inline constexpr std::array fencing_designs{sim::name_of(sim::design::redo_clwb), sim::name_of(sim::design::undo_clwb)};

inline constexpr std::array microbenchmarks{"hash", "rbtree", "sps", "btree", "ssca2"};
inline constexpr std::array kernels{"ctree", "hashmap", "ycsb", "tpcc", "echo", "vacation", "memcached"};
inline constexpr std::array<const char*, 2> elements{"int", "string"};
inline constexpr std::array<unsigned, 4> thread_counts{1, 2, 4, 8};

/// A change of the machine that the sweep looks at.
struct variation {
    const char* title;
    machine_settings settings;
    bool of_the_log = false;  ///< software has no such setting
    bool is_quick = false;    ///< a quick sweep has it, too
};
const std::vector<variation>& variations();

inline constexpr std::array<unsigned, 6> buffer_sizes{0, 8, 15, 64, 128, 256};
/// Sizes of the log in MiB, with a period of scans that grows with them.
inline constexpr std::array<unsigned, 5> log_sizes_mib{1, 2, 4, 8, 16};
machine_settings with_log_of(unsigned mib);
/// A log that never runs short in a run, with scans as usual, with scans that only look at tags, and without any.
enum class scanning { full, tags, none };
machine_settings with_scans(scanning how);

/// All runs that the figures need; `quick`: fewer workloads, sizes and settings.
std::vector<simulated_campaign> campaigns(bool quick);

simulated_run run_of(const std::string& workload, std::string_view design, unsigned threads, const std::string& element,
                     const machine_settings* machine);
/// The settings of both; the second ones count.
machine_settings both(machine_settings one, const machine_settings& other);

/// What figures are drawn from: throughput and the like by name.
enum class measure { throughput, instructions_per_cycle, instructions, energy, writes };
std::optional<double> value_of(const simulated_runs& runs, const simulated_run& one, measure what);
/// The better of the two that fence.
std::optional<double> better_fencing(const simulated_runs& runs, const simulated_run& like, measure what);

/// A sentence of the paper beside what was found.
struct statement {
    std::string says;
    std::string paper;               ///< its number, as text
    std::optional<double> number;    ///< nothing: a direction
    std::optional<double> faithful;  ///< on the paper's machine
    std::optional<double> safe;
    std::string remark;
};
std::string table_of(const std::vector<statement>& all);
std::string cell(std::optional<double> value, const char* unit = "");

/// Parts of the section; each draws into the directory.
std::vector<figure> draw_comparisons(const simulated_runs& runs, const std::filesystem::path& directory);
std::vector<figure> draw_sensitivities(const simulated_runs& runs, const std::filesystem::path& directory);
/// A table without a picture; nothing if the sweep was not run.
std::optional<figure> draw_conclusions(const simulated_runs& runs);
/// Table I.
std::string overhead_table();

}  // namespace holdfast::bench::steal
