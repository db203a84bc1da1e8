// Whole programs on the machine: the result is right whatever the timing, and the timing is the same in every run.
#include <sim/cache/tag_walker.hpp>
#include <sim/machine/common_findings.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <thread>

namespace holdfast::sim {
namespace {

using namespace test;

double number_of(const simulation_result& of, std::string_view name) {
    for (const statistic& each : of.statistics) {
        if (each.name == name) return each.value;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

std::string text_of(const simulation_result& of) {
    std::string text;
    for (const statistic& each : of.statistics) text += each.name + " " + std::to_string(each.value) + "\n";
    return text;
}

class Workloads : public testing::TestWithParam<std::tuple<const char*, std::uint32_t, const char*>> {};

TEST_P(Workloads, EndWithTheChecksumOfARunWithoutCachesAndTime) {
    const auto& [workload, threads, element] = GetParam();
    simulation_options options = small_run(workload, threads);
    options.element = element;
    const auto result = simulate(small_machine(), options, nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified) << result->said << "\n" << result->expected;
    EXPECT_EQ(number_of(*result, "transactions"), 1000);
    EXPECT_EQ(number_of(*result, "warm_up_complete"), 1);
    EXPECT_GT(number_of(*result, "l2_read_misses"), 0);
    EXPECT_GT(number_of(*result, "nvram_writes"), 0);
    EXPECT_GT(number_of(*result, "instructions_per_cycle"), 0);
    EXPECT_NEAR(number_of(*result, "filled_bytes"), 512 << 10, 512 << 8) << "of what was asked for";
    EXPECT_DOUBLE_EQ(number_of(*result, "energy_pj"),
                     number_of(*result, "core_energy_pj") + number_of(*result, "nvram_energy_pj") +
                         number_of(*result, "l1_energy_pj") + number_of(*result, "l2_energy_pj"));
    EXPECT_EQ(number_of(*result, "core_energy_pj"), 1350 * number_of(*result, "instructions"));
}

INSTANTIATE_TEST_SUITE_P(All, Workloads,
                         testing::Combine(testing::Values("hash", "rbtree", "btree", "sps", "ssca2"),
                                          testing::Values(1u, 2u, 4u, 8u), testing::Values("int", "string")),
                         [](const auto& of) {
                             return std::string(std::get<0>(of.param)) + "_" + std::to_string(std::get<1>(of.param)) +
                                    "_" + std::get<2>(of.param);
                         });

/// Several harts and both elements are enough: what else is different was tried above.
INSTANTIATE_TEST_SUITE_P(OfWhispersKind, Workloads,
                         testing::Combine(testing::Values("ctree", "hashmap", "ycsb", "tpcc", "echo", "vacation",
                                                          "memcached"),
                                          testing::Values(4u), testing::Values("int", "string")),
                         [](const auto& of) {
                             return std::string(std::get<0>(of.param)) + "_" + std::get<2>(of.param);
                         });

TEST(Simulation, EnergyOfTheLogBufferAndTheStateBitsIsPartOfTheSum) {
    simulation_options options = small_run("hash", 1);
    options.design = design::fwb;
    const auto result = simulate(small_machine(), options, nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    double sum = 0;
    for (const char* const each : {"core", "nvram", "l1", "l2", "log_buffer", "state_bits"}) {
        const double energy = number_of(*result, std::string(each) + "_energy_pj");
        EXPECT_GT(energy, 0) << each;
        sum += energy;
    }
    EXPECT_DOUBLE_EQ(number_of(*result, "energy_pj"), sum);
    EXPECT_DOUBLE_EQ(number_of(*result, "log_buffer_energy_pj"),
                     number_of(*result, "log_bytes") / 64 * (81.3 + 81.6) / 8);
    options.design = design::hw_ulog;
    const auto without_scans = simulate(small_machine(), options, nobody_looks);
    ASSERT_TRUE(without_scans) << without_scans.problem().text();
    EXPECT_EQ(number_of(*without_scans, "state_bits_energy_pj"), 0);
}

TEST(Simulation, SmallFootprintsFitIntoL2AndAreVerifiedToo) {
    const auto result = simulate(machine_config{}, small_run("hash", 2), nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified);
    EXPECT_EQ(number_of(*result, "l2_evictions"), 0);
}

TEST(Simulation, AnotherCoreTakesAnotherTimeForTheSameInstructions) {
    machine_config config = small_machine();
    const auto big = simulate(config, small_run("rbtree", 1), nobody_looks);
    ASSERT_FALSE(set(config, "core.name", "small"));
    const auto small = simulate(config, small_run("rbtree", 1), nobody_looks);
    ASSERT_TRUE(big && small);
    EXPECT_TRUE(small->verified);
    EXPECT_NE(number_of(*small, "cycles"), number_of(*big, "cycles"));
    EXPECT_EQ(number_of(*small, "instructions"), number_of(*big, "instructions"));
}

TEST(Simulation, WhatRunsHaveInCommonIsFoundOnceAndChangesNoNumber) {
    // Settings of another cache are not in common with these; those of a log are.
    machine_config small_log = small_machine();
    ASSERT_FALSE(set(small_log, "log.bytes", "1MiB"));
    common_findings common;
    for (const machine_config& config : {small_machine(), small_log, machine_config{}}) {
        for (const design each : {design::non_pers, design::redo_clwb, design::fwb, design::hwl}) {
            simulation_options options = small_run("hash", 2);
            options.design = each;
            const auto alone = simulate(config, options, nobody_looks);
            const auto shared = simulate(config, options, nobody_looks, common);
            ASSERT_TRUE(alone && shared);
            EXPECT_EQ(text_of(*shared), text_of(*alone));
            EXPECT_EQ(shared->expected, alone->expected);
            EXPECT_TRUE(shared->verified);
        }
    }
}

TEST(Simulation, WhatTwoThreadsAskForAtOnceIsFoundByOneOfThem) {
    common_findings common;
    const machine_config config = small_machine();
    const simulation_options options = small_run("hash", 1);
    std::atomic<std::uint64_t> found = 0;
    const auto ask = [&] {
        const auto answer = common.operations(config, options, [&]() -> result<std::uint64_t> { return ++found; });
        EXPECT_EQ(*answer, 1u);
    };
    std::thread other(ask);
    ask();
    other.join();
    simulation_options another_seed = options;
    another_seed.seed = 2;
    const auto refused = []() -> result<std::uint64_t> { return problem{"the program is not there", "hash", {}, {}}; };
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(common.operations(config, another_seed, refused));
}

TEST(Simulation, TwoRunsHaveTheSameStatisticsByteForByteAlsoSideBySide) {
    std::vector<std::string> texts(4);
    std::vector<std::thread> runs;
    for (std::string& text : texts) {
        runs.emplace_back([&text] {
            const auto result = simulate(small_machine(), small_run("hash", 8), nobody_looks);
            if (result) text = text_of(*result);
        });
    }
    for (std::thread& each : runs) each.join();
    EXPECT_FALSE(texts[0].empty());
    for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(Simulation, AMachineWithSlowerNvramTakesLonger) {
    machine_config config = small_machine();
    const auto fast = simulate(config, small_run("hash", 1), nobody_looks);
    ASSERT_FALSE(set(config, "nvram.read_conflict_ns", "400"));
    const auto slow = simulate(config, small_run("hash", 1), nobody_looks);
    ASSERT_TRUE(fast && slow);
    EXPECT_GT(number_of(*slow, "cycles"), 1.5 * number_of(*fast, "cycles"));
}

/// Hardware that looks on, and notes what it should not see.
class onlooker : public port::transactions, public port::store_commit, public port::time_passing {
public:
    void attach(simulated_machine& to) {
        to.ports.on_transaction = this;
        to.ports.on_store = this;
        to.ports.on_time = this;
    }

    time begin(hart_id hart, transaction_id, time at) override {
        if (open[hart.value]) ++wrong;
        open[hart.value] = true;
        return noted(at);
    }
    time commit(hart_id hart, transaction_id, time at) override {
        if (!open[hart.value]) ++wrong;
        open[hart.value] = false;
        ++commits;
        return noted(at);
    }
    time commit(const port::store_event& event) override {
        // The register is the store's own when it drains: begin and commit wait in the same queue.
        if (event.in_transaction != open[event.hart.value]) ++wrong;
        if (!event.in_transaction && event.where >= arena_begin) ++stores_outside;
        return noted(event.at);
    }
    void reached(time at) override {
        if (at < last_reached) ++wrong;
        last_reached = at;
        if (measured) ++moments;
    }
    void measured_begin() override {
        if (measured) ++wrong;
        measured = true;
    }

    std::map<std::uint32_t, bool> open;
    std::uint64_t commits = 0, stores_outside = 0, moments = 0;
    int wrong = 0;
    bool measured = false;
    time last_reached{};

private:
    /// Warming up takes no time.
    time noted(time at) {
        if (!measured && at != time{}) ++wrong;
        return at;
    }
};

class AttachedHardware : public testing::TestWithParam<const char*> {};

TEST_P(AttachedHardware, SeesEachTransactionBeginAndCommitAndAllStoresOfTheArenaInsideThem) {
    onlooker sees;
    simulation_options options = small_run(GetParam(), 8);
    options.attach = [&](simulated_machine& built) { sees.attach(built); };
    const auto result = simulate(small_machine(), options, nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified);
    EXPECT_EQ(sees.wrong, 0);
    EXPECT_TRUE(sees.measured);
    EXPECT_GT(sees.commits, 1000u);
    EXPECT_GT(sees.moments, 1000u);
    EXPECT_EQ(sees.stores_outside, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, AttachedHardware,
                         testing::Values("hash", "rbtree", "btree", "sps", "ssca2", "stamp-genome", "stamp-vacation",
                                         "stamp-yada"),
                         [](const auto& of) { return name_without_dashes(of.param); });

/// Hardware that forces every dirty line of L2 to memory, set by set as time passes.
class cleaner : public port::time_passing {
public:
    cleaner(simulated_machine& built, bool waits) : built_(built), waits_(waits) { built.ports.on_time = this; }
    void reached(time at) override {
        if (waits_) {
            walker_.walk_l2(next_++ % walker_.l2_sets(), at, [](walked_line& line) { return line.dirty; });
            return;
        }
        for (std::uint64_t line = 0; line < 1000 && at != time{}; ++line) {
            built_.memory.nvram().write({arena_begin + 64 * line, byte_mask{}, {}}, {}, at);
        }
    }
    void measured_begin() override {}

private:
    simulated_machine& built_;
    bool waits_;
    tag_walker walker_{built_.caches};
    std::uint64_t next_ = 0;
};

TEST(Simulation, CachesWhoseLinesAreCleanedByHardwareAreWarmInTheEndToo) {
    std::optional<cleaner> hardware;
    simulation_options options = small_run("sps", 2);
    options.attach = [&](simulated_machine& built) { hardware.emplace(built, true); };
    const auto result = simulate(small_machine(), options, nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified);
    EXPECT_EQ(number_of(*result, "warm_up_complete"), 1);
    EXPECT_GT(number_of(*result, "l2_lines_cleaned"), 0);
}

TEST(Simulation, CachesOfWhichAProgramNeverUsesSomeSetsAreWarmWhenTwiceTheirLinesHaveLeft) {
    machine_config config = small_machine();
    // The last lines of a B-tree's nodes are hardly ever used, and with one way they have sets to themselves.
    ASSERT_FALSE(set(config, "cache.l2.ways", "1"));
    ASSERT_FALSE(check(config));
    std::uint64_t full_sets = 0, sets = 0;
    simulation_options options = small_run("btree", 1);
    options.measured = [&](simulated_machine& built, time) {
        full_sets = built.caches.l2().full_sets();
        sets = built.caches.l2().sets();
    };
    const auto result = simulate(config, options, nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified);
    EXPECT_EQ(number_of(*result, "warm_up_complete"), 1);
    EXPECT_LT(full_sets, sets) << "else this says nothing";
}

TEST(Simulation, HardwareThatDoesNotWaitForItsWritesIsAnError) {
    std::optional<cleaner> hardware;
    simulation_options options = small_run("sps", 1);
    options.attach = [&](simulated_machine& built) { hardware.emplace(built, false); };
    const auto result = simulate(small_machine(), options, nobody_looks);
    ASSERT_FALSE(result);
    EXPECT_NE(result.problem().text().find("accepted"), std::string::npos) << result.problem().text();
}

TEST(Simulation, AnArenaOutsideTheNvramIsAnErrorThatNamesBoth) {
    for (const auto& [key, value] : {std::pair("memory.nvram_begin", "73014444032"),
                                     std::pair("memory.nvram_bytes", "65536")}) {
        machine_config config = small_machine();
        ASSERT_FALSE(set(config, key, value));
        ASSERT_FALSE(check(config));
        const auto result = simulate(config, small_run("hash", 1), nobody_looks);
        ASSERT_FALSE(result) << key;
        EXPECT_NE(result.problem().text().find("arena"), std::string::npos);
        EXPECT_NE(result.problem().text().find(key), std::string::npos) << result.problem().text();
    }
}

TEST(Simulation, AProgramThatIsNotThereIsAnError) {
    const auto result = simulate(machine_config{}, small_run("nothing_of_the_kind", 1), nobody_looks);
    ASSERT_FALSE(result);
    EXPECT_NE(result.problem().text().find("nothing_of_the_kind"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sim
