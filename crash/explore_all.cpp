#include <crash/explore_all.hpp>

#include <crash/explain/report.hpp>
#include <crash/explain/report_html.hpp>
#include <crash/explain/report_json.hpp>
#include <crash/explain/report_text.hpp>
#include <crash/explore/jobs.hpp>

#include <tools/streams.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace holdfast::crash {
namespace {

using json = nlohmann::ordered_json;

/// Several lives have many cuts, so few images of each will do.
constexpr std::uint64_t images_of_a_cut_in_lives = 6;
/// First lives that are drawn, for each of `--operations`.
constexpr unsigned drawn_in_lives = 24;

constexpr auto row_format = "{:<12} {:<12} {:<9} {:>9} {:>8} {:>9} {:>10} {:>10} {:>8}\n";

std::string violations_of(const findings& found) {
    if (found.first_life == 0) return std::to_string(found.violations);
    return fmt::format("{} (life {})", found.violations, found.first_life);
}

std::string text_of(const report_row& row) {
    std::string text =
        fmt::format(row_format, row.engine, row.workload_name, row.model_name, row.found.workloads, row.found.cuts,
                    row.found.images, violations_of(row.found), row.found.exhaustive ? "yes" : "no",
                    fmt::format("{:.0f}", static_cast<double>(row.found.runs) / row.seconds));
    for (const story& each : row.stories) text += text_of(each);
    for (const std::string& each : row.found.unnoticed) text += "  damage      " + each + "\n";
    return text;
}

limits limits_of(const options& wanted) {
    limits most;
    most.depth = wanted.depth;
    most.nested_one_in = wanted.nested_one_in;
    most.lives = wanted.lives;
    if (wanted.lives > 1) most.images_of_a_cut = images_of_a_cut_in_lives;
    return most;
}

workload draw_workload(const subject& what, std::size_t length, std::mt19937_64& random) {
    workload operations(length);
    unsigned before = what.universe();
    for (unsigned& each : operations) each = before = what.draw_operation(before, random);
    return operations;
}

/// From one life others follow, so not all workloads can be a first one: each operation alone, and some drawn.
void explore_lives(explorer& run, subject& what, const model& how, const options& wanted,
                   const std::function<void(const workload&, std::size_t)>& explore) {
    std::uint64_t number = 0;
    const auto is_mine = [&] { return number++ % wanted.part.count == wanted.part.index; };
    for_each_workload(what.universe(), 1, [&](const workload& each) {
        for (std::size_t i = 0; i < what.schedules(each, how); ++i)
            if (is_mine()) explore(each, i);
    });
    std::mt19937_64 random(wanted.seed);
    const std::uint64_t drawn = wanted.operations < 2 ? 0 : std::uint64_t{drawn_in_lives} * wanted.operations;
    for (std::uint64_t i = 0; i < drawn && !run.has_enough(); ++i) {
        const workload operations = draw_workload(what, 2 + random() % (wanted.operations + 1), random);
        const std::size_t schedule = random() % what.schedules(operations, how);
        if (is_mine()) explore(operations, schedule);
    }
}

/// Seeded workloads, longer than those that are all made, until there are as many images as wanted.
void lengthen(explorer& run, subject& what, const model& how, const options& wanted) {
    std::mt19937_64 random(wanted.seed + wanted.part.index);
    unsigned without_news = 0;
    for (unsigned drawn = 0; run.found().images < wanted.images && without_news < 64; ++drawn) {
        const std::uint64_t before = run.found().images;
        const unsigned length = std::min(wanted.operations + 1 + drawn / 16, 4 * (wanted.operations + 1));
        const workload operations = draw_workload(what, length, random);
        const std::size_t schedules = what.schedules(operations, how);
        if (schedules == 0) {
            ++without_news;
            continue;
        }
        const std::size_t schedule = random() % schedules;
        trace recorded = what.record(operations, how, schedule);
        if (wanted.planted) static_cast<void>(plant(*wanted.planted, recorded));
        run.explore(operations, recorded, schedule);
        without_news = run.found().images == before ? without_news + 1 : 0;
    }
}

/// Every workload, with the planted fault if there is one.
report_row explore_one(subject& what, const model& how, const options& wanted) {
    const auto begin = std::chrono::steady_clock::now();
    std::optional<planted_here> in_code;
    if (wanted.planted) in_code.emplace(*wanted.planted);
    explorer run(what, how, limits_of(wanted), wanted.seed);
    if (wanted.planted) run.plant_everywhere(*wanted.planted);
    const auto explore = [&](const workload& operations, std::size_t schedule) {
        trace recorded = what.record(operations, how, schedule);
        if (wanted.planted) static_cast<void>(plant(*wanted.planted, recorded));
        run.explore(operations, recorded, schedule);
    };
    std::uint64_t number = 0;
    if (wanted.lives > 1) explore_lives(run, what, how, wanted, explore);
    if (wanted.lives == 1)
        for_each_workload(what.universe(), what.longest_workload(wanted.operations), [&](const workload& each) {
            if (number++ % wanted.part.count != wanted.part.index) return;
            const std::size_t schedules = what.schedules(each, how);
            for (std::size_t i = 0; i < schedules; ++i) explore(each, i);
        });
    if (what.longest_workload(wanted.operations) == wanted.operations) lengthen(run, what, how, wanted);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    in_code.reset();
    findings found = run.found();
    found.exhaustive &= found.workloads != 0 || wanted.part.count > 1;  // there may be none as short as this
    return {std::string(what.engine()), std::string(what.name()), std::string(how.name), wanted.planted, found,
            took.count(), stories_of(what, how, wanted.planted, found), wanted.lives};
}

/// The calls of the seam that were passed, and how often recovery stood a crash right before and after each.
void print_calls(const std::map<std::string, coverage::crashes>& calls) {
    const auto covered = [](const auto& each) { return each.second.before != 0 && each.second.after != 0; };
    show(fmt::format("\n{:<44} {:>12} {:>12}\n", "crashed", "before", "after"));
    for (const auto& [name, crashes] : calls)
        show(fmt::format("{:<44} {:>12} {:>12}\n", name, crashes.before, crashes.after));
    show(fmt::format("{} of {} calls crashed before and after\n", std::ranges::count_if(calls, covered), calls.size()));
}

json json_of_calls(const std::map<std::string, coverage::crashes>& calls) {
    json all = json::array();
    for (const auto& [name, crashes] : calls)
        all.push_back({{"call", name}, {"before", crashes.before}, {"after", crashes.after}});
    return all;
}

struct wanted_row {
    subject* what;
    const model* how;
};

std::vector<wanted_row> wanted_rows(const options& wanted, const std::vector<std::unique_ptr<subject>>& subjects) {
    std::vector<wanted_row> all;
    for (const auto& each : subjects)
        for (const model& how : models)
            if (is_wanted(wanted, *each) && each->knows(how) && is_wanted(wanted, how))
                all.push_back({each.get(), &how});
    return all;
}

/// The page holds whole traces: it is made in one process.
int explore_for_page(const options& wanted, const std::vector<wanted_row>& todo) {
    std::vector<report_row> rows;
    std::uint64_t violations = 0;
    for (const wanted_row& each : todo) {
        rows.push_back(explore_one(*each.what, *each.how, wanted));
        show(text_of(rows.back()));
        violations += rows.back().found.violations;
    }
    coverage calls;
    for (const report_row& row : rows) calls.add(row.found.calls);
    print_calls(calls.by_name());
    const bool written = write_file(wanted.json_file, json_of(rows).dump(2) + "\n");
    if (!write_file(wanted.html_file, html_of(rows)) || !written) return 2;
    return violations == 0 ? 0 : 1;
}

}  // namespace

