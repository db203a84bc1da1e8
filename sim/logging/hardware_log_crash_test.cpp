// What a crash at any moment leaves of random transactions on the logging hardware.
#include <sim/logging/logged_machine_test.hpp>

namespace holdfast::sim::test {
namespace {

class SafeLog : public testing::TestWithParam<std::tuple<design, record_format, log_commit>> {};

TEST_P(SafeLog, LosesNothingThatWasAcknowledgedDurablyAndIsNeverWrong) {
    log_config log = small_log();
    design what{};
    std::tie(what, log.record, log.commit) = GetParam();
    cut_run::outcome all;
    std::uint64_t held = 0, records_lost = 0, early = 0;
    for (std::uint64_t seed = 0; seed < 2 * memories; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        log.buffer_entries = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : 15);
        cut_run run(what, log, memory_for(seed), seed);
        // Each memory with lines of one core and with lines that cores share.
        if (seed >= memories) run.share_lines();
        const cut_run::outcome one = run.run(1 + seed * 53 % 6000);
        all.wrong += one.wrong;
        all.lost += one.lost;
        all.laps = std::max(all.laps, one.laps);
        held += run.counters.lines_held;
        records_lost += run.counters.records_lost;
        early += run.counters.lines_early;
        ASSERT_EQ(one.wrong, 0u);
        ASSERT_TRUE(log.commit == log_commit::instant || one.lost == 0);
    }
    EXPECT_GE(all.laps, 10u);
    EXPECT_GT(held, 0u);
    EXPECT_EQ(records_lost, 0u);
    EXPECT_EQ(early, 0u);
    EXPECT_TRUE(log.commit == log_commit::durable || all.lost > 0) << "an instant commit may lose the last ones";
}

INSTANTIATE_TEST_SUITE_P(All, SafeLog,
                         testing::Combine(testing::Values(design::fwb, design::hwl),
                                          testing::Values(record_format::packed, record_format::line,
                                                          record_format::merged),
                                          testing::Values(log_commit::instant, log_commit::durable)),
                         [](const auto& of) {
                             const auto record = static_cast<std::size_t>(std::get<1>(of.param));
                             const auto commit = static_cast<std::size_t>(std::get<2>(of.param));
                             return std::string(name_of(std::get<0>(of.param))) + "_" +
                                    std::string(record_format_names[record]) + "_" +
                                    std::string(log_commit_names[commit]);
                         });

/// Crashes of a run whose parts of words go from core to core, each memory with lines of one part and with shared ones.
cut_run::outcome crashes_of_parts_passed_on(design what, log_config log, std::uint64_t crashes = 2 * memories) {
    cut_run::outcome all;
    for (std::uint64_t seed = 0; seed < crashes; ++seed) {
        log.buffer_entries = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : 15);
        cut_run run(what, log, memory_for(seed), seed);
        run.pass_parts_on();
        if (seed >= memories) run.share_lines();
        const cut_run::outcome one = run.run(1 + seed * 53 % 6000);
        all.wrong += one.wrong;
        all.lost += one.lost;
        all.laps = std::max(all.laps, one.laps);
    }
    return all;
}

class SafeLogsOfHarts : public testing::TestWithParam<std::tuple<design, record_format>> {};

TEST_P(SafeLogsOfHarts, LoseNothingAndAreNeverWrongWithDurableCommits) {
    log_config log = small_logs_of_harts();
    design what{};
    std::tie(what, log.record) = GetParam();
    const cut_run::outcome all = crashes_of_parts_passed_on(what, log);
    EXPECT_EQ(all.wrong, 0u);
    EXPECT_EQ(all.lost, 0u);
    EXPECT_GE(all.laps, 10u);
}

INSTANTIATE_TEST_SUITE_P(All, SafeLogsOfHarts,
                         testing::Combine(testing::Values(design::fwb, design::hwl),
                                          testing::Values(record_format::packed, record_format::line,
                                                          record_format::merged)),
                         [](const auto& of) {
                             const auto record = static_cast<std::size_t>(std::get<1>(of.param));
                             return std::string(name_of(std::get<0>(of.param))) + "_" +
                                    std::string(record_format_names[record]);
                         });

// Settings refuse this (check_order in log_config.hpp); here is why.
TEST(LogsOfHarts, WithInstantCommitsBreakTheOrderBetweenTransactionsWhichOneLogKeeps) {
    for (const design what : {design::fwb, design::hwl})
        for (const log_place place : {log_place::central, log_place::hart}) {
            log_config log = small_logs_of_harts();
            log.place = place;
            log.commit = log_commit::instant;
            // Scans leave few records that a crash needs.
            const std::uint64_t crashes = (what == design::fwb && place == log_place::hart ? 10 : 2) * memories;
            const cut_run::outcome all = crashes_of_parts_passed_on(what, log, crashes);
            EXPECT_EQ(all.wrong != 0, place == log_place::hart) << all.wrong << " of " << name_of(what);
            EXPECT_GT(all.lost, 0u);
        }
}

