// `holdfast crash --hints`: what an engine could leave out, as far as traces and planted faults show.
#pragma once

#include <crash/explore/fault.hpp>
#include <crash/plant/hints.hpp>
#include <crash/subjects/subject.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::crash {

struct engine_hints {
    std::string engine;
    std::string model_name;
    site_usage used;             ///< over all workloads
    std::vector<fault> unneeded; ///< calls without which no workload was wrong
};

/// Of these subjects, all of one engine; workloads of up to that many operations.
engine_hints hints_of(const std::vector<subject*>& all, const model& how, unsigned operations, std::uint64_t seed);

std::string text_of(const engine_hints& hints);
nlohmann::ordered_json json_of(const engine_hints& hints);

}  // namespace holdfast::crash
