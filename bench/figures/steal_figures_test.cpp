// What the figures on steal but no force say of runs whose numbers are known.
#include <bench/figures/steal_runs.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

namespace holdfast::bench::steal {
namespace {

void add_run(std::vector<record>& to, const simulated_run& one, double tx_per_s) {
    parameters params{{"level", std::string("power")}, {"element", one.element}, {"keys", std::string("uniform")},
                      {"core", std::string("2012")}};
    for (const auto& [key, value] : one.settings) params.emplace_back(key, value);
    const auto add = [&](const std::string& metric, double value) {
        to.push_back({"sim", one.workload, one.design, one.threads, params, metric, "1", value, value, value, 1});
    };
    add("tx_per_s", tx_per_s);
    add("transactions", 1000);
    add("instructions", 100'000);
    add("instructions_per_cycle", 0.5);
    add("nvram_energy_pj", 20'000'000);
    add("energy_pj", 200'000'000);
    add("nvram_writes", 4000);
    add("log_bytes", 320'000);
    add("log_scans", 12);
    add("log_scanning_ps", 12 * 400e6);
    add("log_scans_hurried", 1);
    add("log_buffer_wait_ps", 50e6);
    add("log_lines_early", 8);
    add("controller_writes", 4000);
    add("scan_periods", one.threads == 8 ? 4 : 20);
}

std::vector<record> comparison_of_hash() {
    std::vector<record> all;
    const auto add = [&](std::string_view design, const machine_settings* machine, double tx_per_s) {
        add_run(all, run_of("hash", design, 1, "int", machine), tx_per_s);
    };
    add(ideal_design, nullptr, 4e6);
    add(base_design, nullptr, 2e6);
    add(fencing_designs[0], nullptr, 0.5e6);
    add(fencing_designs[1], nullptr, 1e6);
    add(forced_design, &paper_machine(), 1.86e6);
    add(forced_design, &safe_machine(), 1.2e6);
    return all;
}

TEST(StealFigures, ComparesFwbOnBothMachinesWithTheBetterOfTheTwoThatFence) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const paper_section made = draw_steal_but_no_force(comparison_of_hash(), here.path());
    ASSERT_EQ(made.figures.size(), 5u) << "6, 7 in two, 8 and 9";
    for (const auto& one : made.figures) EXPECT_TRUE(std::filesystem::exists(here.path() + "/" + one.file)) << one.file;
    const std::string& table = made.figures.front().table;
    EXPECT_NE(table.find("<td>1.86</td><td>1.86</td><td>1.20</td><td>Faithful: as in the paper. Safe: 35 % below the "
                         "paper's."),
              std::string::npos)
        << table;
    EXPECT_NE(made.table.find("<td>fwb bits</td><td>768</td><td>16640</td>"), std::string::npos) << made.table;
}

TEST(StealFigures, SaysUnderWhichSettingsAConclusionHolds) {
    std::vector<record> all = comparison_of_hash();
    const variation& packed = variations()[1];
    const machine_settings with_packed = both(safe_machine(), packed.settings);
    add_run(all, run_of("hash", forced_design, 1, "int", &with_packed), 0.9e6);
    const auto made = draw_conclusions(simulated_runs(all));
    ASSERT_TRUE(made);
    EXPECT_NE(made->table.find(std::string("throughout in 1 of 2 settings. Not with: ") + packed.title + " (0.90)."),
              std::string::npos)
        << made->table;
}

TEST(StealFigures, ListsThePlacesWhereAConclusionHoldsAndWhoIsFasterAtEqualBandwidth) {
    std::vector<record> all = comparison_of_hash();
    add_run(all, run_of("hash", stealing_design, 1, "int", nullptr), 1.5e6);
    const variation& packed = variations()[1];
    const machine_settings with_packed = both(safe_machine(), packed.settings);
    add_run(all, run_of("hash", forced_design, 1, "int", &with_packed), 0.9e6);
    add_run(all, run_of("sps", fencing_designs[0], 8, "int", nullptr), 1e6);
    add_run(all, run_of("sps", forced_design, 8, "int", &with_packed), 2e6);
    add_run(all, run_of("sps", stealing_design, 8, "int", nullptr), 1.9e6);
    const auto made = draw_conclusions(simulated_runs(all));
    ASSERT_TRUE(made);
    EXPECT_NE(made->table.find("0.90 to 2.00; but for sps with 8 threads: 2.00)"), std::string::npos) << made->table;
    EXPECT_NE(made->table.find("is confirmed in part: it is the faster one in 2 of 3 cases"), std::string::npos)
        << made->table;
    EXPECT_NE(made->table.find("hash with 1 thread, 64 bytes: 1.50 against 1.20"), std::string::npos) << made->table;
}

/// The figure of that title, drawn from runs.
figure drawn(const std::vector<record>& all, std::string_view title) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const paper_section made = draw_steal_but_no_force(all, here.path());
    for (const figure& one : made.figures) {
        if (!one.title.starts_with(title)) continue;
        EXPECT_TRUE(std::filesystem::exists(here.path() + "/" + one.file)) << one.file;
        return one;
    }
    ADD_FAILURE() << "no " << title;
    return {};
}

TEST(StealFigures, QuoteTheWaitsOfTheRunThatHasTheLeastAndNameShortRuns) {
    std::vector<record> all;
    for (const auto& [workload, threads, rate] : {std::tuple{"ycsb", 1u, 3e6}, {"tpcc", 8u, 1e6}}) {
        add_run(all, run_of(workload, ideal_design, threads, "int", nullptr), 4e6);
        add_run(all, run_of(workload, base_design, threads, "int", nullptr), 2e6);
        add_run(all, run_of(workload, fencing_designs[0], threads, "int", nullptr), 1e6);
        add_run(all, run_of(workload, forced_design, threads, "int", &paper_machine()), rate);
    }
    const std::string table = drawn(all, "Figure 10").table;
    // 1000 transactions took a millisecond of 8 harts; scans took 4.8, and places in the buffer 50 microseconds.
    EXPECT_NE(table.find("<td>0.25</td><td>-</td><td>Faithful: 66 % below the paper's. Faithful, least is tpcc, int, "
                         "with 8 threads: scans are under way 480 % of the time; of a hart's time 1 % goes to places"),
              std::string::npos)
        << table;
    EXPECT_NE(table.find("shorter than 10 periods of scans, or began to be measured before their scans had "
                         "settled, so they say little of scans: tpcc, int, faithful with 8 threads: 4.0."),
              std::string::npos)
        << table;
}

TEST(StealFigures, SaysWhatALogBufferGains) {
    std::vector<record> all = comparison_of_hash();
    for (const auto& [entries, rate] : {std::pair{"0", 1e6}, {"8", 1.05e6}, {"15", 1.2e6}}) {
        const machine_settings machine = both(paper_machine(), {{"log.buffer_entries", entries}});
        add_run(all, run_of("hash", forced_design, 8, "int", &machine), rate);
    }
    const std::string table = drawn(all, "Figure 11(a)").table;
    EXPECT_NE(table.find("<tr><td>8</td><td>15</td><td>1.18</td><td>1.20</td><td>-</td><td>-</td><td>8</td><td>2.00"),
              std::string::npos)
        << table;
}

TEST(StealFigures, SaysWhatPeriodALogNeedsAndWhatScansCost) {
    std::vector<record> all = comparison_of_hash();
    const machine_settings of_4_mib = with_log_of(4);
    add_run(all, run_of("hash", forced_design, 8, "int", &of_4_mib), 1e6);
    for (const auto& [how, rate] :
         {std::pair{scanning::full, 0.9e6}, {scanning::tags, 0.97e6}, {scanning::none, 1e6}}) {
        const machine_settings machine = with_scans(how);
        add_run(all, run_of("hash", forced_design, 8, "int", &machine), rate);
    }
    const std::string table = drawn(all, "Figure 11(b)").table;
    // 5 lines a transaction and a million of these a second: one every 200 ns, 13.1 ms a lap of 65,536 lines, without
    // a scan of 0.4 ms and halved 15.9 million cycles of 0.4 ns.
    EXPECT_NE(table.find("<td>4</td><td>1.00</td><td>200.0</td><td>3000</td><td>15884</td><td>11788</td><td>1000</td>"
                         "<td>12</td><td>1</td>"),
              std::string::npos)
        << table;
    EXPECT_NE(table.find("cost 10.0 % of throughput, threads: 8. Looking at the tags alone, without write-backs, costs "
                         "3.0 %. The paper says 3.6 %."),
              std::string::npos)
        << table;
}

TEST(StealFigures, AreNotDrawnFromRecordsOfTwoSweepsOrOfNone) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    std::vector<record> all = comparison_of_hash();
    EXPECT_THROW(draw_steal_but_no_force({}, here.path()), failure);
    all.push_back(all.front());
    EXPECT_NO_THROW(simulated_runs{all});
    all.back().value += 1;
    EXPECT_THROW(simulated_runs{all}, failure);
}

TEST(StealFigures, AskForEachSweepOnce) {
    for (const bool quick : {true, false}) {
        std::set<std::string> names, lines;
        for (const simulated_campaign& each : campaigns(quick)) {
            EXPECT_TRUE(names.insert(each.name).second) << each.name;
            EXPECT_TRUE(lines.insert(each.command_line()).second) << each.command_line();
        }
        EXPECT_GT(names.size(), 15u);
    }
}

}  // namespace
}  // namespace holdfast::bench::steal
