// Proves the explorer's sharpness: plants one fault at a time and looks until it is caught.
#pragma once

#include <crash/fault.hpp>
#include <crash/subject.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::crash {

/// Where a fault was caught.
struct catch_report {
    fault planted;
    bool caught = false;
    std::string workload;    ///< the subject's name
    std::string_view model;
    std::string operations;
    std::string what;
    double seconds = 0;      ///< that the search took
};

/// Every fault that the subjects, all of one engine, have a place for.
std::vector<fault> faults_of(std::span<const std::unique_ptr<subject>> subjects);

/// How hard to look.
struct effort {
    unsigned longest = 2;              ///< every workload up to so many operations; or, drawn, from two to so many
    unsigned drawn = 0;                ///< so many workloads, and interleavings of them, are drawn instead
    unsigned depth = 1;                ///< cuts in recoveries
    std::uint64_t nested_one_in = 1;
    std::uint64_t runs = 8000;         ///< of recovery, at most
};

/// Looks in short workloads first, everywhere, then longer and longer, until a workload shows the fault.
catch_report hunt(std::span<const std::unique_ptr<subject>> subjects, const fault& planted, std::uint64_t seed);

/// Whether some workload of this subject shows the fault.
bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed, const effort& most = {},
               catch_report* report = nullptr);

}  // namespace holdfast::crash
