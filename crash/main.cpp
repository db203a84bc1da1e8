// holdfast-crash: what `holdfast crash` runs. Exit status: 0 nothing found, 1 violations, 2 wrong usage.
#include <crash/explain/replay.hpp>
#include <crash/explain/report_text.hpp>
#include <crash/explore_all.hpp>
#include <crash/plant/hints_report.hpp>
#include <crash/plant_faults.hpp>
#include <tools/streams.hpp>
#include <tools/usage.hpp>
#include <tools/writable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::crash {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (const model& each : models) names.emplace_back(each.name);
    return names;
}

/// Exit status 0: the violation does not show, 1: it does, 2: there is no such image.
int replay(const std::string& line) {
    const auto refuse = [](const std::string& why) {
        tools::complain(fmt::format("holdfast crash: {}\n", why));
        return 2;
    };
    const auto read = parse_replay(line);
    if (!read) return refuse(read.error().text());
    const scenario& wanted = *read;
    const model* how = model_named(wanted.model_name);
    if (how == nullptr) return refuse("there is no model " + wanted.model_name);
    for (const auto& each : all_subjects_and_programs()) {
        if (each->engine() != wanted.engine || each->name() != wanted.workload_name || !each->knows(*how)) continue;
        const replayed shown = replay_again(*each, *how, wanted);
        if (shown.impossible) return refuse("the line does not fit this program: " + *shown.impossible);
        if (shown.told) {
            show(long_text_of(*shown.told));
            return 1;
        }
        const char* const other = " (It is not exactly that image: other lines are now uncertain after this cut.)";
        show(fmt::format("Recovery from that image is right.{}\n", shown.followed ? "" : other));
        return 0;
    }
    return refuse(fmt::format("there is no engine {} with a workload {} under the model {}", wanted.engine,
                              wanted.workload_name, wanted.model_name));
}

/// What each engine could leave out.
int hint(const options& wanted) {
    json records = json::array();
    const model& how = *model_named(wanted.model.empty() ? "x86" : wanted.model);
    const auto all = all_subjects_and_programs();
    std::map<std::string_view, std::vector<subject*>> by_engine;
    for (const auto& each : all)
        if (is_wanted(wanted, *each) && each->knows(how)) by_engine[each->engine()].push_back(each.get());
    for (const auto& [engine, subjects] : by_engine) {
        const engine_hints found = hints_of(subjects, how, wanted.operations, wanted.seed);
        show(text_of(found));
        records.push_back(json_of(found));
    }
    if (!write_file(wanted.json_file, records.dump(2) + "\n")) return 2;
    return 0;
}

int refuse_subject(const options& wanted, const std::vector<std::unique_ptr<subject>>& all) {
    std::vector<std::string> engines, workloads;
    // One workload may have a subject in memory and one in a file.
    std::set<std::pair<std::string_view, std::string_view>> listed;
    for (const auto& each : all) {
        engines.emplace_back(each->engine());
        workloads.emplace_back(each->name());
        listed.emplace(each->engine(), each->name());
    }
    const auto guess = [](const std::string& name, const std::vector<std::string>& known) {
        return std::ranges::count(known, name) != 0 ? std::string() : tools::guess(name, known);
    };
    tools::complain(fmt::format("holdfast crash: there is no engine \"{}\" with a workload \"{}\"{}{}\nThere are\n",
                                wanted.engine, wanted.workload, guess(wanted.engine, engines),
                                guess(wanted.workload, workloads)));
    for (const auto& [engine, workload] : listed) tools::complain(fmt::format("  {} {}\n", engine, workload));
    return exit_usage;
}

int main_of(int argc, char** argv) {
    CLI::App application{"Runs recovery on every state that a crash may leave."};
    application.name("holdfast crash");
    options wanted;
    application.add_option("--engine", wanted.engine, "Only this engine");
    application.add_option("--workload", wanted.workload, "Only this workload, such as a container");
    application.add_option("--model", wanted.model, "Only this model")
        ->check(tools::one_of(model_names()));
    application.add_flag("--widest", wanted.widest, "Leave out models whose states another model allows as well");
    application.add_option("--operations", wanted.operations, "Longest workload to explore, in operations")
        ->capture_default_str();
    application.add_option("--depth", wanted.depth, "Depth of cuts inside recoveries")->capture_default_str();
    application.add_option("--lives", wanted.lives, "Number of lives (sessions) of a pool, each ended by a cut (1)")
        ->check(CLI::Range(1u, 8u));
    application.add_option("--nested", wanted.nested_one_in, "Cut one in this number of recoveries")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    application.add_option("--images", wanted.images, "Draw longer workloads until a row has this number of images");
    application.add_option("--jobs", wanted.jobs, "Processes at once")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    application.add_option_function<std::string>("--shard", [&](const std::string& text) {
        const auto slash = text.find('/');
        std::uint64_t index = 0;
        std::uint64_t count = 0;
        const char* const end = text.data() + text.size();
        const bool reads = slash != std::string::npos &&
                           std::from_chars(text.data(), text.data() + slash, index).ptr == text.data() + slash &&
                           std::from_chars(text.data() + slash + 1, end, count).ptr == end;
        if (!reads || index == 0 || index > count)
            throw CLI::ValidationError("--shard", "expected I/N with I from 1 to N, found " + text);
        wanted.part = {index - 1, count};
    }, "Only the I-th of N parts of the workloads, as I/N");
    application.add_option("--seed", wanted.seed, "Random seed, used where the search samples")
        ->capture_default_str();
    application.add_option("--replay", wanted.replay, "Only the image of this line of a report");
    application.add_option_function<std::string>("--fault", [&](const std::string& name) {
        wanted.planted = fault_named(name);
        if (!wanted.planted) throw CLI::ValidationError("--fault", "there is no fault " + name);
    }, "Explore with this fault planted, such as fence@log_commit_fence");
    application.add_option("--html", wanted.html_file, "Write a page with the timelines of violations to this file");
    application.add_flag("--mutants", wanted.mutants,
                         "Plant one fault at a time: each must be found (with --engine, --workload, --fault, --seed, "
                         "--jobs, --json)");
    application.add_flag("--hints", wanted.hints, "List the calls of the seam that seem superfluous");
    application.add_option("--json", wanted.json_file, "Write the records to this file");
    try {
        application.parse(argc, argv);
    } catch (const CLI::ParseError& reason) {
        return tools::answer(application, reason, exit_usage);
    }
    for (const std::string& path : {wanted.json_file, wanted.html_file})
        if (const auto can = tools::check_writable(path); !can) {
            tools::complain("holdfast crash: " + can.error().text() + "\n");
            return exit_usage;
        }
    if (!wanted.replay.empty()) return replay(wanted.replay);
    const auto all = all_subjects_and_programs();
    if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return is_wanted(wanted, *each); }))
        return refuse_subject(wanted, all);
    if (wanted.hints) return hint(wanted);
    return wanted.mutants ? plant_faults(wanted) : explore_all(wanted);
}

}  // namespace
}  // namespace holdfast::crash

int main(int argc, char** argv) {
    using namespace holdfast;
    tools::prepare_streams();
    int status = crash::exit_usage;
    try {
        status = crash::main_of(argc, argv);
    } catch (const std::exception& reason) {
        tools::complain(std::string("holdfast crash: ") + reason.what() + "\n");
    }
    // Once the exit status says that it is lost, nobody takes what is there for all of it.
    if (tools::output_state() != tools::output::lost) return status;
    tools::complain("holdfast crash: " + tools::output_complaint() + "\n");
    return crash::exit_usage;
}
