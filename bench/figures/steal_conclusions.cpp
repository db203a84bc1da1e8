// For each conclusion of the paper the part of a sweep where it holds: one setting at a time that the paper leaves
// open, or that may decide more than the logging does.
#include <bench/figures/steal_runs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace holdfast::bench::steal {
namespace {

/// Workload, threads and variation of the machine.
struct place {
    std::string workload;
    unsigned threads;
    const variation* changed;
};

simulated_run run_at(const place& at, std::string_view design, bool with_log) {
    machine_settings settings = at.changed->of_the_log && !with_log ? machine_settings{} : at.changed->settings;
    if (with_log) settings = both(safe_machine(), settings);
    return steal::run_of(at.workload, design, at.threads, "int", &settings);
}

std::optional<double> of_hardware(const simulated_runs& runs, const place& at, std::string_view design, measure what) {
    return value_of(runs, run_at(at, design, true), what);
}

std::optional<double> of_fencing(const simulated_runs& runs, const place& at, measure what) {
    return better_fencing(runs, run_at(at, fencing_designs[0], false), what);
}

std::optional<double> of_software(const simulated_runs& runs, const place& at, std::string_view design, measure what) {
    return value_of(runs, run_at(at, design, false), what);
}

/// Holds where its number is at least `bound`.
struct conclusion {
    const char* title;
    double bound;
    std::optional<double> (*number)(const simulated_runs& runs, const place& at);
};

constexpr std::array conclusions{
    conclusion{"fwb is faster than redo and undo logging that fence", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_hardware(runs, at, forced_design, measure::throughput),
                                of_fencing(runs, at, measure::throughput));
               }},
    conclusion{"hwl alone is faster than they are", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_hardware(runs, at, logged_design, measure::throughput),
                                of_fencing(runs, at, measure::throughput));
               }},
    conclusion{"fwb is faster than hwl", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_hardware(runs, at, forced_design, measure::throughput),
                                of_hardware(runs, at, logged_design, measure::throughput));
               }},
    conclusion{"fwb has 0.73 of non-pers", 0.73,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_hardware(runs, at, forced_design, measure::throughput),
                                of_software(runs, at, ideal_design, measure::throughput));
               }},
    conclusion{"fwb writes less to NVRAM than logging that fences", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_fencing(runs, at, measure::writes),
                                of_hardware(runs, at, forced_design, measure::writes));
               }},
    conclusion{"fwb takes less NVRAM energy", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_fencing(runs, at, measure::energy),
                                of_hardware(runs, at, forced_design, measure::energy));
               }},
    conclusion{"not the paper's: fwb is faster than snf-sw", 1,
               [](const simulated_runs& runs, const place& at) {
                   return ratio(of_hardware(runs, at, forced_design, measure::throughput),
                                of_software(runs, at, stealing_design, measure::throughput));
               }},
};

std::string name_of(const place& at) {
    return fmt::format("{} with {} thread{}", at.workload, at.threads, at.threads == 1 ? "" : "s");
}

/// The numbers of a conclusion under one variation.
struct numbers {
    double least = 0, most = 0;
    bool are_there = false;
    std::string holds_at;  ///< the places, by name
    void add(double value, const place& at, double bound) {
        least = are_there ? std::min(least, value) : value;
        most = are_there ? std::max(most, value) : value;
        are_there = true;
        if (value < bound) return;
        holds_at += fmt::format("{}{}: {:.2f}", holds_at.empty() ? "" : ", ", name_of(at), value);
    }
};

numbers numbers_of(const simulated_runs& runs, const conclusion& said, const variation& changed,
                   const std::vector<place>& places) {
    numbers all;
    for (place each : places) {
        each.changed = &changed;
        if (const auto found = said.number(runs, each)) all.add(*found, each, said.bound);
    }
    return all;
}

std::string range_of(const numbers& all) {
    if (!all.are_there) return "-";
    const std::string least = fmt::format("{:.2f}", all.least), most = fmt::format("{:.2f}", all.most);
    return least == most ? least : least + " to " + most;
}

std::string cell_of(const numbers& all, const conclusion& said) {
    if (!all.are_there) return "<td>-</td>";
    const bool holds = all.least >= said.bound, never = all.most < said.bound;
    return fmt::format("<td style=\"background:{}\">{}{}</td>", holds ? "#e3f4e3" : never ? "#fbdcd2" : "#fdf1d0",
                       range_of(all), holds ? "" : never ? " (no)" : fmt::format(" (for {})", all.holds_at));
}

