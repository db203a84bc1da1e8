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
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        log.buffer_entries = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : 15);
        cut_run run(what, log, memory_for(seed), seed);
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

TEST(GrownLog, IsRightWhateverItHadAndWhereverItsTailWas) {
    std::uint64_t laps = 0;
    for (const design what : {design::fwb, design::hwl})
        for (std::uint64_t seed = 0; seed < 90; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            log_config log = small_log();
            log.bytes = 4096 + seed % 3 * 64;
            log.record = static_cast<record_format>(seed % 3);
            cut_run run(what, log, memory_for(seed), seed);
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
