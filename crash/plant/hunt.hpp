// Proves the explorer's sharpness: plants one fault at a time and looks until it is caught.
#pragma once

#include <crash/explore/coverage.hpp>
#include <crash/explore/fault.hpp>
#include <crash/subjects/subject.hpp>

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
    std::string replay;      ///< the line that leads there; none where the program itself failed
    double seconds = 0;      ///< that the search took
    bool breaks_promise = false;  ///< what an acknowledgement promised shows it, without any image
};

/// Where faults are hunted, and which calls of the seam are passed there.
struct hunting_ground {
    subject* what;
    const model* how;
    coverage passed;
};

/// Explores each operation a little.
hunting_ground hunting_ground_of(subject& what, const model& how, std::uint64_t seed);
/// Every subject under every model that shows something of its own.
std::vector<hunting_ground> hunting_grounds_of(std::span<const std::unique_ptr<subject>> subjects, std::uint64_t seed);

/// A fault that no workload of a few operations and threads can show, and why.
struct unshown_fault {
    std::string_view engine;
    fault what;
    std::string_view why;
};
std::span<const unshown_fault> unshown_faults();

/// Every fault that there is a place for, but for those. Requires: the grounds are of one engine.
std::vector<fault> faults_of(std::span<const hunting_ground> grounds);

/// How hard to look.
struct effort {
    unsigned longest = 2;              ///< operations of a workload: every one up to this; or, drawn, from two to this
    unsigned drawn = 0;                ///< not 0: this number of workloads, and interleavings of them, is drawn instead
    unsigned depth = 1;                ///< cuts in recoveries
    std::uint64_t nested_one_in = 1;
    std::uint64_t images_of_a_cut = 6;
    std::uint64_t runs = 8000;         ///< of recovery, at most
    unsigned lives = 1;
    bool only_promises = false;
};

/// Looks in short workloads first, everywhere, then longer and longer, until a workload shows the fault.
catch_report hunt(std::span<const hunting_ground> grounds, const fault& planted, std::uint64_t seed);

/// Whether some workload of this subject shows the fault.
bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed, const effort& most = {},
               catch_report* report = nullptr);

}  // namespace holdfast::crash