/// Where it holds, in a sentence.
std::string sentence_of(const simulated_runs& runs, const conclusion& said, const std::vector<place>& places) {
    std::size_t looked_at = 0, holding = 0;
    std::string exceptions;
    for (const variation& changed : variations()) {
        const numbers all = numbers_of(runs, said, changed, places);
        if (!all.are_there) continue;
        ++looked_at;
        if (all.least >= said.bound) {
            ++holding;
        } else {
            exceptions += fmt::format("{}{} ({}{})", exceptions.empty() ? "" : "; ", changed.title, range_of(all),
                                      all.holds_at.empty() ? "" : "; but for " + all.holds_at);
        }
    }
    if (looked_at == 0) return "";
    return fmt::format("<li>{}: throughout in {} of {} settings.{}</li>\n", said.title, holding, looked_at,
                       exceptions.empty() ? "" : " Not with: " + exceptions + ".");
}

/// Streamed stores and the log source have as many entries of the controller and the same rule of order, so the logs of
/// software and of hardware have the same bandwidth.
std::string software_against_hardware(const simulated_runs& runs, const std::vector<place>& places) {
    std::string text;
    unsigned ahead = 0, all = 0;
    for (place each : places)
        for (const variation* changed : {&variations()[0], &variations()[1]}) {
            each.changed = changed;
            const auto software = of_software(runs, each, stealing_design, measure::throughput);
            const auto hardware = of_hardware(runs, each, forced_design, measure::throughput);
            if (!software || !hardware) continue;
            ++all;
            if (*software > *hardware) ++ahead;
            text += fmt::format("{}{}, {}: {:.2f} against {:.2f}", text.empty() ? "" : "; ", name_of(each),
                                changed == &variations()[0] ? "64 bytes" : "32 bytes", *software / 1e6,
                                *hardware / 1e6);
        }
    if (all == 0) return "";
    const char* const verdict = ahead == all ? "confirmed" : ahead == 0 ? "refuted" : "confirmed in part";
    return fmt::format("<p>That snf-sw beats fwb, durable and safe, at equal bandwidth of the log is {}: it is the "
                       "faster one in {} of {} cases, by size of fwb's records. Million transactions a second of "
                       "snf-sw against fwb: {}.</p>\n",
                       verdict, ahead, all, text);
}

/// Those of which there is more than the machine as it is.
std::vector<place> places_of(const simulated_runs& runs) {
    std::vector<place> found;
    for (const char* workload : microbenchmarks)
        for (const unsigned threads : thread_counts) {
            const place one{workload, threads, &variations()[1]};
            if (runs.has(run_at(one, forced_design, true))) found.push_back(one);
        }
    return found;
}

}  // namespace

std::optional<figure> draw_conclusions(const simulated_runs& runs) {
    const std::vector<place> places = places_of(runs);
    if (places.empty()) return std::nullopt;
    std::string text = "<table>\n<tr><th>setting</th>";
    for (const conclusion& each : conclusions) text += fmt::format("<th>{}</th>", each.title);
    text += "</tr>\n";
    for (const variation& changed : variations()) {
        std::string row;
        bool was_run = false;
        for (const conclusion& each : conclusions) {
            const numbers all = numbers_of(runs, each, changed, places);
            was_run |= all.are_there;
            row += cell_of(all, each);
        }
        if (was_run) text += fmt::format("<tr><td>{}</td>{}</tr>\n", changed.title, row);
    }
    text += "</table>\n<ul>\n";
    for (const conclusion& each : conclusions) text += sentence_of(runs, each, places);
    std::string names;
    for (const place& each : places)
        names += (names.empty() ? "" : ", ") + name_of(each);
    return figure{"", "Where the paper's conclusions hold",
                  "One setting is changed at a time. Hardware is durable and safe, like the software it is compared "
                  "with. A number is a ratio, of which the conclusion holds from 1 on (of non-pers from 0.73 on); its "
                  "range is over: " + names + ", integers.",
                  text + "</ul>\n" + software_against_hardware(runs, places)};
}

}  // namespace holdfast::bench::steal
