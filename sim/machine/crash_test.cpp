// Whole programs of each design, crashed at many moments of one run: 10,000 at full length, each log around ten times.
#include <sim/logging/cut_image_test.hpp>
#include <sim/logging/recovery.hpp>
#include <sim/logging/software_recovery.hpp>
#include <sim/machine/crash_judge_test.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace holdfast::sim {
namespace {

using test::verdict;

/// What a crash may leave.
enum class promise : std::uint8_t {
    all,       ///< each transaction as a whole, and all that were acknowledged
    in_order,  ///< each transaction as a whole; the last ones may be missing
    own_lines, ///< the same as all where threads share no lines; where they do, wrong words must be found
    none,      ///< nothing, and something else must be found
    early,     ///< nothing; wrong words must be found, and lines that were early or records that were overwritten
    disorder,  ///< nothing, and one must be found that is missing though a later one is there
};

struct judged_design {
    const char* name;
    design what;
    promise promised;
    log_safety safety = log_safety::safe;
    log_commit commit = log_commit::durable;
    software_log_place place = software_log_place::thread;
    logged_values unsafe_values = logged_values::redo;
    sim::log_place log_place = sim::log_place::central;
    /// Settings refuse it, for what is found here.
    bool is_refused = false;
};
constexpr judged_design judged_designs[] = {
    {"redo_clwb", design::redo_clwb, promise::all},
    {"redo_clwb_central", design::redo_clwb, promise::all, {}, log_commit::durable, software_log_place::central},
    {"snf_sw", design::snf_sw, promise::all},
    {"snf_sw_central", design::snf_sw, promise::all, {}, log_commit::durable, software_log_place::central},
    {"hwl", design::hwl, promise::all},
    {"hwl_instant", design::hwl, promise::in_order, log_safety::safe, log_commit::instant},
    {"fwb", design::fwb, promise::all},
    {"fwb_instant", design::fwb, promise::in_order, log_safety::safe, log_commit::instant},
    {"hwl_logs_of_harts", design::hwl, promise::all, log_safety::safe, log_commit::durable, {}, {}, log_place::hart},
    {"fwb_logs_of_harts", design::fwb, promise::all, log_safety::safe, log_commit::durable, {}, {}, log_place::hart},
    {"fwb_logs_of_harts_instant", design::fwb, promise::disorder, log_safety::safe, log_commit::instant, {}, {},
     log_place::hart, true},
    {"fwb_faithful", design::fwb, promise::early, log_safety::faithful, log_commit::instant},
    {"hwl_faithful", design::hwl, promise::early, log_safety::faithful, log_commit::instant},
    {"unsafe_redo", design::unsafe_base, promise::none},
    {"unsafe_undo", design::unsafe_base, promise::none, {}, {}, {}, logged_values::undo},
    {"hw_rlog", design::hw_rlog, promise::none, log_safety::faithful, log_commit::instant},
    {"hw_ulog", design::hw_ulog, promise::none, log_safety::faithful, log_commit::instant},
    {"non_pers", design::non_pers, promise::none},
    {"undo_clwb", design::undo_clwb, promise::own_lines},
    {"undo_clwb_central", design::undo_clwb, promise::own_lines, {}, log_commit::durable, software_log_place::central},
};
/// A thread that writes a line back takes along what another one has just stored to it, whose old value is on its way
/// to the log. So it keeps its promise with one thread, or where no line is shared.
constexpr judged_design undo_clwb_alone{"undo_clwb", design::undo_clwb, promise::all};
constexpr judged_design undo_clwb_central_of_own_lines{"undo_clwb_central_own_lines", design::undo_clwb,
                                                       promise::all, {}, log_commit::durable,
                                                       software_log_place::central};
constexpr judged_design undo_clwb_of_shared_lines{"undo_clwb", design::undo_clwb, promise::none};

/// So small that lines leave all the time.
constexpr const char* small_l2 = "64KiB";
/// Lines leave it only when they are written back, and misses take longest.
constexpr const char* usual_l2 = "8MiB";

struct crashed_run {
    const char* workload;
    const char* element;
    judged_design of;
    std::uint32_t threads = 8;
    const char* l2_size = small_l2;
    std::uint64_t operations = 2000;
    std::uint64_t crashes = 300;
    const char* program = nullptr;  ///< another one than the workload's
    bool cuts_recovery = false;
    const char* log_bytes = nullptr;  ///< of the logs, if not the usual few
};

machine_config machine_of(const crashed_run& run) {
    machine_config config = test::small_machine();
    EXPECT_FALSE(set(config, "cache.l2.size", run.l2_size));
    // All logs wrap.
    const bool is_cut_often = run.cuts_recovery && run.of.log_place == log_place::central;
    const auto bytes_or = [&](const char* few) { return run.log_bytes != nullptr ? run.log_bytes : few; };
    EXPECT_FALSE(set(config, "log.bytes", bytes_or(is_cut_often ? "16KiB" : "64KiB")));
    // Far too long for such a log: scans are hurried, and a faithful log overwrites what recovery needs.
    config.log.scan_period = log_config::paper_period;
    EXPECT_FALSE(set(config, "software_log.bytes", bytes_or(run.cuts_recovery ? "16KiB" : "32KiB")));
    config.log.safety = run.of.safety;
    config.log.commit = run.of.commit;
    config.log.place = run.of.log_place;
    config.software_log.place = run.of.place;
    EXPECT_EQ(check(config).has_value(), run.of.is_refused);
    return config;
}
simulation_options options_of(const crashed_run& run) {
    simulation_options options = test::small_run(run.program ? run.program : run.workload, run.threads);
    options.operations = run.operations;
    options.element = run.element;
    options.design = run.of.what;
    options.unsafe_values = run.of.unsafe_values;
    return options;
}

/// Recovery of one design, from the image alone.
class recovery_of {
public:
    recovery_of(const crashed_run& run, const machine_config& config)
        : run_(run), config_(config),
          layout_(layout_of(config.software_log.place, config.software_log.bytes, run.threads)) {}

