// holdfast-crash: what `holdfast crash` runs. Exit status: 0 nothing found, 1 violations, 2 wrong usage.
#include <crash/explain/replay.hpp>
#include <crash/explain/report.hpp>
#include <crash/explain/report_html.hpp>
#include <crash/explain/report_json.hpp>
#include <crash/explain/report_text.hpp>
#include <crash/explore/explore.hpp>
#include <crash/explore/jobs.hpp>
#include <crash/plant/hints_report.hpp>
#include <crash/plant/hunt.hpp>
#include <tools/streams.hpp>
#include <tools/usage.hpp>
#include <tools/writable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::crash {
namespace {

using json = nlohmann::ordered_json;

/// Several lives have many cuts, so few images of each will do.
constexpr std::uint64_t images_of_a_cut_in_lives = 6;
/// First lives that are drawn, for each of `--operations`.
constexpr unsigned drawn_in_lives = 24;

/// Also of what cannot be written: 1 says that there are violations.
constexpr int exit_usage = 2;

/// Which part of the workloads this process is to explore.
struct shard {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

struct options {
    std::string engine, workload, model, json_file, html_file, replay;
    std::optional<fault> planted;
    std::uint64_t images = 0, seed = 1;
    shard part;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    unsigned operations = 3, depth = 1;
    unsigned lives = 1;
    std::uint64_t nested_one_in = limits{}.nested_one_in;
    bool mutants = false;
    bool hints = false;
    bool widest = false;
};

/// Does nothing without a path. Whether all of it was written; says what is wrong.
bool write_file(const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) tools::complain(fmt::format("holdfast crash: {} cannot be written\n", path));
    return !file.fail();
}

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (const model& each : models) names.emplace_back(each.name);
    return names;
}

bool is_wanted(const options& wanted, const model& how) {
    if (how.is_saved && wanted.lives > 1) return false;
    return (wanted.model.empty() || how.name == wanted.model) && (!wanted.widest || how.within.empty());
}

bool is_wanted(const options& wanted, const subject& what) {
    return (wanted.engine.empty() || what.engine() == wanted.engine) &&
           (wanted.workload.empty() ? wanted.mutants || (wanted.lives == 1 ? !what.is_for_lives() : what.has_lives())
                                    : what.name() == wanted.workload);
}

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

/// At once: rows take long.
void show(const std::string& text) {
    tools::show(text);
    tools::flush_output();
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
        const std::size_t schedule = random() % what.schedules(operations, how);
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
    for (const auto& each : all_subjects()) {
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

int explore_all(const options& wanted) {
    const auto subjects = all_subjects();
    const std::vector<wanted_row> todo = wanted_rows(wanted, subjects);
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

/// Plants each fault on its own and looks until it is caught.
int plant_faults(const options& wanted) {
    const auto begin = std::chrono::steady_clock::now();
    std::map<std::string_view, std::vector<std::unique_ptr<subject>>> engines;
    for (auto& each : all_subjects())
        if (is_wanted(wanted, *each)) engines[each->engine()].push_back(std::move(each));
    std::map<std::string_view, std::vector<hunting_ground>> grounds;
    std::vector<std::pair<std::string_view, fault>> planted;
    std::vector<std::function<std::string()>> tasks;
    for (const auto& [engine, subjects] : engines) {
        const auto& here = grounds[engine] = hunting_grounds_of(subjects, wanted.seed);
        for (const fault& each : faults_of(here))
            if (!wanted.planted || *wanted.planted == each) planted.emplace_back(engine, each);
    }
    // Those in code take longest; were one of them last, all others would wait for it.
    std::ranges::stable_partition(planted, [](const auto& each) { return each.second.how == fault::change::in_code; });
    for (const auto& [engine, fault] : planted)
        tasks.push_back([&here = grounds[engine], each = fault, &wanted] {
            catch_report report;
            try {
                report = hunt(here, each, wanted.seed);
            } catch (const std::exception& reason) {
                // A workload that cannot be recorded shows nothing.
                report.what = reason.what();
            }
            return json{{"fault", each.name()}, {"caught", report.caught}, {"workload", report.workload},
                        {"model", report.model}, {"operations", report.operations}, {"what", report.what},
                        {"replay", report.replay},
                        {"seconds", report.seconds}, {"breaks_promise", report.breaks_promise}}.dump();
        });
    std::map<std::string_view, json> records;
    std::uint64_t caught = 0;
    std::uint64_t of_calls = 0;
    std::uint64_t break_promises = 0;
    const auto add = [&](std::size_t index, const json& found) {
        const auto& [engine, each] = planted[index];
        const bool is_caught = found["caught"].get<bool>();
        show(fmt::format("{:<12} {:<7} {:>5.1f} s  {:<13} {:<5} {}\n", engine, is_caught ? "caught" : "MISSED",
                         found["seconds"].get<double>(), found["workload"].get<std::string>(),
                         found["model"].get<std::string>(), each.name()));
        json& record = records[engine];
        if (record.is_null()) record = {{"engine", engine}, {"planted", 0}, {"caught", 0}, {"faults", json::array()}};
        record["planted"] = record["planted"].get<int>() + 1;
        record["caught"] = record["caught"].get<int>() + (is_caught ? 1 : 0);
        record["faults"].push_back(found);
        if (is_caught) ++caught;
        if (each.how != fault::change::in_code) ++of_calls;
        if (found.value("breaks_promise", false)) ++break_promises;
    };
    // A recovery that dies of a fault has shown it.
    const auto died = [&](std::size_t index, const std::string& why) {
        add(index, {{"fault", planted[index].second.name()}, {"caught", true}, {"workload", ""}, {"model", ""},
                    {"operations", ""}, {"what", why}, {"seconds", 0.0}});
    };
    run_jobs(tasks, wanted.jobs, [&](std::size_t index, const std::string& answer) { add(index, json::parse(answer)); },
             died);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    for (const unshown_fault& each : unshown_faults())
        if (engines.contains(each.engine))
            show(fmt::format("{:<12} not planted: {}: {}\n", each.engine, each.what.name(), each.why));
    show(fmt::format("{} of {} faults at calls break the promise of an acknowledgement, which alone shows them\n",
                     break_promises, of_calls));
    show(fmt::format("{} of {} planted faults caught, {:.1f} s\n", caught, planted.size(), took.count()));
    json all = json::array();
    for (auto& [engine, record] : records) all.push_back(std::move(record));
    if (!write_file(wanted.json_file, all.dump(2) + "\n")) return 2;
    return caught == planted.size() ? 0 : 1;
}

/// What each engine could leave out.
int hint(const options& wanted) {
    json records = json::array();
    const model& how = *model_named(wanted.model.empty() ? "x86" : wanted.model);
    const auto all = all_subjects();
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
    application.add_option("--lives", wanted.lives, "Number of lives of a pool, each ended by a cut (1)")
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
    application.add_option("--seed", wanted.seed, "Seed of what is drawn where not everything can be tried")
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
    const auto all = all_subjects();
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
