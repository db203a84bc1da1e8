// Table 3 of the paper on DNV Memory, what is done between a power failure and the end of the power, from records of
// the rig, with the paper's numbers beside ours.
#include <bench/figures/figures.hpp>
#include <bench/figures/plot.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace holdfast::bench {
namespace {

/// Milliseconds from the signal on, each with what precedes it.
struct spread {
    double avg, min, max;
};

/// A step on two kinds of machines.
struct step {
    const char* title;
    const char* metric;
    const char* of_paper;  ///< what the paper calls it; nullptr: it has no such row
    spread paper_busy, paper_idle;
};

// The paper flushes first, and its log is written back last. Here the copy of the log has to be flushed, too.
constexpr step steps[]{
    {"processors stopped", "stopped_ms", "stop CPU and flush cache", {2.6, 2.3, 3.3}, {4.9, 4.4, 5.6}},
    {"log copied", "copied_ms", "store write back log", {4.2, 3.8, 4.8}, {8.0, 7.4, 8.6}},
    {"caches written back", "flushed_ms", nullptr, {}, {}},
};
constexpr unsigned runs_at_least = 20;

std::optional<spread> found_of(const std::vector<record>& records, const char* metric, const char* machine) {
    for (const record& one : records) {
        const bool is_of_machine = std::ranges::any_of(one.params, [&](const auto& each) {
            return each.first == "machine" && each.second == parameter(std::string(machine));
        });
        if (one.case_name != "false_alarm" || one.metric != metric || !is_of_machine) continue;
        if (one.runs < runs_at_least)
            fail(errc::invalid_argument, fmt::format("these records are of {} false alarms, and not of {} at least",
                                                     one.runs, runs_at_least));
        return spread{one.value, one.min, one.max};
    }
    return std::nullopt;
}

std::string cell(const std::optional<spread>& of) {
    return of ? fmt::format("{:.2f} ({:.2f} to {:.2f})", of->avg, of->min, of->max) : std::string("-");
}

}  // namespace

paper_section draw_dnv_memory(const std::vector<record>& records, const std::filesystem::path& directory) {
    constexpr const char* busy = "busy";
    constexpr const char* idle = "idle";
    bar_panel bars{"Average time from the signal on", "ms (logarithmic)", {}, {}, true, {}};
    bar_series theirs_busy{"the paper, compiling a kernel", colour::grey, {}};
    bar_series theirs_idle{"the paper, idle", colour::brown, {}};
    bar_series ours_busy{"here, a log rewritten for ever", colour::vermilion, {}};
    bar_series ours_idle{"here, idle", colour::sky, {}};
    std::string table = "<table>\n<tr><th>step</th><th>machine</th><th>the paper: avg (min to max), ms</th>"
                        "<th>here, emulated: avg (min to max), ms</th></tr>\n";
    for (const step& each : steps) {
        const auto here_busy = found_of(records, each.metric, busy), here_idle = found_of(records, each.metric, idle);
        if (!here_busy || !here_idle)
            fail(errc::invalid_argument, "these are no records of the rig's false alarms: `make rig` writes them to "
                                         "build/rig-times.json");
        const bool has_paper = each.of_paper != nullptr;
        const auto of_paper = [&](const spread& of) { return has_paper ? std::optional(of) : std::nullopt; };
        bars.groups.emplace_back(each.title);
        theirs_busy.values.push_back(has_paper ? std::optional(each.paper_busy.avg) : std::nullopt);
        theirs_idle.values.push_back(has_paper ? std::optional(each.paper_idle.avg) : std::nullopt);
        ours_busy.values.emplace_back(here_busy->avg);
        ours_idle.values.emplace_back(here_idle->avg);
        const std::string title = has_paper ? fmt::format("{} (there: {})", each.title, each.of_paper) : each.title;
        for (const auto& [machine, theirs, ours] : {std::tuple{"busy", each.paper_busy, here_busy},
                                                    std::tuple{"idle", each.paper_idle, here_idle}})
            table += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", title, machine,
                                 cell(of_paper(theirs)), cell(ours));
    }
    bars.series = {std::move(theirs_busy), std::move(theirs_idle), std::move(ours_busy), std::move(ours_idle)};
    const std::string file = "dnv-memory-table-3.svg";
    const std::string title = "Table 3: from the power failure to the last step of a save";
    draw_svg((directory / file).string(), title, {bars});
    return {"DNV Memory",
            "Section 5.1, from false alarms on the rig's machine (<code>make rig</code>), with a log of 1 MiB. <b>The "
            "machine is emulated</b>: its times show the order of the steps and not what hardware takes. How long the "
            "power lasts, the paper's last row, the rig decides itself.",
            {{file, title,
              "There the processors were stopped together with the flush of the caches, and the log was written back "
              "last. Here the log is copied first, and all caches are written back after it, copy included."}},
            "Times", table + "</table>\n"};
}

}  // namespace holdfast::bench
