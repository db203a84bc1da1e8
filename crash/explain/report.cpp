#include <crash/explain/report.hpp>

#include <algorithm>

namespace holdfast::crash {

std::vector<story> stories_of(subject& what, const model& how, const std::optional<fault>& planted,
                              const findings& found) {
    std::vector<story> all;
    for (const violation& each : found.told) {
        story made = tell_story(what, how, scenario_of(what, how, planted, each), each.what);
        const auto same = [&](const story& known) { return known.smallest == made.smallest; };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(made));
    }
    return all;
}

}  // namespace holdfast::crash
