// holdfast-crash: what `holdfast crash` runs. Exit status: 0 nothing found, 1 violations, 2 wrong usage.
#include <crash/explore.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace holdfast::crash {
namespace {

using json = nlohmann::ordered_json;

struct options {
    std::string engine, workload, model, json_file;
    std::uint64_t images = 0;
    std::uint64_t seed = 1;
    unsigned operations = 3;
    unsigned depth = 1;
    bool mutants = false;
};

bool is_wanted(const options& wanted, const subject& what) {
    return (wanted.engine.empty() || what.engine() == wanted.engine) &&
           (wanted.workload.empty() || what.name() == wanted.workload);
}

std::string words_of(const subject& what, const workload& operations) {
    std::string text;
    for (const unsigned each : operations) text += (text.empty() ? "" : ", ") + what.describe(each);
    return text;
}

json record_of(const subject& what, const model& how, const findings& found, double seconds) {
    json record{{"engine", what.engine()}, {"workload", what.name()}, {"model", how.name},
                {"images", found.images}, {"violations", found.violations}, {"exhaustive", found.exhaustive},
                {"runs", found.runs}, {"workloads", found.workloads}, {"cuts", found.cuts},
                {"nested_cuts", found.nested_cuts}, {"seconds", seconds}};
    for (const violation& each : found.told)
        record["told"].push_back({{"operations", words_of(what, each.operations)},
                                  {"cut", each.cut}, {"depth", each.depth}, {"where", each.where},
                                  {"choices", each.made}, {"what", each.what}});
    return record;
}

constexpr auto row_format = "{:<11} {:<10} {:<9} {:>9} {:>8} {:>9} {:>10} {:>10} {:>8}\n";

void print_row(const subject& what, const model& how, const findings& found, double seconds) {
    fmt::print(row_format, what.engine(), what.name(), how.name, found.workloads, found.cuts, found.images,
               found.violations, found.exhaustive ? "yes" : "no",
               fmt::format("{:.0f}", static_cast<double>(found.runs) / seconds));
    for (const violation& each : found.told)
        fmt::print("  after {} (event {}), operations {}:\n    {}\n", each.where.empty() ? "nothing" : each.where,
                   each.cut, words_of(what, each.operations), each.what);
}

int explore_all(const options& wanted) {
    json records = json::array();
    std::uint64_t violations = 0;
    fmt::print(row_format, "engine", "workload", "model", "workloads", "cuts", "images", "violations", "exhaustive",
               "images/s");
    for (const auto& each : all_subjects()) {
        if (!is_wanted(wanted, *each)) continue;
        for (const model& how : models) {
            if (!wanted.model.empty() && how.name != wanted.model) continue;
            const auto begin = std::chrono::steady_clock::now();
            limits most;
            most.depth = wanted.depth;
            explorer run(*each, how, most, wanted.seed);
            for_each_workload(each->universe(), wanted.operations,
                              [&](const workload& operations) { run.explore(operations); });
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            print_row(*each, how, run.found(), took.count());
            std::fflush(stdout);
            records.push_back(record_of(*each, how, run.found(), took.count()));
            violations += run.found().violations;
        }
    }
    if (!wanted.json_file.empty()) std::ofstream(wanted.json_file) << records.dump(2) << "\n";
    return violations == 0 ? 0 : 1;
}

int plant_faults(const options& wanted) {
    json records = json::array();
    bool all_caught = true;
    const model& how = *model_named(wanted.model.empty() ? "x86" : wanted.model);
    for (const auto& each : all_subjects()) {
        if (!is_wanted(wanted, *each)) continue;
        const auto faults = faults_of(each->record(workload(2, 0), how));
        std::uint64_t caught = 0;
        fmt::print("{} {}, model {}\n", each->engine(), each->name(), how.name);
        for (const fault& planted : faults) {
            const bool found = is_caught(*each, how, planted, wanted.seed);
            caught += found ? 1 : 0;
            fmt::print("  {:<7} {}\n", found ? "caught" : "MISSED", planted.name());
            std::fflush(stdout);
        }
        all_caught = all_caught && caught == faults.size();
        records.push_back({{"engine", each->engine()}, {"workload", each->name()}, {"model", how.name},
                           {"planted", faults.size()}, {"caught", caught}});
    }
    if (!wanted.json_file.empty()) std::ofstream(wanted.json_file) << records.dump(2) << "\n";
    return all_caught ? 0 : 1;
}

int main_of(int argc, char** argv) {
    CLI::App application{"Runs recovery on every state that a crash may leave."};
    application.name("holdfast crash");
    options wanted;
    application.add_option("--engine", wanted.engine, "Only this engine");
    application.add_option("--workload", wanted.workload, "Only this container");
    application.add_option("--model", wanted.model, "Only this model")
        ->check([](const std::string& name) -> std::string {
            return model_named(name) != nullptr ? "" : "there is no model " + name;
        });
    application.add_option("--operations", wanted.operations, "Every workload of so many operations at most")
        ->capture_default_str();
    application.add_option("--depth", wanted.depth, "How deep recoveries are cut in turn")->capture_default_str();
    application.add_option("--seed", wanted.seed, "What is drawn where not everything can be tried")
        ->capture_default_str();
    application.add_flag("--mutants", wanted.mutants, "Leave out one call of the seam at a time: each must be found");
    application.add_option("--json", wanted.json_file, "Write the records to this file");
    try {
        application.parse(argc, argv);
    } catch (const CLI::ParseError& reason) {
        return application.exit(reason) == 0 ? 0 : 2;
    }
    const auto all = all_subjects();
    if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return is_wanted(wanted, *each); })) {
        fmt::print(stderr, "holdfast crash: there is no engine \"{}\" with a workload \"{}\", but\n", wanted.engine,
                   wanted.workload);
        for (const auto& each : all) fmt::print(stderr, "  {} {}\n", each->engine(), each->name());
        return 2;
    }
    return wanted.mutants ? plant_faults(wanted) : explore_all(wanted);
}

}  // namespace
}  // namespace holdfast::crash

int main(int argc, char** argv) { return holdfast::crash::main_of(argc, argv); }