int explore_all(const options& wanted) {
    const auto subjects = all_subjects_and_programs();
    const std::vector<wanted_row> todo = wanted_rows(wanted, subjects);
    if (todo.empty()) {
        tools::complain("holdfast crash: no workload of that name is explored under the model " + wanted.model + "\n");
        return 2;
    }
    show(fmt::format(row_format, "engine", "workload", "model", "workloads", "cuts", "images", "violations",
                     "exhaustive", "images/s"));
    if (!wanted.html_file.empty()) return explore_for_page(wanted, todo);
    std::vector<std::function<std::string()>> tasks;
    for (const wanted_row& each : todo)
        tasks.push_back([&wanted, each] {
            const report_row row = explore_one(*each.what, *each.how, wanted);
            return json{{"text", text_of(row)}, {"record", json_of(std::vector{row})[0]},
                        {"calls", json_of_calls(row.found.calls.by_name())}}.dump();
        });
    json records = json::array();
    std::map<std::string, coverage::crashes> calls;
    std::uint64_t images = 0;
    std::uint64_t violations = 0;
    std::uint64_t exhaustive = 0;
    std::uint64_t damaged = 0;
    const auto done = [&](std::size_t, const std::string& answer) {
        const json row = json::parse(answer);
        show(row["text"].get<std::string>());
        images += row["record"]["images"].get<std::uint64_t>();
        violations += row["record"]["violations"].get<std::uint64_t>();
        damaged += row["record"]["damaged"].get<std::uint64_t>();
        if (row["record"]["exhaustive"].get<bool>()) ++exhaustive;
        for (const json& each : row["calls"]) {
            coverage::crashes& sum = calls[each["call"].get<std::string>()];
            sum.before += each["before"].get<std::uint64_t>();
            sum.after += each["after"].get<std::uint64_t>();
        }
        records.push_back(row["record"]);
    };
    const auto failed = [&](std::size_t index, const std::string& why) {
        ++violations;
        show(fmt::format("{} {} {}: exploring it failed: {}\n", todo[index].what->engine(), todo[index].what->name(),
                         todo[index].how->name, why));
    };
    run_jobs(tasks, wanted.jobs, done, failed);
    print_calls(calls);
    show(fmt::format("{} images, {} of {} rows exhaustive, {} more with a flipped bit or a lost line, {} violations\n",
                     images, exhaustive, todo.size(), damaged, violations));
    if (!write_file(wanted.json_file, records.dump(2) + "\n")) return 2;
    return violations == 0 ? 0 : 1;
}

}  // namespace holdfast::crash
