// What `holdfast sim` shows: the table for people, the records for machines.
#include "sim.hpp"

#include "output.hpp"

#include <bench/contest/record.hpp>
#include <holdfast/base/result.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>

namespace holdfast::tools {
namespace {

double number_of(const sim_outcome& of, std::string_view name) { return of.result.number(name); }

double per_transaction(const sim_outcome& of, std::string_view name) {
    return number_of(of, name) / number_of(of, "transactions");
}

std::string design_name(const sim_case& ran) { return std::string(sim::name_of(ran.options.design)); }

/// What a design promises: whether a line or a record may be too early or gone, and what an acknowledgement means.
struct promise {
    sim::log_safety order = sim::log_safety::faithful;
    sim::log_commit commit = sim::log_commit::instant;
};
promise promise_of(const sim_case& ran) {
    switch (ran.options.design) {
    case sim::design::non_pers:
    case sim::design::unsafe_base: return {};
    case sim::design::redo_clwb:
    case sim::design::undo_clwb:
    case sim::design::snf_sw: return {sim::log_safety::safe, sim::log_commit::durable};
    case sim::design::hw_rlog:
    case sim::design::hw_ulog: return {sim::log_safety::faithful, ran.machine.log.commit};
    case sim::design::hwl:
    case sim::design::fwb: break;
    }
    return {ran.machine.log.safety, ran.machine.log.commit};
}

template <class Names, class Choice>
std::string text_in(const Names& names, Choice which) {
    return std::string(names[static_cast<std::size_t>(which)]);
}

struct column {
    const char* title;
    std::function<std::string(const sim_outcome&)> text;
};

const std::vector<column>& sim_columns() {
    static const std::vector<column> all{
        {"workload", [](const sim_outcome& of) { return of.ran.workload; }},
        {"element", [](const sim_outcome& of) { return of.ran.options.element; }},
        {"footprint", [](const sim_outcome& of) { return readable_bytes(of.ran.options.footprint_bytes); }},
        {"filled",
         [](const sim_outcome& of) {
             return readable_bytes(static_cast<std::uint64_t>(number_of(of, "filled_bytes")));
         }},
        {"core", [](const sim_outcome& of) { return of.ran.core; }},
        {"design", [](const sim_outcome& of) { return design_name(of.ran); }},
        {"threads", [](const sim_outcome& of) { return std::to_string(of.ran.options.threads); }},
        {"tx/s", [](const sim_outcome& of) { return fmt::format("{:.3g} M", number_of(of, "tx_per_s") / 1e6); }},
        {"cycles", [](const sim_outcome& of) { return fmt::format("{:.3g} M", number_of(of, "cycles") / 1e6); }},
        {"IPC", [](const sim_outcome& of) { return fmt::format("{:.3f}", number_of(of, "instructions_per_cycle")); }},
        {"instr/tx", [](const sim_outcome& of) { return fmt::format("{:.1f}", per_transaction(of, "instructions")); }},
        {"L2 misses/tx",
         [](const sim_outcome& of) { return fmt::format("{:.2f}", per_transaction(of, "l2_read_misses")); }},
        {"NVRAM writes/tx",
         [](const sim_outcome& of) { return fmt::format("{:.2f}", per_transaction(of, "nvram_writes")); }},
        {"NVRAM nJ/tx",
         [](const sim_outcome& of) { return fmt::format("{:.1f}", per_transaction(of, "nvram_energy_pj") / 1000); }},
        {"energy nJ/tx",
         [](const sim_outcome& of) { return fmt::format("{:.1f}", per_transaction(of, "energy_pj") / 1000); }},
        {"verified", [](const sim_outcome& of) { return std::string(of.result.verified ? "yes" : "NO"); }},
        {"host instr/s",
         [](const sim_outcome& of) {
             return fmt::format("{:.1f} M", number_of(of, "host_instructions_per_s") / 1e6);
         }},
    };
    return all;
}

std::string number_text(double value) {
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return whole ? readable_count(static_cast<std::uint64_t>(value)) : fmt::format("{:.6g}", value);
}

std::string setting_name(const sim_case& ran) {
    std::string text = ran.keys == "uniform" ? "" : "keys=" + ran.keys;
    for (const auto& [key, value] : ran.settings) text += (text.empty() ? "" : ", ") + key + "=" + value;
    return text;
}

/// Runs with scans that say little of them.
std::string note_on_short_runs(const std::vector<sim_outcome>& outcomes) {
    constexpr double enough_periods = 10;
    const auto is_short = [](const sim_outcome& each) {
        if (each.ran.options.design != sim::design::fwb) return false;
        return number_of(each, "settled") == 0 || number_of(each, "scan_periods") < enough_periods;
    };
    const auto count = std::count_if(outcomes.begin(), outcomes.end(), is_short);
    if (count == 0) return "";
    return fmt::format("\n{} of {} runs began to be measured before their scans had settled, or are shorter than "
                       "{:.0f} periods of scans: see settled and scan_periods, and ask for more --operations.\n",
                       count, outcomes.size(), enough_periods);
}

}  // namespace

void print_sim_table(const std::vector<sim_outcome>& outcomes, bool all_numbers) {
    std::vector<std::vector<std::string>> rows(outcomes.size() + 1);
    for (const column& each : sim_columns()) rows[0].push_back(each.title);
    bool has_settings = false;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        for (const column& each : sim_columns()) rows[i + 1].push_back(each.text(outcomes[i]));
        has_settings = has_settings || !setting_name(outcomes[i].ran).empty();
    }
    if (has_settings) {
        rows[0].emplace_back("settings");
        for (std::size_t i = 0; i < outcomes.size(); ++i) rows[i + 1].push_back(setting_name(outcomes[i].ran));
    }
    constexpr std::size_t names = 6;
    print(aligned(rows, names, sim_columns().size()));
    print(note_on_short_runs(outcomes));
    if (!all_numbers) return;
    for (const sim_outcome& each : outcomes) {
        table numbers;
        for (const sim::statistic& one : each.result.statistics) numbers.add(one.name, number_text(one.value));
        for (const sim::statistic& one : each.result.host) numbers.add(one.name, number_text(one.value));
        print("\n" + each.result.said + "\n" + numbers.text());
    }
}

