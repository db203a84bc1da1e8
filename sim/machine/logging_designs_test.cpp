// What the logging hardware and its programs do in whole runs.
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

/// Counts the lines that each transaction stores to, in front of the hardware that is attached already.
class line_counter final : public port::store_commit, public port::transactions, public port::time_passing {
public:
    void attach(simulated_machine& to) {
        behind_ = to.ports;
        to.ports.on_store = this;
        to.ports.on_transaction = this;
        to.ports.on_time = this;
    }
    time commit(const port::store_event& event) override {
        if (event.in_transaction && is_persistent(event.where)) lines_.insert(event.where.line().value);
        return behind_.on_store->commit(event);
    }
    time begin(hart_id hart, transaction_id id, time at) override {
        lines_.clear();
        return behind_.on_transaction->begin(hart, id, at);
    }
    time commit(hart_id hart, transaction_id id, time at) override {
        stored_to += lines_.size();
        return behind_.on_transaction->commit(hart, id, at);
    }
    void reached(time at) override { behind_.on_time->reached(at); }
    void measured_begin() override {
        behind_.on_time->measured_begin();
        stored_to = 0;
    }

    std::uint64_t stored_to = 0;

private:
    port::ports behind_{};
    std::set<std::uint64_t> lines_{};
};

TEST(Hwl, WritesEachLineOfATransactionBackOnceAndWaitsForNoFence) {
    machine_config config = test::small_machine();
    ASSERT_FALSE(set(config, "log.bytes", "16KiB"));
    simulation_options options = test::small_run("hash", 1);
    options.design = design::hwl;
    line_counter lines;
    options.attach = [&](simulated_machine& built) { lines.attach(built); };
    const auto result = simulate(config, options, test::nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified) << result->said;
    EXPECT_EQ(result->number("persist_fences"), 0);
    // The transaction that is open when measuring begins has stored to some of its lines before.
    EXPECT_NEAR(result->number("line_write_backs"), static_cast<double>(lines.stored_to), 10);
    EXPECT_GT(lines.stored_to, 2 * options.operations);
    EXPECT_GT(result->number("log_bytes"), 5 * 16384) << "the ring wraps";
    EXPECT_GT(result->number("log_heads"), 5);
    EXPECT_EQ(result->number("log_scans"), 0);
}

/// What the memory has written and how late it is, behind each commit of the phase that takes time.
class commit_notes final : public port::transactions, public port::time_passing {
public:
    void attach(simulated_machine& to) {
        machine_ = &to;
        behind_ = to.ports;
        to.ports.on_transaction = this;
        to.ports.on_time = this;
    }
    time begin(hart_id hart, transaction_id id, time at) override {
        return behind_.on_transaction->begin(hart, id, at);
    }
    time commit(hart_id hart, transaction_id id, time at) override {
        at = behind_.on_transaction->commit(hart, id, at);
        if (is_timed_) all_.push_back({at, machine_->memory.nvram().dimm().counters().writes});
        return at;
    }
    void reached(time at) override { behind_.on_time->reached(at); }
    void measured_begin() override {
        behind_.on_time->measured_begin();
        is_timed_ = true;
    }

    /// Writes and picoseconds from one commit to another one.
    struct part {
        double writes, took;
    };
    part between(std::size_t from, std::size_t to) const {
        return {static_cast<double>(all_[to].writes - all_[from].writes),
                static_cast<double>((all_[to].at - all_[from].at).picoseconds)};
    }
    std::size_t commits() const noexcept { return all_.size(); }

private:
    struct note {
        time at{};
        std::uint64_t writes = 0;
    };
    simulated_machine* machine_ = nullptr;
    port::ports behind_{};
    std::vector<note> all_{};
    bool is_timed_ = false;
};

class SteadyState : public testing::TestWithParam<design> {};

