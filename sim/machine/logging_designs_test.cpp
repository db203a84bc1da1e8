// What the logging hardware and its programs do in whole runs.
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

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
