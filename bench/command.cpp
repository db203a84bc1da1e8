#include <bench/bench.hpp>

#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>
#include <bench/external.hpp>
#include <bench/figures/paper_ratios.hpp>
#include <bench/runner.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/result.hpp>
#include <tools/streams.hpp>
#include <tools/suggestion.hpp>
#include <tools/writable.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <memory>

namespace holdfast::bench {
namespace {

struct suite {
    std::string_view name;
    std::vector<planned_match> (*plan)(const options&, scratch&);
    void (*conclude)(report&) = nullptr;  ///< adds what follows from all records together
};

constexpr std::array all_suites{suite{"floor", plan_floor},   suite{"sps", plan_sps},
                                suite{"hash", plan_hash},     suite{"btree", plan_btree},
                                suite{"rbtree", plan_rbtree}, suite{"ssca2", plan_ssca2},
                                suite{"open", plan_open},
                                suite{"bounded-buffer", plan_bounded_buffer, conclude_bounded_buffer},
                                suite{"lines", plan_lines},   suite{"wrap", plan_wrap},
                                suite{"intset", plan_intset}, suite{"itm", plan_itm, conclude_itm},
                                suite{"stamp", plan_stamp},   suite{"dnv-list", plan_dnv_list},
                                suite{"cache", plan_cache},   suite{"cchtm", plan_cchtm, conclude_cchtm},
                                suite{"ecc", plan_ecc},       suite{"memory", plan_memory},
                                suite{"powerfail", plan_powerfail, conclude_powerfail}};

constexpr auto suite_names = [] {
    std::array<std::string_view, all_suites.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = all_suites[i].name;
    return names;
}();

/// Everything is measured as often as it ever is, and hardly for a moment.
void shorten(batch_limits& limits) {
    limits.wanted_ns /= 16;
    limits.longest_ns /= 16;
    limits.laps = 0;
    limits.more_repetitions = 0;
}

report run_suite(const suite& wanted, const options& options) {
    scratch space(options.directory);
    report records;
    records.set_external(read_external(options.external, std::string(wanted.name)));
    const auto plan = wanted.plan(options, space);
    progress bar(plan.size());
    for (const auto& set_up : plan) {
        bar.show(std::string(wanted.name) + ": setting up", 0);
        auto one = set_up();
        if (options.trial) {
            shorten(one.limits);
            one.title += "   a trial: the times mean nothing";
        }
        play(one, records, bar);
    }
    if (wanted.conclude != nullptr) wanted.conclude(records);
    return records;
}

const suite* find_suite(const std::string& name) {
    for (const auto& each : all_suites)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace

std::span<const std::string_view> suites() noexcept { return suite_names; }

report measure(const std::string& name, const options& wanted) {
    const suite* const found = find_suite(name);
    if (found == nullptr) fail(errc::invalid_argument, "there is no suite '" + name + "'");
    return run_suite(*found, wanted);
}

int run(const std::string& name, const options& options) {
    const suite* const found = find_suite(name);
    if (found == nullptr) {
        tools::complain("holdfast bench: there is no suite '" + name + "'\n");
        return 2;
    }
    if (!options.external.empty() && !takes_external(name)) {
        tools::complain("holdfast bench: suite " + name +
                        " takes no external records; sps, hash, btree and rbtree do\n");
        return 2;
    }
    if (!options.cases.empty() && name != "stamp") {
        tools::complain("holdfast bench: suite " + name + " cannot be asked for single cases; stamp can\n");
        return 2;
    }
    try {
        tools::check_writable(options.json_path).value();
        const report records = run_suite(*found, options);
        if (records.records().empty() && !options.engines.empty()) {
            tools::complain("holdfast bench: suite " + name + " has none of the engines and rivals that were named: " +
                            options.engines.front() + "\n");
            return 2;
        }
        if (!options.json_path.empty()) records.write_json(options.json_path);
        return 0;
    } catch (const std::exception& reason) {
        tools::complain(std::string("holdfast bench: ") + reason.what() + "\n");
        return 1;
    }
}

void add_bench_command(CLI::App& command, std::function<int()>& chosen) {
    struct line {
        std::string suite;
        options asked;
    };
    const auto all = std::make_shared<line>();
    auto* bench = command.add_subcommand("bench", "Measure engines against floors and rivals");
    std::vector<std::string> names(suite_names.begin(), suite_names.end());
    bench->add_option("SUITE", all->suite, "What to measure")->required()->check(tools::one_of(names));
    bench->add_flag("--quick", all->asked.quick, "Fewer cases, shorter batches: half a minute to three minutes");
    bench->add_flag("--trial", all->asked.trial,
                    "Very short batches: check that a suite runs; the times are meaningless");
    bench->add_option("--json", all->asked.json_path, "Write the records to this file as a JSON array")
        ->type_name("FILE");
    bench->add_option("--dir", all->asked.directory, "Directory for pools on an ordinary file")
        ->type_name("DIRECTORY")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    bench->add_option("--delay-ns", all->asked.delay_ns,
                      "Extra time for each line written to nvram, by our engines and, on bounded-buffer, lines and\n"
                      "wrap, by libpmemobj; none on dnv-list and cache")
        ->capture_default_str();
    bench->add_option("--records", setting::records,
                      "How our engines' log records reach nvram: streamed, written_back, or the cheaper way as each\n"
                      "opening measures it")
        ->check(tools::one_of({"measured", "streamed", "written_back"}))
        ->capture_default_str();
    bench->add_option("--engine", all->asked.engines, "Only this engine or rival, or none for the floors (repeatable)")
        ->type_name("NAME");
    bench->add_option("--case", all->asked.cases,
                      "Only this program of stamp, such as kmeans-low or kmeans-low++ (repeatable)")
        ->type_name("NAME")
        ->check(tools::one_of(stamp_case_names()));
    bench->add_option("--external", all->asked.external,
                      "Records of the same form that another program measured in the same minutes; sps, hash, btree\n"
                      "and rbtree print them next to ours, with the ratio (repeatable)")
        ->type_name("FILE");
    bench->footer("nvram is tmpfs emulating byte-addressable NVRAM: write-backs and fences are issued, and\n"
                  "nothing survives a power cut. Rivals run in child processes in the same invocation.");
    bench->callback([all, &chosen] { chosen = [all] { return run(all->suite, all->asked); }; });
}

}  // namespace holdfast::bench