void write_sim_records(const std::vector<sim_outcome>& outcomes, const std::string& path) {
    bench::report records;
    for (const sim_outcome& each : outcomes) {
        bench::record made;
        made.suite = "sim";
        made.case_name = each.ran.workload;
        made.engine = design_name(each.ran);
        made.threads = each.ran.options.threads;
        made.params = {{"level", "power"},
                       {"medium", "nvram"},
                       {"delay_ns", std::uint64_t{0}},
                       {"footprint_bytes", each.ran.options.footprint_bytes},
                       {"operations", each.ran.options.operations},
                       {"seed", each.ran.options.seed},
                       {"element", each.ran.options.element},
                       {"keys", each.ran.keys},
                       {"core", each.ran.core}};
        if (each.ran.options.design != sim::design::non_pers) {
            const promise given = promise_of(each.ran);
            made.params.emplace_back("order", text_in(sim::log_safety_names, given.order));
            made.params.emplace_back("commit", text_in(sim::log_commit_names, given.commit));
        }
        if (each.ran.options.design == sim::design::unsafe_base) {
            made.params.emplace_back("values", text_in(sim::logged_values_names, each.ran.options.unsafe_values));
        }
        for (const auto& [key, value] : each.ran.settings) made.params.emplace_back(key, value);
        made.runs = 1;
        const auto add = [&](const std::string& metric, const std::string& unit, double value) {
            made.metric = metric;
            made.unit = unit;
            made.value = made.min = made.max = value;
            records.add(made);
        };
        add("verified", "1", each.result.verified ? 1 : 0);
        add("paper_footprint_bytes", "bytes", static_cast<double>(paper_footprint(each.ran.workload)));
        for (const sim::statistic& one : each.result.statistics) add(one.name, one.unit, one.value);
        for (const sim::statistic& one : each.result.host) add(one.name, one.unit, one.value);
    }
    records.write_json(path);
}

void write_sim_trace(const sim_outcome& outcome, const std::string& path) {
    sim::timeline shown = *outcome.result.trace;
    const sim::simulation_options& options = outcome.ran.options;
    shown.title = fmt::format("{}, {} elements, {}, threads: {}: {}", outcome.ran.workload, options.element,
                              readable_bytes(options.footprint_bytes), options.threads, shown.title);
    std::ofstream out(path);
    out << sim::timeline_html(shown);
    out.close();
    if (!out) throw failure({errc::io, "the timeline could not be written", path, {}, {}, {}});
}

}  // namespace holdfast::tools
