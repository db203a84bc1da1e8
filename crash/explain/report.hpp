// What a run of the explorer reports: a row for each engine, workload and model, with the stories of its violations.
#pragma once

#include <crash/explain/story.hpp>

#include <string>
#include <vector>

namespace holdfast::crash {

struct report_row {
    std::string engine;
    std::string workload_name;
    std::string model_name;
    std::optional<fault> planted;
    findings found;
    double seconds = 0;
    std::vector<story> stories;  ///< of those violations that the explorer told, no two the same
    unsigned lives = 1;
};

/// The stories of the violations that were told.
std::vector<story> stories_of(subject& what, const model& how, const std::optional<fault>& planted,
                              const findings& found);

}  // namespace holdfast::crash