    void find_log(const simulated_machine& built) {
        if (!built.registers.log_regions.empty()) region_ = built.registers.log_regions.front();
    }
    template <class Image>
    std::uint64_t operator()(Image& image) {
        if (run_.of.what == design::non_pers) return 0;
        if (has_logging_hardware(run_.of.what)) {
            log_config log = config_.log;
            if (run_.of.what == design::hw_rlog) log.values = logged_values::redo;
            if (run_.of.what == design::hw_ulog) log.values = logged_values::undo;
            const recovery_report report = recover(image, region_, log);
            laps = report.laps;
            return report.undone + report.redone;
        }
        const software_recovery_report report = recover_software_logs(image, layout_, how());
        laps = report.laps;
        return report.undone + report.redone;
    }
    std::uint64_t laps = 0;

private:
    software_logging how() const {
        if (run_.of.what == design::snf_sw) return software_logging::steal_no_force;
        const bool undoes = run_.of.what == design::undo_clwb ||
                            (run_.of.what == design::unsafe_base && run_.of.unsafe_values == logged_values::undo);
        return undoes ? software_logging::undo : software_logging::redo;
    }

    const crashed_run& run_;
    const machine_config& config_;
    software_log_layout layout_;
    port::log_region region_{};
};

/// Recovery that is cut at each of its writes, and begins again: the same words each time.
class cut_recovery {
public:
    explicit cut_recovery(recovery_of& whole) : whole_(whole) {}

