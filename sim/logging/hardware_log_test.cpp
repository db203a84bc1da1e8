// The logging hardware on caches and memory: what each step does.
#include <sim/logging/logged_machine_test.hpp>

#include <memory>

namespace holdfast::sim::test {
namespace {

TEST(HardwareLog, AStoreWaitsForAPlaceInTheLogBuffer) {
    log_config log = plain_log();
    log.buffer_entries = 2;
    memory_config behind;
    behind.controller.log_entries = 1;
    behind.controller.log_order = log_order::kept;
    logged_machine machine(design::fwb, log, usual_caches(), behind);
    const hart_id hart{0};
    time now = machine.begin(hart, ns(1000));
    // Into the cache first, so that what follows are hits.
    now = machine.store(hart, 0, 1, now);
    now = machine.commit(hart, now + ns(1000));
    machine.settle(now);
    machine.begin(hart, now);
    const time begin = now;
    std::vector<time> took;
    for (std::uint64_t value = 0; value < 8; ++value) {
        const time asked = now;
        now = machine.store(hart, 0, value, now);
        took.push_back(now - asked);
    }
    // Two records are a line, and one line at a time is on its way: a row hit of 36 ns.
    EXPECT_EQ(took[0], took[1]);
    EXPECT_GT(machine.hardware.log().counters().buffer_wait, time{});
    EXPECT_GT(now - begin, ns(36));
    EXPECT_LT(now - begin, ns(4 * 36 + 20));
}

TEST(LogConfig, HasAPeriodOfScansThatGoesWithTheLogUnlessOneIsSet) {
    log_config log;
    EXPECT_EQ(log.period(), ns(1'200'000)) << "3 million cycles for 4 MiB";
    log.bytes = 1u << 20;
    EXPECT_EQ(log.period(), ns(300'000));
    log.scan_period = ns(1000);
    EXPECT_EQ(log.period(), ns(1000));
}

/// When each of twenty stores has taken effect that follow each other as fast as they may, after the first one. A
/// record is a line of the log, and the log source takes one at a time.
std::vector<time> burst_with(std::uint32_t buffer_entries) {
    log_config log = plain_log();
    log.record = record_format::line;
    log.buffer_entries = buffer_entries;
    memory_config behind;
    behind.controller.log_entries = 1;
    logged_machine machine(design::fwb, log, usual_caches(), behind);
    const hart_id hart{0};
    // The data line into its cache, and the log's row open.
    time now = machine.commit(hart, machine.store(hart, 0, 1, machine.begin(hart, ns(1000))) + ns(1000)) + ns(1000);
    machine.settle(now);
    machine.begin(hart, now);
    std::vector<time> done;
    for (std::uint64_t value = 0; value < 20; ++value) done.push_back(now = machine.store(hart, 0, value, now));
    const time first = done.front();
    for (time& each : done) each -= first;
    return done;
}

// By hand: a hit takes 1.6 ns. The log source takes the first record at once, and the others 36 ns apart, which is a
// row hit: record k at 36 k. Without a buffer a store waits until its own record is taken; with n entries until that is
// taken which was n before it, and until then it takes what a hit does.
TEST(HardwareLog, ABufferOfNEntriesDelaysAStoreByWhatTheLogSourceStillHasOfTheRecordsMoreThanNBefore) {
    for (const std::uint32_t entries : {0u, 1u, 15u}) {
        const std::vector<time> done = burst_with(entries);
        time now{};
        for (std::uint64_t k = 1; k < done.size(); ++k) {
            now += ps(1600);
            if (k >= entries) now = std::max(now, ns(36) * (k - entries));
            EXPECT_EQ(done[k], now) << "store " << k << ", " << entries << " entries";
        }
    }
}

TEST(HardwareLog, ACommitIsDoneAtOnceOrWhenItsRecordIsDurable) {
    for (const log_commit when : {log_commit::instant, log_commit::durable}) {
        log_config log = plain_log();
        log.commit = when;
        logged_machine machine(design::fwb, log, usual_caches());
        const hart_id hart{1};
        time now = machine.store(hart, 8, 3, machine.begin(hart, ns(100)));
        const time asked = now;
        now = machine.commit(hart, now);
        if (when == log_commit::instant) {
            EXPECT_EQ(now, asked);
        } else {
            EXPECT_GE(now, asked + ns(36));
        }
        memory_image survives = machine.memory.nvram().crash(now);
        recover(survives, machine.hardware.region(), log);
        EXPECT_EQ(word_in(survives, machine.word(8)), when == log_commit::durable ? 3u : 0u);
    }
}

TEST(HardwareLog, AHeldLineLeavesWhenItsRecordIsDurableAfterTheLimitAtTheLatest) {
    // Its record is the first half of a line of the log, or the second one of a line whose first half has gone.
    for (const std::uint64_t stores_before : {0u, 2u}) {
        log_config log = plain_log();
        logged_machine machine(design::fwb, log, usual_caches());
        const hart_id hart{0};
        time now = ns(100);
        if (stores_before != 0) {
            now = machine.begin(hart, now);
            for (std::uint64_t i = 1; i <= stores_before; ++i) now = machine.store(hart, 8 * i, 1, now);
            now = machine.commit(hart, now);
        }
        const time stored = machine.store(hart, 0, 5, machine.begin(hart, now));
        const time accepted = machine.caches.force_write_back(machine.word(0), stored);
        EXPECT_EQ(machine.hardware.log().counters().lines_held, 1u);
        machine.settle(accepted + ns(500));
        EXPECT_EQ(machine.memory.nvram().waiting(), 0u) << "a held one does not count";
        machine.settle(stored + log.partial_line_limit + ns(100));
        machine.settle(stored + log.partial_line_limit + ns(1000));
        EXPECT_EQ(machine.memory.nvram().waiting(), 1u) << stores_before;
        machine.memory.nvram().push_out(stored + log.partial_line_limit + ns(1000));
        machine.settle(stored + log.partial_line_limit + ns(3000));
        EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 5u);
        EXPECT_EQ(machine.hardware.log().counters().lines_early, 0u);
    }
}

// Such as one that the warm-up has left dirty.
TEST(HardwareLog, ALineIsHeldAlsoWhenAnOlderWriteOfItIsOnItsWayThatNoRecordWasAskedFor) {
    memory_config behind;
    behind.controller.drain = drain_policy::idle;
    logged_machine machine(design::fwb, plain_log(), usual_caches(), behind);
    const hart_id hart{0}, other{1};
    time now = machine.store(hart, 0, 1, ns(100));
    now = machine.caches.force_write_back(machine.word(0), now);
    // A full line of the log, which becomes durable behind that write, and a half one, which waits for its limit.
    time log_at = machine.begin(other, now + ns(200));
    for (const std::uint64_t word : {64u, 72u}) log_at = machine.store(other, word, 1, log_at);
    now = machine.store(hart, 0, 2, machine.begin(hart, log_at));
    now = machine.caches.force_write_back(machine.word(0), now);
    EXPECT_EQ(machine.hardware.log().counters().lines_held, 1u);
    for (const time end = now + ns(900); now < end; now += ns(10)) machine.settle(now);
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 1u);
    for (const time end = now + ns(1000); now < end; now += ns(10)) machine.settle(now);
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 2u);
    EXPECT_EQ(machine.hardware.log().counters().lines_early, 0u);
}

TEST(HardwareLog, WhatIsStoredInNoTransactionIsNotLogged) {
    logged_machine machine(design::fwb, plain_log(), usual_caches());
    machine.store({0}, 0, 5, ns(100));
    EXPECT_EQ(machine.hardware.log().counters().records, 0u);
    EXPECT_EQ(machine.hardware.log().counters().stores_outside, 1u);
}

TEST(ForceWriteBack, AScanThatBeginsLateIsCountedAndTheNextPeriodBeginsWithIt) {
    log_config config;
    config.scan_period = ns(10'000);
    logged_machine machine(design::fwb, config);
    const auto scans_at = [&](time now) {
        machine.settle(now);
        return machine.hardware.scans_until(now).scans;
    };
    EXPECT_EQ(scans_at(ns(9'999)), 0u);
    EXPECT_EQ(scans_at(ns(10'300)), 1u);
    // It is walked as time passes, and takes its own.
    EXPECT_EQ(scans_at(ns(20'299)), 1u);
    const time took = machine.hardware.scans_until(ns(20'299)).scanning;
    EXPECT_GT(took, time{});
    EXPECT_LT(took, ns(9'999));
    EXPECT_EQ(scans_at(ns(20'300)), 2u);
    EXPECT_EQ(machine.hardware.scans_until(ns(20'300)).late, ns(300));
    EXPECT_EQ(machine.hardware.scans_until(ns(20'300)).scanning, took) << "the second one has just begun";
}

TEST(ForceWriteBack, ALineThatStaysDirtyIsForcedByTheSecondScanAndTheHeadMovesOverItsRecord) {
    log_config log = plain_log();
    log.scan_period = ns(1'000'000);
    logged_machine machine(design::fwb, log, usual_caches());
    const hart_id hart{0};
    machine.commit(hart, machine.store(hart, 0, 5, machine.begin(hart, ns(100))));
    const auto scans_until = [&](std::uint64_t wanted, time from) {
        for (time now = from;; now += ns(1000)) {
            machine.settle(now);
            const scan_counters scans = machine.hardware.scans_until(now);
            if (scans.scans == wanted && scans.scanning > time{} && now > log.scan_period * wanted + ns(900'000))
                return now;
        }
    };
    const time first = scans_until(1, ns(1000));
    EXPECT_EQ(machine.hardware.scans_until(first).lines_forced, 0u) << "it was dirty for the first time";
    const std::uint64_t room = machine.hardware.log().room();
    const time second = scans_until(2, first);
    EXPECT_EQ(machine.hardware.scans_until(second).lines_forced, 1u);
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 5u);
    machine.settle(second + ns(10'000));
    EXPECT_GT(machine.hardware.log().room(), room);
    EXPECT_EQ(machine.hardware.log().counters().heads, 1u);
}

}  // namespace
}  // namespace holdfast::sim::test
