// What the logging hardware and its programs do in whole runs.
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <set>

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
