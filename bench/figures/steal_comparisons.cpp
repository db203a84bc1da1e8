// Figures 6 to 10: all designs, on the microbenchmarks and on kernels of WHISPER's kind, normalized to unsafe-base.
#include <bench/figures/plot.hpp>
#include <bench/figures/steal_runs.hpp>
#include <bench/figures/steal_statements.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::bench::steal {
namespace {

/// How a measure is drawn.
struct view {
    measure what;
    const char* label;
    bool of_base;  ///< base / design: less is better
};
constexpr view throughput_view{measure::throughput, "speed-up over unsafe-base", false},
    cycle_view{measure::instructions_per_cycle, "instructions a cycle, times unsafe-base", false},
    instruction_view{measure::instructions, "instructions, times unsafe-base", false},
    energy_view{measure::energy, "NVRAM energy: unsafe-base / design", true},
    write_view{measure::writes, "NVRAM writes: unsafe-base / design", true};

class comparison {
public:
    comparison(const simulated_runs& runs, std::filesystem::path directory, std::vector<std::string> workloads)
        : runs_(runs), directory_(std::move(directory)), workloads_(std::move(workloads)) {
        for (const unsigned threads : thread_counts)
            for (const char* element : elements)
                if (std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& each) {
                        return runs_.has(steal::run_of(each, base_design, threads, element, nullptr));
                    }))
                    places_.emplace_back(threads, element);
    }

    bool is_empty() const noexcept { return places_.empty(); }

    figure draw(const std::string& file, const std::string& title, const std::string& caption, const view& of,
                std::string table) const {
        std::vector<panel> panels;
        for (const auto& [threads, element] : places_) panels.push_back(bars(of, threads, element));
        draw_svg((directory_ / file).string(), title, panels, 1);
        return {file, title, caption, std::move(table)};
    }

    /// Several measures of few places, as Figure 10.
    figure draw(const std::string& file, const std::string& title, const std::string& caption,
                const std::vector<view>& views, std::string table) const {
        std::vector<panel> panels;
        for (const auto& [threads, element] : places_)
            for (const view& each : views) panels.push_back(bars(each, threads, element));
        draw_svg((directory_ / file).string(), title, panels, 1);
        return {file, title, caption, std::move(table)};
    }

private:
    bar_panel bars(const view& of, unsigned threads, const std::string& element) const {
        bar_panel made{fmt::format("{} thread{}, {}", threads, threads == 1 ? "" : "s",
                                   element == "int" ? "integers" : "strings"),
                       of.label, {}, {}, false, 1.0};
        for (const auto& workload : workloads_)
            if (runs_.has(steal::run_of(workload, base_design, threads, element, nullptr)))
                made.groups.push_back(workload);
        for (const contender& each : contenders()) {
            bar_series one{each.title, each.colour, {}};
            for (const auto& workload : made.groups) one.values.push_back(value(of, each, workload, threads, element));
            one.values.push_back(geometric_mean(one.values));
            if (one.values.back()) made.series.push_back(std::move(one));
        }
        made.groups.emplace_back("geometric mean");
        return made;
    }

    std::optional<double> value(const view& of, const contender& who, const std::string& workload, unsigned threads,
                                const std::string& element) const {
        const auto base = value_of(runs_, steal::run_of(workload, base_design, threads, element, nullptr), of.what);
        const auto its = value_of(runs_, steal::run_of(workload, who.design, threads, element, who.machine), of.what);
        return of.of_base ? ratio(base, its) : ratio(its, base);
    }

    const simulated_runs& runs_;
    std::filesystem::path directory_;
    std::vector<std::string> workloads_;
    std::vector<std::pair<unsigned, std::string>> places_;
};

}  // namespace

namespace {

/// Of fwb's runs those in which few scans began: what they say depends on where in a scan they ended.
std::string short_runs(const simulated_runs& runs, const std::vector<std::string>& workloads) {
    constexpr double enough = 10;
    std::string text;
    for (const auto& [one, numbers] : runs.all()) {
        const bool is_shown = std::find(workloads.begin(), workloads.end(), one.workload) != workloads.end();
        if (one.design != forced_design || !is_shown) continue;
        if (one.settings != paper_machine() && one.settings != safe_machine()) continue;
        const auto periods = runs.value(one, "scan_periods");
        const bool is_settled = runs.value(one, "settled").value_or(1) != 0;
        if (!periods || (*periods >= enough && is_settled)) continue;
        text += fmt::format("{}{}, {}, {} with {} thread{}: {:.1f}{}", text.empty() ? "" : "; ", one.workload,
                            one.element, one.settings == paper_machine() ? "faithful" : "safe", one.threads,
                            one.threads == 1 ? "" : "s", *periods, is_settled ? "" : ", not settled");
    }
    if (text.empty()) return "";
    return fmt::format("<p>These runs of fwb are shorter than {:.0f} periods of scans, or began to be measured before "
                       "their scans had settled, so they say little of scans: {}.</p>\n", enough, text);
}

}  // namespace

std::vector<figure> draw_comparisons(const simulated_runs& runs, const std::filesystem::path& directory) {
    std::vector<figure> made;
    const std::string which = " All bars are normalized to unsafe-base, the line at 1: the faster of redo and undo "
                              "logging by software without write-backs and fences. Safe or faithful says what the "
                              "hardware keeps, durable or instant what a commit waits for; software that fences is "
                              "durable and safe.";
    const comparison micro(runs, directory, {microbenchmarks.begin(), microbenchmarks.end()});
    const statements said(runs, {microbenchmarks.begin(), microbenchmarks.end()});
    if (!micro.is_empty()) {
        made.push_back(micro.draw("steal-figure-6.svg", "Figure 6: throughput", "More is better." + which,
                                  throughput_view,
                                  table_of(said.of_throughput()) +
                                      short_runs(runs, {microbenchmarks.begin(), microbenchmarks.end()})));
        made.push_back(micro.draw("steal-figure-7a.svg", "Figure 7: instructions a cycle", "More is better." + which,
                                  cycle_view, ""));
        made.push_back(micro.draw("steal-figure-7b.svg", "Figure 7: instructions", "Less is better." + which,
                                  instruction_view, table_of(said.of_instructions())));
        made.push_back(micro.draw("steal-figure-8.svg", "Figure 8: dynamic energy of the NVRAM",
                                  "More is better: the energy of unsafe-base divided by that of the design." + which,
                                  energy_view, table_of(said.of_energy())));
        made.push_back(micro.draw("steal-figure-9.svg", "Figure 9: writes of the NVRAM",
                                  "More is better: the writes of unsafe-base divided by those of the design." + which,
                                  write_view, table_of(said.of_writes())));
    }
    const comparison whisper(runs, directory, {kernels.begin(), kernels.end()});
    const statements said_of_kernels(runs, {kernels.begin(), kernels.end()});
    if (!whisper.is_empty())
        made.push_back(whisper.draw("steal-figure-10.svg", "Figure 10: kernels of WHISPER's kind",
                                    "These kernels are our own, written after WHISPER's; it is not run here." + which,
                                    {cycle_view, energy_view, throughput_view, write_view},
                                    table_of(said_of_kernels.of_kernels()) +
                                        short_runs(runs, {kernels.begin(), kernels.end()})));
    return made;
}

}  // namespace holdfast::bench::steal