// More lines leave L2 than it has: were they clean at first, the first half would not write many of them.
TEST_P(SteadyState, IsReachedBeforeMeasuringBeginsSoBothHalvesOfARunWriteAndTakeTheSame) {
    machine_config config = test::small_machine();
    ASSERT_FALSE(set(config, "cache.l2.size", "256KiB"));
    ASSERT_FALSE(set(config, "log.bytes", "256KiB"));
    ASSERT_FALSE(set(config, "log.scan_period_ns", "150000"));
    simulation_options options = test::small_run("hash", 1);
    options.footprint_bytes = 2 << 20;
    options.operations = 12'000;
    options.design = GetParam();
    commit_notes notes;
    options.attach = [&](simulated_machine& built) { notes.attach(built); };
    const auto result = simulate(config, options, test::nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_EQ(result->number("settled"), 1);
    const auto settled = static_cast<std::size_t>(result->number("settling_transactions"));
    EXPECT_EQ(settled, GetParam() == design::fwb ? options.operations : 0);
    ASSERT_GE(notes.commits() + 10, settled + options.operations);
    const std::size_t end = notes.commits() - 1, middle = (settled + end) / 2;
    const commit_notes::part first = notes.between(settled, middle), second = notes.between(middle, end);
    EXPECT_NEAR(first.writes / second.writes, 1, 0.04);
    EXPECT_NEAR(first.took / second.took, 1, 0.04);
}

INSTANTIATE_TEST_SUITE_P(OfLoggingHardware, SteadyState,
                         testing::Values(design::hw_rlog, design::hw_ulog, design::hwl, design::fwb),
                         [](const auto& of) {
                             std::string name(name_of(of.param));
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(LoggingHardware, WhoseScansOnlyLookAtTagsForcesNoLineAndCostsLess) {
    machine_config config = test::small_machine();
    ASSERT_FALSE(set(config, "log.bytes", "4MiB"));
    ASSERT_FALSE(set(config, "log.scan_period_ns", "50000"));
    simulation_options options = test::small_run("sps", 1);
    options.operations = 4000;
    options.design = design::fwb;
    const auto forcing = simulate(config, options, test::nobody_looks);
    ASSERT_FALSE(set(config, "log.scans_force", "false"));
    const auto looking = simulate(config, options, test::nobody_looks);
    ASSERT_TRUE(forcing && looking);
    EXPECT_GT(forcing->number("log_lines_forced"), 0);
    EXPECT_EQ(looking->number("log_lines_forced"), 0);
    EXPECT_GT(looking->number("log_scans"), 10);
    EXPECT_LT(looking->number("cycles"), forcing->number("cycles"));
}

/// Sets are walked one behind the other, also by scans that hurry.
class walk_watch final : public port::log_watch {
public:
    void happened(const port::log_event& event) override {
        if (event.what != port::log_event::kind::scanned) return;
        // Time begins anew with the measured phase.
        if (event.begin < last_end_ && event.begin != time{}) overlaps_ += 1;
        last_end_ = event.end;
    }
    std::uint64_t overlaps() const noexcept { return overlaps_; }

private:
    time last_end_{};
    std::uint64_t overlaps_ = 0;
};

TEST(LoggingHardware, HasOneWalkerWhoseScansFollowEachOtherHoweverShortTheLogRuns) {
    machine_config config = test::small_machine();
    ASSERT_FALSE(set(config, "log.bytes", "64KiB"));
    ASSERT_FALSE(set(config, "log.scan_period_ns", "1200000"));
    simulation_options options = test::small_run("hash", 8);
    options.operations = 8000;
    options.design = design::fwb;
    walk_watch walks;
    options.attach = [&](simulated_machine& built) { built.ports.on_logging = &walks; };
    const auto result = simulate(config, options, test::nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_EQ(walks.overlaps(), 0u);
    EXPECT_GT(result->number("log_scans_hurried"), 10);
    constexpr double ps_per_cycle = 400;
    EXPECT_LE(result->number("log_scanning_ps"), result->number("cycles") * ps_per_cycle);
    EXPECT_LT(result->number("log_scans"), 45) << "31, as room that a scan will free counts; 55 if it did not";
}

TEST(LoggingHardware, WhoseLogIsTooShortForWhatIsOpenWhenMeasuringBeginsIsAnErrorThatSaysSo) {
    for (const design what : {design::fwb, design::hwl}) {
        machine_config config = test::small_machine();
        ASSERT_FALSE(set(config, "log.bytes", "8192"));
        ASSERT_FALSE(set(config, "log.record", "line"));
        simulation_options options = test::small_run("sps", 8);
        options.element = "string";
        options.design = what;
        const auto result = simulate(config, options, test::nobody_looks);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.problem().what, "the log is too short to begin to measure");
        EXPECT_EQ(result.problem().where, "log.bytes");
        EXPECT_EQ(result.problem().found, "a ring of 8128 bytes");
    }
}

TEST(LoggingHardware, ThatRunsOutOfLogIsAnErrorThatNamesTheRing) {
    machine_config config = test::small_machine();
    ASSERT_FALSE(set(config, "log.bytes", "4096"));
    simulation_options options = test::small_run("sps", 8);
    options.element = "string";
    options.design = design::fwb;
    const auto result = simulate(config, options, test::nobody_looks);
    ASSERT_FALSE(result);
    EXPECT_NE(result.problem().text().find("ring of 4032 bytes"), std::string::npos) << result.problem().text();
}

}  // namespace
}  // namespace holdfast::sim
