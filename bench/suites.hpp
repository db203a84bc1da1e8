// The suites: each plans its matches, which are set up one after another when their turn comes.
#pragma once

#include <bench/bench.hpp>
#include <bench/contest/scratch.hpp>
#include <bench/runner.hpp>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Sets one match up: makes its pools, fills them, starts its rivals.
using planned_match = std::function<match()>;

std::vector<planned_match> plan_floor(const options& wanted, scratch& space);
std::vector<planned_match> plan_sps(const options& wanted, scratch& space);
std::vector<planned_match> plan_hash(const options& wanted, scratch& space);
std::vector<planned_match> plan_btree(const options& wanted, scratch& space);
std::vector<planned_match> plan_rbtree(const options& wanted, scratch& space);
std::vector<planned_match> plan_ssca2(const options& wanted, scratch& space);
std::vector<planned_match> plan_open(const options& wanted, scratch& space);
std::vector<planned_match> plan_memory(const options& wanted, scratch& space);
std::vector<planned_match> plan_bounded_buffer(const options& wanted, scratch& space);
std::vector<planned_match> plan_lines(const options& wanted, scratch& space);
std::vector<planned_match> plan_wrap(const options& wanted, scratch& space);
std::vector<planned_match> plan_intset(const options& wanted, scratch& space);
std::vector<planned_match> plan_stamp(const options& wanted, scratch& space);
std::vector<planned_match> plan_itm(const options& wanted, scratch& space);
std::vector<planned_match> plan_dnv_list(const options& wanted, scratch& space);
std::vector<planned_match> plan_cache(const options& wanted, scratch& space);
std::vector<planned_match> plan_cchtm(const options& wanted, scratch& space);
std::vector<planned_match> plan_ecc(const options& wanted, scratch& space);
std::vector<planned_match> plan_powerfail(const options& wanted, scratch& space);

/// The programs of suite stamp with their sets: kmeans-low, kmeans-low+ and so on.
std::vector<std::string> stamp_case_names();

/// Adds what each further word of an update costs, and prints it.
void conclude_itm(report& to);

/// Says how many saves kept what was planned for them.
void conclude_powerfail(report& to);

/// Says where nothing ran on hardware transactions.
void conclude_cchtm(report& to);

/// Runs a suite that there is, prints its tables, and returns its records. Throws failure.
report measure(const std::string& suite, const options& wanted);

/// Whether `engine` is to be measured.
inline bool chosen(const options& wanted, const std::string& engine) {
    if (wanted.engines.empty()) return true;
    for (const auto& each : wanted.engines)
        if (each == engine) return true;
    return false;
}

}  // namespace holdfast::bench
