// What the figures on steal but no force say of runs whose numbers are known.
#include <bench/figures/steal_runs.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

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