    std::uint64_t operator()(test::recovered_image& image) {
        const std::uint64_t writes = whole_(image);
        const auto recovered = words_in(image);
        for (std::uint64_t done = 0; done < writes; ++done, ++cuts) {
            image.take_back();
            test::cut_image<test::recovered_image> cut{image, done};
            EXPECT_THROW(whole_(cut), test::image_was_cut);
            whole_(image);
            EXPECT_EQ(words_in(image), recovered) << "cut after " << done << " of " << writes << " writes";
        }
        return writes;
    }
    std::uint64_t cuts = 0;

private:
    static std::map<std::uint64_t, std::uint64_t> words_in(const test::recovered_image& image) {
        std::map<std::uint64_t, std::uint64_t> words;
        image.for_each_changed_word([&](std::uint64_t word) {
            image.read_bytes({word}, std::as_writable_bytes(std::span(&words[word], 1)));
        });
        return words;
    }
    recovery_of& whole_;
};

struct crashed {
    verdict found{};
    std::uint64_t laps = 0;
    double lines_early = 0, records_lost = 0;
    std::uint64_t cuts = 0;
};
crashed crashes_of(const crashed_run& run) {
    const machine_config config = machine_of(run);
    simulation_options options = options_of(run);
    test::crash_witness seen;
    recovery_of recovery(run, config);
    options.attach = [&](simulated_machine& built) {
        seen.attach(built);
        recovery.find_log(built);
    };
    options.measured = [&](simulated_machine& built, time end) {
        built.memory.settle(end);  // what became durable until then is told
        seen.stop();
    };
    const auto result = simulate(config, options, test::nobody_looks);
    EXPECT_TRUE(result) << result.problem().text();
    if (!result) return {};
    EXPECT_TRUE(result->verified);
    cut_recovery cut(recovery);
    test::crash_judge judge(seen);
    crashed made{run.cuts_recovery ? judge.crash(run.crashes, options.seed, cut)
                                   : judge.crash(run.crashes, options.seed, recovery)};
    made.cuts = cut.cuts;
    made.laps = recovery.laps;
    made.lines_early = result->number("log_lines_early");
    made.records_lost = result->number("log_records_lost");
    return made;
}

std::string name_of_run(const crashed_run& run) {
    return test::name_without_dashes(std::string(run.workload) + "_" + run.element + "_" + run.of.name + "_" +
                                     std::to_string(run.threads) + (run.l2_size == small_l2 ? "" : "_usual_l2"));
}

/// Of a design that keeps its promise only where threads have lines of their own.
promise promised_in(const crashed_run& run) {
    if (run.of.promised != promise::own_lines) return run.of.promised;
    const std::string_view workload = run.workload;
    if (workload == "ssca2") return promise::none;
    // Threads hardly ever meet in a line: one crash in thousands shows it.
    return workload == "rbtree" ? promise::own_lines : promise::all;
}

class Crash : public testing::TestWithParam<crashed_run> {};

TEST_P(Crash, LeavesWhatTheDesignPromises) {
    const crashed all = crashes_of(GetParam());
    const verdict& found = all.found;
    std::printf("%s: %llu crashes, %llu wrong, %llu lost up to %llu; log around %llu times; lines early %.0f, "
                "records lost %.0f\n",
                name_of_run(GetParam()).c_str(), static_cast<unsigned long long>(found.crashes),
                static_cast<unsigned long long>(found.wrong), static_cast<unsigned long long>(found.lost),
                static_cast<unsigned long long>(found.lost_most), static_cast<unsigned long long>(all.laps),
                all.lines_early, all.records_lost);
    EXPECT_EQ(found.crashes, GetParam().crashes);
    const promise promised = promised_in(GetParam());
    if (promised == promise::none) {
        EXPECT_GT(found.wrong + found.lost, 0u);
        return;
    }
    if (promised == promise::own_lines) {
        EXPECT_LT(found.wrong, found.crashes / 100);
        EXPECT_EQ(found.lost, 0u);
        return;
    }
    if (promised == promise::disorder || promised == promise::early) {
        EXPECT_GT(found.wrong, 0u);
        EXPECT_EQ(all.lines_early + all.records_lost > 0, promised == promise::early);
        return;
    }
    EXPECT_EQ(found.wrong, 0u);
    EXPECT_GT(found.recovered, 0u);
    if (promised == promise::all) {
        EXPECT_EQ(found.lost, 0u);
    }
    if (test::at_full_length()) {
        EXPECT_GE(all.laps, 10u);
    }
}

const judged_design& named(std::string_view name) {
    return *std::find_if(std::begin(judged_designs), std::end(judged_designs),
                         [&](const judged_design& each) { return each.name == name; });
}

/// All designs with the five workloads, and those that promise something with their other forms and the kernels.
std::vector<crashed_run> campaign() {
    std::vector<crashed_run> made;
    for (const judged_design& each : judged_designs) {
        for (const char* const workload : {"hash", "rbtree", "btree", "sps", "ssca2"})
            made.push_back({workload, "int", each});
        for (const char* const workload : {"hash", "ssca2"}) made.push_back({workload, "string", each});
        if (each.promised != promise::all && each.promised != promise::in_order) continue;
        for (const char* const workload : {"rbtree", "btree", "sps"}) made.push_back({workload, "string", each});
        for (const char* const kernel : {"ctree", "hashmap", "ycsb", "tpcc", "echo", "vacation", "memcached"})
            made.push_back({kernel, "int", each});
    }
    for (crashed_run& each : made) {
        // Half of its transactions store nothing.
        each.operations = each.workload == std::string_view("ycsb") ? 16'000 : 8000;
        each.crashes = 10'000;
    }
    return made;
}
/// STAMP's programs. Some calculate far more than they store, and of some a transaction at the beginning is longer than
/// the small logs.
std::vector<crashed_run> stamp_runs() {
    std::vector<crashed_run> made{{"stamp-ssca2", "int", named("fwb"), 2}};
    if (test::at_full_length())
        for (const char* const program : {"stamp-bayes", "stamp-kmeans", "stamp-labyrinth"})
            made.push_back({program, "int", named("fwb")});
    const auto add_long = [&](const char* program, const char* logging) {
        made.push_back({program, "int", named(logging), 2});
        made.back().log_bytes = "256KiB";
    };
    for (const char* const program : {"stamp-intruder", "stamp-vacation", "stamp-yada"}) add_long(program, "fwb");
    for (const char* const logging : {"redo_clwb", "snf_sw"}) add_long("stamp-vacation", logging);
    for (crashed_run& each : made) each.operations = test::at_full_length() ? 8000 : 1000;
    return made;
}
std::vector<crashed_run> crashed_runs() {
    std::vector<crashed_run> made;
    if (test::at_full_length()) {
        made = campaign();
    } else {
        for (const judged_design& each : judged_designs) made.push_back({"hash", "int", each});
        made.push_back({"rbtree", "int", named("snf_sw")});
        made.push_back({"sps", "string", named("fwb")});
        made.push_back({"tpcc", "int", named("fwb")});
    }
    made.push_back({"hash", "int", named("snf_sw"), 1});
    made.push_back({"btree", "int", undo_clwb_alone, 1});
    made.push_back({"hash", "int", undo_clwb_central_of_own_lines});
    made.push_back({"btree", "int", undo_clwb_central_of_own_lines, 8, small_l2, 2000, 1000});
    made.push_back({"ssca2", "string", undo_clwb_of_shared_lines, 8, usual_l2, 4000});
    // Its stores miss while others write the same lines back.
    made.push_back({"ssca2", "string", named("redo_clwb"), 8, usual_l2, 1000});
    made.push_back({"ssca2", "string", named("redo_clwb_central"), 8, usual_l2, 1000});
    made.push_back({"ssca2", "string", named("snf_sw"), 8, usual_l2, 1000});
    for (const crashed_run& each : stamp_runs()) made.push_back(each);
    return made;
}

class CutRecovery : public testing::TestWithParam<judged_design> {};

TEST_P(CutRecovery, LeavesTheSameWhenItBeginsAgain) {
    // Transactions of many records, of which crashes leave some open.
    crashed_run run{"btree", "int", GetParam()};
    run.crashes = 12;
    run.operations = 1000;
    run.cuts_recovery = true;
    const crashed all = crashes_of(run);
    EXPECT_EQ(all.found.wrong, 0u);
    EXPECT_GT(all.cuts, 20u);
}

INSTANTIATE_TEST_SUITE_P(All, CutRecovery,
                         testing::Values(named("redo_clwb"), named("redo_clwb_central"), named("undo_clwb"),
                                         named("undo_clwb_central"), named("snf_sw"), named("snf_sw_central"),
                                         named("fwb"), named("fwb_logs_of_harts")),
                         [](const auto& of) { return std::string(of.param.name); });

struct fault_run {
    const char* fault;
    const char* element = "int";
};
class PlantedFault : public testing::TestWithParam<fault_run> {};

TEST_P(PlantedFault, OfStealNoForceIsFound) {
    const std::string program = "ssca2." + std::string(GetParam().fault);
    crashed_run run{"ssca2", GetParam().element, named("snf_sw")};
    run.crashes = 100;
    run.program = program.c_str();
    const crashed all = crashes_of(run);
    std::printf("%s: %llu of %llu crashes wrong, %llu lost\n", program.c_str(),
                static_cast<unsigned long long>(all.found.wrong), static_cast<unsigned long long>(all.found.crashes),
                static_cast<unsigned long long>(all.found.lost));
    EXPECT_GT(all.found.wrong + all.found.lost, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault,
                         testing::Values(fault_run{"no_fence"}, fault_run{"stores_at_once", "string"},
                                         fault_run{"numbers_of_threads"}, fault_run{"no_head"},
                                         fault_run{"no_write_back"}, fault_run{"head_of_one_thread"}),
                         [](const auto& of) { return std::string(of.param.fault); });

INSTANTIATE_TEST_SUITE_P(All, Crash, testing::ValuesIn(crashed_runs()),
                         [](const auto& of) { return name_of_run(of.param); });

TEST(StealNoForce, FencesOnceATransactionAndWritesNothingBackWhileTheLogIsNotHalfFull) {
    simulation_options options = test::small_run("hash", 1);
    options.design = design::snf_sw;
    const auto result = simulate(test::small_machine(), options, test::nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_NEAR(result->number("persist_fences"), result->number("transactions"), 1);
    EXPECT_EQ(result->number("line_write_backs"), 0);
    EXPECT_GT(result->number("transactions"), 0);
}

/// Counts what goes through the caches of the region that is only streamed to.
class log_watch final : public port::store_commit {
public:
    time commit(const port::store_event& event) override {
        in_caches += event.where >= software_log_layout::begin ? 1u : 0u;
        return event.at;
    }
    std::uint64_t in_caches = 0;
};

TEST(SoftwareLog, GoesPastTheCachesAlsoWhileTheyAreWarmedUpAndBehindAChangeOfPhase) {
    for (const software_log_place place : {software_log_place::thread, software_log_place::central})
        for (const design what : {design::redo_clwb, design::undo_clwb, design::snf_sw}) {
            log_watch seen;
            simulation_options options = test::small_run("ssca2", 8);
            options.design = what;
            options.attach = [&](simulated_machine& built) { built.ports.on_store = &seen; };
            machine_config config = test::small_machine();
            config.software_log.place = place;
            ASSERT_TRUE(simulate(config, options, test::nobody_looks));
            EXPECT_EQ(seen.in_caches, 0u) << name_of(what) << ", " << name_of(place);
        }
}

}  // namespace
}  // namespace holdfast::sim
