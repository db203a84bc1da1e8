// `holdfast sim`: runs workloads on the simulated machine, one after another or side by side.
#include "sim.hpp"

#include "command.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "streams.hpp"
#include "suggestion.hpp"
#include "writable.hpp"

#include <holdfast/base/result.hpp>
#include <sim/machine/common_findings.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

namespace holdfast::tools {
namespace {

/// A setting with the values that it shall have, one after another.
struct swept_setting {
    std::string key;
    std::vector<std::string> values;
};

struct sim_request {
    std::vector<std::string> workloads;
    std::vector<std::uint32_t> threads{1};
    std::vector<std::string> elements{"int"};
    std::vector<std::string> keys{"uniform"};
    std::vector<std::string> cores{std::string(sim::core_names[0])};
    std::string footprint = "32MiB";
    std::uint64_t operations = 100'000;
    std::uint64_t seed = 1;
    std::vector<std::string> designs{std::string(sim::design_names[0])};
    std::string config_path;
    std::vector<std::string> settings;
    std::string json_path;
    std::string trace_path;
    std::string trace_window = "10000..11000";
    std::string shard = "1/1";
    std::uint32_t jobs = 0;
    bool quick = false;
    bool all_numbers = false;
    bool print_config = false;
};

class wrong_usage : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint64_t bytes_in(const std::string& key, const std::string& text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
    const unsigned shift = suffix == "KiB" ? 10 : suffix == "MiB" ? 20 : suffix == "GiB" ? 30 : 0;
    const bool good = problem == std::errc{} && (suffix.empty() || shift != 0) && value <= most >> shift;
    if (!good || value << shift < least) {
        throw wrong_usage(fmt::format("{} is {}, allowed is {} to {}, such as 32MiB", key, text,
                                      readable_bytes(least), readable_bytes(most)));
    }
    return value << shift;
}

std::vector<swept_setting> settings_of(const sim_request& asked) {
    std::vector<swept_setting> made;
    for (const std::string& each : asked.settings) {
        const std::size_t equals = each.find('=');
        if (equals == std::string::npos) throw wrong_usage("--set " + each + ": allowed is KEY=VALUE[,VALUE]...");
        swept_setting setting{each.substr(0, equals), {}};
        std::istringstream values(each.substr(equals + 1));
        for (std::string value; std::getline(values, value, ',');) setting.values.push_back(value);
        if (setting.values.empty()) throw wrong_usage("--set " + each + ": there is no value");
        made.push_back(std::move(setting));
    }
    return made;
}

sim::machine_config machine_of(const sim_request& asked, const std::string& core) {
    sim::machine_config machine;
    if (const auto bad = sim::set(machine, "core.name", core)) throw wrong_usage(bad->text());
    if (asked.config_path.empty()) return machine;
    std::ifstream in(asked.config_path);
    if (!in) fail(errc::not_found, "the configuration cannot be read: " + asked.config_path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (const auto bad = sim::set_lines(machine, text, asked.config_path)) throw wrong_usage(bad->text());
    return machine;
}

std::vector<std::string> words_of(const char* text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

/// The name of the program that runs a workload on such keys.
std::string program_name(const std::string& workload, const std::string& keys) {
    if (keys == "uniform") return workload;
    const std::vector<std::string> known = words_of(HOLDFAST_GUEST_ZIPF_WORKLOADS);
    if (std::find(known.begin(), known.end(), workload) != known.end()) return workload + "-" + keys;
    throw wrong_usage("--keys is " + keys + ", but " + workload + " draws no keys, allowed is uniform");
}

/// FROM..TO, in cycles.
sim::trace_window window_of(const std::string& text) {
    sim::trace_window window;
    const char* const end = text.data() + text.size();
    const auto [dots, bad_from] = std::from_chars(text.data(), end, window.from);
    const bool has_dots = bad_from == std::errc{} && end - dots > 2 && dots[0] == '.' && dots[1] == '.';
    const auto [stop, bad_to] = std::from_chars(has_dots ? dots + 2 : end, end, window.to);
    const bool is_number = has_dots && bad_to == std::errc{} && stop == end;
    if (is_number && window.from < window.to && window.to - window.from <= sim::trace_window::longest) return window;
    throw wrong_usage(fmt::format("--trace-window is {}, allowed is FROM..TO in cycles of the measured phase, such as "
                                  "10000..11000, FROM before TO and at most {} cycles long", text,
                                  sim::trace_window::longest));
}

/// A program by its name: installed, it stands beside the command; built, where it was built.
std::string guest_program(const std::string& name) {
    if (!HOLDFAST_HAS_GUESTS) {
        fail(errc::not_found,
             "there are no programs for the simulated machine: riscv64-linux-gnu-g++ was missing when this command was "
             "built (Debian: g++-riscv64-linux-gnu)");
    }
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
    for (const auto& directory : {beside / HOLDFAST_GUEST_INSTALL_DIRECTORY,
                                  std::filesystem::path(HOLDFAST_GUEST_BUILD_DIRECTORY)}) {
        if (std::filesystem::exists(directory / name)) return (directory / name).string();
    }
    throw failure({errc::not_found, "the simulated machine's program '" + name + "' is missing",
                   (beside / HOLDFAST_GUEST_INSTALL_DIRECTORY / name).string(), {}, {}, {}});
}

void apply(sim_case& to, const std::string& key, const std::string& value) {
    if (const auto bad = sim::set(to.machine, key, value)) throw wrong_usage(bad->text());
    to.settings.emplace_back(key, value);
}

std::uint64_t footprint_of(const sim_request& asked, const std::string& workload) {
    const std::uint64_t least = asked.quick ? 32u << 20 : 4096;
    if (asked.footprint == "paper") return std::max(paper_footprint(workload), least);
    return bytes_in("--footprint", asked.footprint, least, std::uint64_t{7} << 30);
}

/// Copies of the cases with every value of a setting.
std::vector<sim_case> swept(const std::vector<sim_case>& cases, const swept_setting& setting) {
    std::vector<sim_case> made;
    for (const sim_case& each : cases) {
        for (const std::string& value : setting.values) {
            made.push_back(each);
            apply(made.back(), setting.key, value);
        }
    }
    return made;
}

void check_case(const sim_case& each) {
    if (const auto bad = sim::check(each.machine)) throw wrong_usage(bad->text());
    constexpr std::uint32_t most = 8;  // that the programs can start
    const std::uint32_t harts = each.machine.caches.cores * each.machine.scheduling.harts_per_core;
    if (each.options.threads >= 1 && each.options.threads <= std::min(harts, most)) return;
    throw wrong_usage(fmt::format("--threads is {}, allowed is 1 to {}: cache.cores times machine.harts_per_core, {} "
                                  "at most", each.options.threads, std::min(harts, most), most));
}

/// What the program logs has no such setting, and records that said so would be wrong.
void check_commit(const sim_case& each) {
    const bool is_instant = each.machine.log.commit == sim::log_commit::instant;
    if (!is_instant || sim::has_logging_hardware(each.options.design)) return;
    throw wrong_usage(fmt::format("log.commit is instant, but {} has no hardware that logs, allowed is durable",
                                  sim::name_of(each.options.design)));
}

sim::design design_named(const std::string& name) {
    const auto found = std::find(sim::design_names.begin(), sim::design_names.end(), name);
    return static_cast<sim::design>(found - sim::design_names.begin());
}

/// The combinations of all that was asked for, in a fixed order.
std::vector<sim_case> cases_of(const sim_request& asked) {
    std::vector<sim_case> made;
    for (const std::string& workload : asked.workloads) {
        const std::uint64_t footprint = footprint_of(asked, workload);
        const auto add = [&](const std::string& element, const std::string& keys, const std::string& core,
                             std::uint32_t threads, const std::string& design) {
            sim_case one{workload, core, keys, {}, machine_of(asked, core), {}};
            one.options = {.program = guest_program(program_name(workload, keys)),
                           .threads = threads,
                           .footprint_bytes = footprint,
                           .operations = asked.operations,
                           .seed = asked.seed,
                           .element = element,
                           .design = design_named(design)};
            made.push_back(std::move(one));
        };
        for (const std::string& element : asked.elements)
            for (const std::string& keys : asked.keys)
                for (const std::string& core : asked.cores)
                    for (const std::uint32_t threads : asked.threads)
                        for (const std::string& design : asked.designs) add(element, keys, core, threads, design);
    }
    for (const swept_setting& each : settings_of(asked)) made = swept(made, each);
    for (const sim_case& each : made) {
        check_case(each);
        check_commit(each);
    }
    return made;
}

/// Those of a share: every n-th, beginning with the i-th.
std::vector<sim_case> share_of(const std::vector<sim_case>& all, const std::string& shard) {
    std::size_t which = 0, of = 0;
    char rest = 0;
    if (std::sscanf(shard.c_str(), "%zu/%zu%c", &which, &of, &rest) != 2 || which < 1 || which > of) {
        throw wrong_usage("--shard is " + shard + ", allowed is I/N with I from 1 to N");
    }
    std::vector<sim_case> mine;
    for (std::size_t i = which - 1; i < all.size(); i += of) mine.push_back(all[i]);
    return mine;
}

/// Of unsafe-base both, of which the faster one counts.
sim::result<sim::simulation_result> run_case(sim_case& ran, const sim::simulation_progress& progress,
                                             sim::common_findings& common) {
    auto found = sim::simulate(ran.machine, ran.options, progress, common);
    if (ran.options.design != sim::design::unsafe_base || !found) return found;
    sim::simulation_options undo = ran.options;
    undo.unsafe_values = sim::logged_values::undo;
    auto other = sim::simulate(ran.machine, undo, [](const char*) {}, common);
    if (!other) return other;
    if (found->number("tx_per_s") >= other->number("tx_per_s")) return found;
    ran.options = undo;
    return other;
}

/// Runs all of them, several side by side; each has one thread of the host.
std::vector<sim_outcome> run_cases(std::vector<sim_case>& cases, std::uint32_t jobs) {
    constexpr std::size_t phases = 4;
    progress bar("sim: phases", cases.size() * phases);
    std::mutex one_at_a_time;
    std::size_t begun = 0;
    std::atomic<std::size_t> next = 0;
    std::vector<std::optional<sim::result<sim::simulation_result>>> results(cases.size());
    sim::common_findings common;
    const auto work = [&] {
        for (std::size_t i = next++; i < cases.size(); i = next++) {
            const auto begins = [&](const char*) {
                const std::lock_guard guard(one_at_a_time);
                bar.at(begun++);
            };
            results[i] = run_case(cases[i], begins, common);
        }
    };
    std::vector<std::thread> helpers;
    for (std::uint32_t i = 1; i < jobs && i < cases.size(); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& each : helpers) each.join();
    std::vector<sim_outcome> made;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (!*results[i]) {
            const sim::problem& reason = results[i]->problem();
            throw failure({errc::io, cases[i].workload + ": " + reason.what, reason.where, {}, reason.expected,
                           reason.found});
        }
        made.push_back({cases[i], **std::move(results[i])});
    }
    return made;
}

void trace_one(std::vector<sim_case>& cases, const sim_request& asked) {
    if (asked.trace_path.empty()) return;
    if (cases.size() != 1) {
        throw wrong_usage(fmt::format("--trace shows one run, but {} are selected", cases.size()));
    }
    cases.front().options.trace = window_of(asked.trace_window);
}

int run_sim(const sim_request& asked) {
    try {
        // Before runs that take long, rather than after.
        check_writable(asked.json_path).value();
        check_writable(asked.trace_path).value();
        std::vector<sim_case> cases = share_of(cases_of(asked), asked.shard);
        trace_one(cases, asked);
        if (asked.print_config) {
            for (const sim_case& each : cases) print(sim::lines_of(each.machine));
            return exit_success;
        }
        const std::uint32_t jobs = asked.jobs != 0 ? asked.jobs : std::max(1u, std::thread::hardware_concurrency());
        const std::vector<sim_outcome> outcomes = run_cases(cases, jobs);
        print_sim_table(outcomes, asked.all_numbers);
        if (!asked.json_path.empty()) write_sim_records(outcomes, asked.json_path);
        if (!asked.trace_path.empty()) write_sim_trace(outcomes.front(), asked.trace_path);
        for (const sim_outcome& each : outcomes) {
            if (!each.result.verified) return exit_failed;
        }
        return exit_success;
    } catch (const wrong_usage& reason) {
        complain(fmt::format("holdfast sim: {}\n", reason.what()));
        return exit_usage;
    }
}

void add_sim_options(CLI::App& sim_command, sim_request& asked) {
    sim_command.add_option("WORKLOAD", asked.workloads, "Workload to run (several run in turn)")
        ->required()
        ->check(one_of(words_of(HOLDFAST_GUEST_WORKLOADS)));
    sim_command.add_option("--threads", asked.threads, "Harts of the machine, one for each thread")
        ->delimiter(',')->capture_default_str();
    sim_command.add_option("--footprint", asked.footprint,
                           "Size of the filled structure; paper: as large as in the paper")
        ->capture_default_str();
    sim_command.add_option("--operations", asked.operations, "Number of measured transactions, of all threads together")
        ->check(CLI::Range(1, 100'000'000))->capture_default_str();
    sim_command.add_option("--element", asked.elements, "8 or 256 bytes")
        ->check(one_of({"int", "string"}))->delimiter(',')->capture_default_str();
    sim_command.add_option("--keys", asked.keys, "Distribution of keys: uniform, or zipf with exponent 0.99")
        ->check(one_of({"uniform", "zipf"}))->delimiter(',')->capture_default_str();
    sim_command.add_option("--seed", asked.seed, "Seed of the workload's random numbers")->capture_default_str();
    sim_command.add_option("--design", asked.designs,
                           "What makes transactions durable: non-pers nothing; redo- and undo- the program's log of "
                           "new or of old values; unsafe-base the faster of the two, without write-backs and fences; "
                           "hw-rlog and hw-ulog the same logs by hardware; hwl a log of both values by hardware, and "
                           "lines written back by the program; fwb the same log, and scans that force lines home; "
                           "snf-sw the program's log of new values with one fence, and lines written back later")
        ->check(one_of(std::vector<std::string>(sim::design_names.begin(), sim::design_names.end())))
        ->delimiter(',')->capture_default_str();
    sim_command.add_option("--core", asked.cores, "Base settings of the cores")
        ->delimiter(',')->capture_default_str();
    sim_command.add_option("--config", asked.config_path, "Settings of the machine, a file of lines KEY = VALUE")
        ->type_name("FILE");
    sim_command.add_option("--set", asked.settings, "A setting, such as cache.l2.size=4MiB; several values: a sweep")
        ->type_name("KEY=VALUE[,VALUE]")->allow_extra_args(false);
    sim_command.add_flag("--print-config", asked.print_config, "Print all settings as --config reads them, and exit");
    sim_command.add_flag("--quick", asked.quick, "Few transactions; a footprint of at least 32 MiB");
    sim_command.add_option("--json", asked.json_path, "Write the records to this file as a JSON array")
        ->type_name("FILE");
    sim_command.add_option("--trace", asked.trace_path, "Write a timeline of one run to this file, a page of HTML")
        ->type_name("FILE");
    sim_command.add_option("--trace-window", asked.trace_window, "Its window, in cycles of the measured phase")
        ->type_name("FROM..TO")->capture_default_str();
    sim_command.add_flag("--statistics", asked.all_numbers, "Print all counters, too");
    sim_command.add_option("--shard", asked.shard, "Only every N-th run, beginning with the I-th")
        ->type_name("I/N")->capture_default_str();
    sim_command.add_option("--jobs", asked.jobs, "Parallel runs; 0: one per processor of the host")
        ->capture_default_str();
}

}  // namespace

std::uint64_t paper_footprint(const std::string& workload) {
    if (workload == "hash" || workload == "rbtree" || workload == "btree") return 256u << 20;
    if (workload == "sps") return 1u << 30;
    return workload == "ssca2" ? 16u << 20 : 0;
}

void add_sim_command(CLI::App& application, command_line& line) {
    const auto asked = std::make_shared<sim_request>();
    auto* sim_command = application.add_subcommand("sim", "Run workloads on a simulated machine with NVRAM");
    add_sim_options(*sim_command, *asked);
    sim_command->footer("Numbers of the host begin with host_; all others are simulated and repeat exactly.\n"
                        "Several workloads, threads, elements, keys, designs, cores or values of --set form a sweep.");
    auto* const operations = sim_command->get_option("--operations");
    sim_command->callback([asked, operations, &line] {
        if (asked->quick && operations->count() == 0) asked->operations = 20'000;
        line.run = [asked] { return run_sim(*asked); };
    });
}

}  // namespace holdfast::tools