TEST(GrownLog, IsRightWhateverItHadAndWhereverItsTailWas) {
    std::uint64_t laps = 0;
    for (const design what : {design::fwb, design::hwl})
        for (std::uint64_t seed = 0; seed < 120; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            log_config log = small_log();
            log.record = static_cast<record_format>(seed % 3);
            log.bytes = (log.record == record_format::packed ? 4096 : 8192) + seed % 5 * 64;
            // Of the last ones each hart has a log.
            if (seed >= 90) log.place = log_place::hart;
            if (seed >= 90) log.bytes *= logged_machine::harts;
            cut_run run(what, log, memory_for(seed), seed);
            if (seed % 2 == 0) run.share_lines();
            if (seed >= 90) run.pass_parts_on();
            const std::uint64_t first = 1 + seed * 37 % 1000;
            run.grow_at({first, first + 1 + seed * 29 % 500, first + 700});
            // Some are cut soon behind a growth.
            const cut_run::outcome one = run.run(first + (seed % 4 == 0 ? 10 : seed * 53 % 4000));
            laps = std::max(laps, one.laps);
            ASSERT_EQ(one.wrong, 0u);
            ASSERT_EQ(one.lost, 0u);
        }
    EXPECT_GE(laps, 10u);
}

/// What becomes durable, in the order of time: whether a record goes under that recovery may still need.
class overwritten_records final : public port::persisted {
public:
    explicit overwritten_records(logged_machine& watched)
        : behind_(watched.attached.on_persist), ring_(watched.hardware.region()), laps_(ring_.units()) {
        watched.attached.on_persist = this;
    }
    void became_durable(const port::persist_event& event) override {
        behind_->became_durable(event);
        if (event.from == port::source::log && ring_.has(event.what.line)) look_at(event.what);
        durable_.write(event.what);
    }

    std::uint64_t overwritten = 0;
    std::uint64_t needed = 0;  ///< of them: the head had not passed them, or their line was older than they are

private:
    void look_at(const line_write& what) {
        for (std::uint64_t half = 0; half < line_bytes; half += log_record::unit_bytes) {
            if ((what.mask.bits >> half & 1) == 0) continue;
            const std::uint64_t slot = ring_.slot_at(what.line + half);
            const std::uint64_t lap = laps_[slot]++;
            if (lap != 0) judge(what.line + half, (lap - 1) * ring_.units() + slot);
        }
    }
    void judge(address place, log_ring::position at) {
        record_bytes bytes{};
        durable_.read_bytes(place, std::span(bytes).first(log_record::unit_bytes));
        const log_record old = decoded(std::span<const std::byte>(bytes).first(log_record::unit_bytes));
        // Values only grow, so a word that is older has a smaller one.
        const bool is_home = old.what != log_record::kind::store || word_in(durable_, old.where) >= old.words[0].redo;
        const bool is_passed = word_in(durable_, ring_.head_place()) > at;
        overwritten += 1;
        needed += is_home && is_passed ? 0u : 1u;
    }

    port::persisted* behind_;
    log_ring ring_;
    std::vector<std::uint64_t> laps_;
    memory_image durable_{};
};

TEST(Log, ThatIsSafeNeverOverwritesARecordWhoseLineIsNotHome) {
    for (const log_safety safety : {log_safety::safe, log_safety::faithful})
        for (const design what : {design::fwb, design::hwl}) {
            std::uint64_t overwritten = 0, needed = 0;
            for (std::uint64_t seed = 0; seed < 15; ++seed) {
                log_config log = small_log();
                log.safety = safety;
                log.bytes = 4096;
                memory_config behind = memory_for(seed);
                behind.controller.persist = persist_point::array;  // there events come in the order of time
                cut_run run(what, log, behind, seed);
                overwritten_records seen(run.machine());
                run.run(3000);
                overwritten += seen.overwritten;
                needed += seen.needed;
            }
            EXPECT_GT(overwritten, 10'000u);
            if (safety == log_safety::safe) {
                EXPECT_EQ(needed, 0u) << name_of(what);
            } else if (what == design::fwb) {
                EXPECT_GT(needed, 0u) << "scans alone are too slow";
            }
        }
}

TEST(FaithfulLog, CountsLinesThatWereTooEarlyAndIsWrongSometimes) {
    log_config log = small_log();
    log.safety = log_safety::faithful;
    log.commit = log_commit::instant;
    std::uint64_t wrong = 0, early = 0, records_lost = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        cut_run run(design::fwb, log, memory_for(seed), seed);
        wrong += run.run(1 + seed * 53 % 6000).wrong;
        early += run.counters.lines_early;
        records_lost += run.counters.records_lost;
    }
    EXPECT_GT(early, 0u);
    EXPECT_GT(records_lost, 0u);
    EXPECT_GT(wrong, 0u);
}

TEST(OneSidedLogs, AreWrongOnceTheyHaveWrapped) {
    for (const design what : {design::hw_rlog, design::hw_ulog}) {
        std::uint64_t wrong = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed)
            wrong += cut_run(what, small_log(), memory_for(seed), seed).run(1000 + seed).wrong;
        EXPECT_GT(wrong, 0u) << name_of(what);
    }
}

}  // namespace
}  // namespace holdfast::sim::test
