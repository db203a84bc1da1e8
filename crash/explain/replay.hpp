// One image of one workload as a line of text that leads to it again:
//     redo:hash_map:x86:ops=0,3:fault=fence@log_commit_fence:cut=57:choices=0*12,1,2:cut=9:choices=0
// `cut` is the event of the trace before which it was cut, `choices` what the uncertain words were found to be,
// in the order in which recovery read them; n*m stands for m times n. A further cut is one inside the recovery
// from the image before it; `killed` in place of choices: from what a killed process left visible. `life=` after that
// is what was done with the pool once it was recovered, and the next cut is one of that life.
#pragma once

#include <crash/explore/explore.hpp>

#include <holdfast/base/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

struct scenario {
    std::string engine;
    std::string workload_name;
    std::string model_name;
    workload operations;
    std::optional<fault> planted;
    std::vector<cut_point> cuts;  ///< outermost first, at least one
    std::size_t schedule = 0;     ///< which interleaving, of several threads

    bool operator==(const scenario&) const = default;
};

scenario scenario_of(const subject& what, const model& how, const std::optional<fault>& planted,
                     const violation& told);

std::string replay_line(const scenario& which);
/// What it says, if it can be read; the error names the place and what is expected there.
result<scenario> parse_replay(std::string_view line);

/// "fence@log_commit_fence", and back.
std::string short_name(const fault& planted);
std::optional<fault> fault_named(std::string_view name);

}  // namespace holdfast::crash
