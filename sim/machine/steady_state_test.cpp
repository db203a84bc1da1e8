// That a run measures what lasts: its first half and its second one write and take the same.
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

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

}  // namespace
}  // namespace holdfast::sim
