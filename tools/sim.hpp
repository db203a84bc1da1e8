// `holdfast sim`: what is asked for, and what comes of it.
#pragma once

#include <sim/machine/simulation.hpp>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools {

/// One run: a combination of what was asked for.
struct sim_case {
    std::string workload;
    std::string core;
    std::string keys;
    sim::simulation_options options;
    sim::machine_config machine;
    std::vector<std::pair<std::string, std::string>> settings;  ///< as they were given
};

struct sim_outcome {
    sim_case ran;
    sim::simulation_result result;
};

/// How large the structure of a workload is in the paper on steal but no force, Table III, in bytes; 0 for others.
std::uint64_t paper_footprint(const std::string& workload);

/// A line for each run, in columns; of a single one also all of its numbers if `all_numbers`.
void print_sim_table(const std::vector<sim_outcome>& outcomes, bool all_numbers);
/// An array of records, one for each number. Throws failure: io.
void write_sim_records(const std::vector<sim_outcome>& outcomes, const std::string& path);
/// The timeline of a run that was traced, as a page of HTML. Throws failure: io.
void write_sim_trace(const sim_outcome& outcome, const std::string& path);

}  // namespace holdfast::tools
