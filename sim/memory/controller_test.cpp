// The controller: queues, drain policies, write-combining buffer, log source, persist point.
#include <sim/memory/nvram_controller.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

constexpr address arena{0x10'0000'0000};
constexpr std::uint64_t row = 2048;

line_write line_of(std::uint64_t offset, std::uint8_t value) {
    line_write write{arena + offset, byte_mask::all(), {}};
    write.bytes.fill(std::byte{value});
    return write;
}

class persist_recorder : public port::persisted {
public:
    void became_durable(const port::persist_event& event) override { events.push_back({event.what.line, event.at}); }
    std::vector<std::pair<address, time>> events;
};

class Controller : public testing::Test {
protected:
    nvram_controller& controller() {
        if (!made_) {
            attached_.on_persist = &persisted_;
            made_ = std::make_unique<nvram_controller>(config_, attached_);
        }
        return *made_;
    }
    time write(std::uint64_t offset, std::uint8_t value, time at, hart_set awaited_by = {}) {
        return controller().write(line_of(offset, value), {port::reason::eviction, awaited_by}, at);
    }
    time read(std::uint64_t offset, time at) { return controller().read(arena + offset, read_, at); }
    std::uint8_t byte_in(const memory_image& image, std::uint64_t offset) {
        std::byte found{};
        image.read_bytes(arena + offset, {&found, 1});
        return std::to_integer<std::uint8_t>(found);
    }
    time append(std::uint64_t offset, std::size_t bytes, time at, std::uint32_t log = 0) {
        const std::vector<std::byte> record(bytes, std::byte{7});
        return controller().append(arena + offset, record, at, log);
    }

    memory_config config_;
    persist_recorder persisted_;
    line_data read_{};

private:
    port::ports attached_;
    std::unique_ptr<nvram_controller> made_;
};

TEST_F(Controller, AReadSeesAWriteThatIsStillQueued) {
    write(0, 1, ns(0));
    write(0, 2, ns(1));
    EXPECT_EQ(controller().waiting(), 2u);
    EXPECT_EQ(read(0, ns(2)), ns(2) + config_.controller.forward);
    EXPECT_EQ(read_[0], std::byte{2});
    EXPECT_EQ(byte_in(controller().image(), 0), 0);
}

TEST_F(Controller, AReadTakesTheBytesThatAPartialWriteLacksFromTheArray) {
    config_.controller.log = log_arbitration::in_order;
    controller().poke(line_of(0, 5));
    const std::array<std::byte, 8> bytes{std::byte{9}};
    controller().stream(hart_id{0}, arena, bytes, ns(0));
    EXPECT_EQ(read(0, ns(10)), ns(110));
    EXPECT_EQ(read_[0], std::byte{9});
    EXPECT_EQ(read_[8], std::byte{5});
}

TEST_F(Controller, WritesDrainFromTheHighMarkToTheLowMark) {
    for (std::uint64_t each = 0; each < 47; ++each) write(each * row, 1, ns(0));
    EXPECT_EQ(controller().waiting(), 47u);
    EXPECT_EQ(controller().counters().drains, 0u);
    write(47 * row, 1, ns(0));
    EXPECT_EQ(controller().waiting(), 16u);
    EXPECT_EQ(controller().counters().drains, 1u);
    EXPECT_EQ(controller().dimm().counters().writes, 32u);
}

TEST_F(Controller, ByMarksWhatArrivesDuringADrainWaitsForTheNextOne) {
    for (std::uint64_t each = 0; each < 48; ++each) write(each * row, 1, ns(0));
    write(48 * row, 1, ns(10));
    EXPECT_EQ(controller().waiting(), 17u);
}

TEST_F(Controller, ByMarksReadsAndWritesOfARowEachOpenItOncePerDrain) {
    // A stream of stores that miss: ten lines are read ahead, and each pushes out one of another row of the same bank.
    constexpr std::uint64_t lines = 64 * 32, behind = 8 << 20;
    std::array<time, 10> in_flight{};
    for (std::uint64_t line = 0; line < lines; ++line) {
        time& oldest = in_flight[line % in_flight.size()];
        const time at = oldest;
        oldest = read(behind + line * 64, at);
        write(line * 64, 1, at);
        controller().settle(at);
    }
    const nvram_counters& counted = controller().dimm().counters();
    EXPECT_GE(counted.read_row_hits, counted.reads * 30 / 32);
    EXPECT_GE(counted.write_row_hits, counted.writes * 30 / 32);
}

TEST_F(Controller, ByMarksBlockWhatArrivesDuringADrainProlongsIt) {
    config_.controller.drain = drain_policy::marks_block;
    for (std::uint64_t each = 0; each < 48; ++each) write(each * row, 1, ns(0));
    write(48 * row, 1, ns(10));
    EXPECT_EQ(controller().waiting(), 16u);
    // 33 writes on 8 banks: the last one begins after four others of its bank.
    write(49 * row, 1, ns(5 * 300 + 50));
    EXPECT_EQ(controller().waiting(), 17u);
}

TEST_F(Controller, AReadGoesBeforeTheWritesThatWait) {
    for (std::uint64_t each = 0; each < 47; ++each) write(each * row, 1, ns(0));
    EXPECT_EQ(read(100 * 8 * row, ns(0)), ns(100));
}

TEST_F(Controller, ByMarksAReadWaitsForTheWritesGivenToItsBank) {
    for (std::uint64_t each = 0; each < 48; ++each) write(each * row, 1, ns(0));
    // 32 conflicts on 8 banks; the four of bank 0 one after the other.
    EXPECT_EQ(read(100 * 8 * row, ns(0)), ns(4 * 300 + 100));
}

TEST_F(Controller, ByMarksBlockAReadOfAnIdleBankWaitsForTheLowMarkToo) {
    config_.controller.drain = drain_policy::marks_block;
    for (std::uint64_t each = 0; each < 48; ++each) write(each * 8 * row, 1, ns(0));
    // All in bank 0; the last of 32 begins after 31.
    EXPECT_EQ(read(row, ns(0)), ns(31 * 300 + 100));
}

TEST_F(Controller, ByMarksBetweenAReadWaitsForOneWriteAtMost) {
    config_.controller.drain = drain_policy::marks_between;
    for (std::uint64_t each = 0; each < 48; ++each) write(each * row, 1, ns(0));
    // The bursts follow one another on the bus, 4 ns each.
    controller().settle(ns(8 * 4));
    EXPECT_EQ(controller().dimm().counters().writes, 8u);
    EXPECT_EQ(read(100 * 8 * row, ns(8 * 4)), ns(300 + 100));
    controller().settle(ns(100'000));
    EXPECT_EQ(controller().waiting(), 16u);
}

TEST_F(Controller, ByUntilFullNothingGoesBeforeTheQueueIsFull) {
    config_.controller.drain = drain_policy::until_full;
    for (std::uint64_t each = 0; each < 64; ++each) EXPECT_EQ(write(each * row, 1, ns(0)), ns(0));
    EXPECT_EQ(controller().waiting(), 64u);
    // One for each bank goes; the first is done after 300 ns and gives its entry away.
    EXPECT_EQ(write(64 * row, 1, ns(0)), ns(300));
    EXPECT_EQ(controller().waiting(), 57u);
}

TEST_F(Controller, ByIdleAWriteGoesWhenItsBankHasNothingElseToDo) {
    config_.controller.drain = drain_policy::idle;
    write(0, 1, ns(0));
    EXPECT_EQ(controller().waiting(), 1u);
    controller().settle(ns(300));
    EXPECT_EQ(controller().waiting(), 0u);
    controller().settle(ns(301));
    EXPECT_EQ(byte_in(controller().image(), 0), 1);
    ASSERT_EQ(persisted_.events.size(), 1u);
    EXPECT_EQ(persisted_.events[0].second, ns(300));
}

TEST_F(Controller, LinesOfAnOpenRowAreDrainedBeforeOlderOnes) {
    config_.controller.high_mark = 4;
    config_.controller.low_mark = 2;
    read(0, ns(0));
    write(8 * row, 1, ns(200));
    write(16 * row, 1, ns(200));
    write(24 * row, 1, ns(200));
    write(64, 1, ns(200));
    controller().settle(ns(200 + 36));
    EXPECT_EQ(byte_in(controller().image(), 64), 1);
    EXPECT_EQ(byte_in(controller().image(), 8 * row), 0);
    controller().settle(ns(200 + 36 + 300));
    EXPECT_EQ(byte_in(controller().image(), 8 * row), 1);
}

TEST_F(Controller, AFullQueueAcceptsWhenAnEntryIsFree) {
    config_.controller.write_entries = config_.controller.high_mark = 4;
    config_.controller.low_mark = 0;
    for (std::uint64_t each = 0; each < 4; ++each) EXPECT_EQ(write(each * 8 * row, 1, ns(0)), ns(0));
    EXPECT_EQ(write(4 * 8 * row, 1, ns(0)), ns(300));
    EXPECT_EQ(controller().counters().writes_refused, 1u);
    EXPECT_EQ(controller().counters().refused_time, ns(300));
}

TEST_F(Controller, AFullReadQueueMakesTheNextReadWait) {
    config_.controller.read_entries = 2;
    EXPECT_EQ(read(0, ns(0)), ns(100));
    EXPECT_EQ(read(row, ns(0)), ns(104));
    EXPECT_EQ(read(2 * row, ns(0)), ns(200));
}

TEST_F(Controller, AFenceSendsWhatItsHartAwaitsAndNothingElse) {
    write(0, 1, ns(0), hart_set::only(hart_id{3}));
    write(row, 2, ns(0));
    EXPECT_EQ(controller().fence(hart_id{2}, ns(5)), ns(5));
    EXPECT_EQ(controller().fence(hart_id{3}, ns(5)), ns(305));
    EXPECT_EQ(controller().waiting(), 1u);
    EXPECT_EQ(controller().fence(hart_id{3}, ns(400)), ns(400));
}

TEST_F(Controller, AnOlderWriteOfTheLineIsInTheArrayBeforeTheAwaitedOne) {
    write(0, 1, ns(0));
    write(0, 2, ns(1), hart_set::only(hart_id{0}));
    // The older one opens the row, the newer one hits it.
    EXPECT_EQ(controller().fence(hart_id{0}, ns(5)), ns(5 + 300 + 36));
    controller().settle(ns(306));
    EXPECT_EQ(byte_in(controller().image(), 0), 1);
    controller().settle(ns(341));
    EXPECT_EQ(byte_in(controller().image(), 0), 2);
}

TEST_F(Controller, StreamedBytesOfALineAreCombinedIntoOneWrite) {
    const std::array<std::byte, 8> bytes{std::byte{3}};
    for (std::uint64_t at = 0; at < 64; at += 8) controller().stream(hart_id{0}, arena + at, bytes, ns(at));
    EXPECT_EQ(controller().counters().writes, 1u);
    EXPECT_EQ(controller().counters().partial_writes, 0u);
}

TEST_F(Controller, AWriteOfALineComesAfterWhatWasStreamedToItBefore) {
    const std::array<std::byte, 8> bytes{std::byte{3}};
    controller().stream(hart_id{0}, arena, bytes, ns(0));
    write(0, 4, ns(1));
    controller().finish(ns(2));
    EXPECT_EQ(byte_in(controller().image(), 0), 4);
}

TEST_F(Controller, AFullCombiningBufferSendsTheLineThatItBeganFirst) {
    config_.controller.log = log_arbitration::in_order;
    config_.controller.combining_entries = 2;
    const std::array<std::byte, 8> bytes{};
    for (std::uint64_t line = 0; line < 3; ++line) controller().stream(hart_id{0}, arena + line * 64, bytes, ns(line));
    EXPECT_EQ(controller().counters().partial_writes, 1u);
    EXPECT_EQ(controller().waiting(), 1u);
}

TEST_F(Controller, TheCombiningLimitSendsALineThatNothingCompletes) {
    config_.controller.log = log_arbitration::in_order;
    config_.controller.combining_limit = ns(50);
    const std::array<std::byte, 8> bytes{};
    controller().stream(hart_id{0}, arena, bytes, ns(10));
    controller().settle(ns(59));
    EXPECT_EQ(controller().waiting(), 0u);
    controller().settle(ns(60));
    EXPECT_EQ(controller().waiting(), 1u);
}

TEST_F(Controller, ALogWhoseOrderIsKeptReachesTheArrayInTheOrderInWhichItWasAppended) {
    config_.controller.log_order = log_order::kept;
    // Over a row's end into another bank, where the first line would be faster.
    read(row, ns(0));
    for (std::uint64_t line = 30; line < 34; ++line) append(line * 64, 64, ns(200));
    controller().settle(ns(10'000));
    ASSERT_EQ(persisted_.events.size(), 4u);
    for (std::size_t each = 1; each < 4; ++each) {
        EXPECT_GT(persisted_.events[each].first, persisted_.events[each - 1].first);
        EXPECT_GE(persisted_.events[each].second, persisted_.events[each - 1].second);
    }
}

TEST_F(Controller, AsPersistPointItTakesTheLogInOrderThoughHartsRunAheadOfEachOther) {
    config_.controller.persist = persist_point::controller;
    config_.controller.log_order = log_order::kept;
    append(0, 64, ns(1000));
    EXPECT_EQ(append(64, 64, ns(500)), ns(1000));
    const memory_image survives = controller().crash(ns(700));
    EXPECT_EQ(byte_in(survives, 0), 0);
    EXPECT_EQ(byte_in(survives, 64), 0) << "a log has no holes";
}

TEST_F(Controller, ASequentialLogWhoseOrderIsKeptCostsARowHitALineAndOpensRowsMeanwhile) {
    config_.controller.log_order = log_order::kept;
    config_.controller.log_entries = 16;
    // Rows of 32 lines lie in one bank each. The next row opens while the last lines of this one are written, and its
    // first line ends with the last of them; the other 31 are row hits.
    const std::uint64_t rows = 24;
    time now{};
    for (std::uint64_t line = 0; line < 32 * rows; ++line) now = append(64 * line, 64, now);
    EXPECT_EQ(controller().flush(now), ns(300 + 31 * 36 * rows));
    EXPECT_EQ(controller().dimm().counters().write_row_hits, 31 * rows);
}

TEST_F(Controller, TheLogGetsTheBandwidthThatNonTemporalStoresGet) {
    constexpr std::uint64_t lines = 32 * 24;
    const std::array<std::byte, 64> bytes{};
    time streamed{};
    for (std::uint64_t line = 0; line < lines; ++line)
        streamed = controller().stream(hart_id{0}, arena + 64 * line, bytes, streamed);
    streamed = controller().fence(hart_id{0}, streamed);
    time appended = streamed;
    for (std::uint64_t line = 0; line < lines; ++line) appended = append(64 * (lines + line), 64, appended);
    appended = controller().flush(appended) - streamed;
    EXPECT_EQ(streamed, appended);
}

TEST_F(Controller, ASenderThatDoesNotWaitForItsWritesToBeAcceptedIsFoundOut) {
    for (std::uint64_t line = 0; line < 10'000; ++line) write(64 * line, 1, ns(0));
    EXPECT_TRUE(controller().has_overflowed());
    EXPECT_EQ(byte_in(controller().image(), 64 * 9'999), 1);
}

TEST_F(Controller, ASenderThatWaitsMaySendAsMuchAsItLikes) {
    time now{};
    for (std::uint64_t line = 0; line < 20'000; ++line) {
        now = write(64 * line, 1, now);
        controller().settle(now);
    }
    EXPECT_FALSE(controller().has_overflowed());
}

TEST_F(Controller, AFlushedLogIsDurableWhenTheFlushReturns) {
    append(0, 40, ns(0));
    EXPECT_EQ(controller().flush(ns(10)), ns(310));
    EXPECT_EQ(byte_in(controller().crash(ns(310)), 39), 7);
}

TEST_F(Controller, AsPersistPointItEndsAFlushWhenItHasAcceptedEveryLineOfTheLog) {
    config_.controller.persist = persist_point::controller;
    config_.controller.log_order = log_order::any;
    // A hart that is ahead has appended a line later than the one that flushes now.
    append(0, 64, ns(1000));
    EXPECT_EQ(controller().flush(ns(500)), ns(1000));
}

TEST_F(Controller, OfSeveralLogsAFlushOfOneLeavesTheOthersInTheBufferUnlessTheirOrderIsKept) {
    for (const log_order order : {log_order::any, log_order::kept}) {
        config_.controller.log_order = order;
        const port::ports nothing;
        nvram_controller several(config_, nothing);
        const std::vector<std::byte> half(32, std::byte{7});
        several.append(arena + row, half, ns(0), 1);
        several.append(arena, half, ns(0), 0);
        const time flushed = several.flush_log(0, ns(10));
        EXPECT_GE(flushed, ns(310));
        several.settle(ns(1000));
        EXPECT_EQ(byte_in(several.image(), 0), 7);
        EXPECT_EQ(byte_in(several.image(), row), order == log_order::kept ? 7 : 0);
        EXPECT_EQ(several.flush_log(1, ns(1000)), order == log_order::kept ? ns(1000) : ns(1300));
    }
}

TEST_F(Controller, LogFirstPassesTheWaitingWrites) {
    for (std::uint64_t each = 1; each < 40; ++each) write(each * 8 * row, 1, ns(0));
    append(0, 64, ns(0));
    controller().settle(ns(300));
    EXPECT_EQ(byte_in(controller().image(), 0), 7);
}

TEST_F(Controller, DataFirstLetsTheLogWaitForTheEndOfADrain) {
    config_.controller.log = log_arbitration::data_first;
    for (std::uint64_t each = 0; each < 48; ++each) write(each * 8 * row, 1, ns(0));
    append(row, 64, ns(0));
    controller().settle(ns(100'000));
    // Bank 1 is idle all the time; the last of 32 writes to bank 0 begins after 31, and has the bus for 4 ns.
    EXPECT_EQ(persisted_.events.back().first, arena + row);
    EXPECT_EQ(persisted_.events.back().second, ns(31 * 300 + 4 + 300));
}

TEST_F(Controller, InOrderCountsTheLogAmongTheWrites) {
    config_.controller.log = log_arbitration::in_order;
    for (std::uint64_t each = 1; each < 48; ++each) write(each * row, 1, ns(0));
    EXPECT_EQ(controller().counters().drains, 0u);
    append(0, 64, ns(0));
    EXPECT_EQ(controller().counters().drains, 1u);
}

TEST_F(Controller, WhatWaitsIsLostAtACrashWhenTheArrayIsThePersistPoint) {
    write(0, 1, ns(0), hart_set::only(hart_id{0}));
    write(row, 2, ns(0));
    EXPECT_EQ(controller().fence(hart_id{0}, ns(0)), ns(300));
    const memory_image survives = controller().crash(ns(300));
    EXPECT_EQ(byte_in(survives, 0), 1);
    EXPECT_EQ(byte_in(survives, row), 0);
}

TEST_F(Controller, ACrashJustBeforeTheArrayHasTheLineFindsTheOldOne) {
    write(0, 1, ns(0), hart_set::only(hart_id{0}));
    controller().fence(hart_id{0}, ns(0));
    EXPECT_EQ(byte_in(controller().crash(ns(300) - ps(1)), 0), 0);
}

TEST_F(Controller, TheQueueSurvivesWhenTheControllerIsThePersistPoint) {
    config_.controller.persist = persist_point::controller;
    write(0, 1, ns(10), hart_set::only(hart_id{0}));
    EXPECT_EQ(controller().fence(hart_id{0}, ns(20)), ns(20));
    ASSERT_EQ(persisted_.events.size(), 1u);
    EXPECT_EQ(persisted_.events[0].second, ns(10));
    write(row, 2, ns(40));
    const memory_image survives = controller().crash(ns(30));
    EXPECT_EQ(byte_in(survives, 0), 1);
    EXPECT_EQ(byte_in(survives, row), 0) << "accepted after the crash";
}

TEST_F(Controller, TheCombiningBufferIsLostWhereverThePersistPointIs) {
    config_.controller.persist = persist_point::controller;
    append(0, 8, ns(0));
    EXPECT_EQ(byte_in(controller().crash(ns(1000)), 0), 0);
}

TEST(ControllerWatch, SeesWhatEachBankDoesAndWhen) {
    class recorder : public port::bank_watch {
    public:
        void access(const port::bank_event& event) override { events.push_back(event); }
        std::vector<port::bank_event> events;
    } watch;
    port::ports attached;
    attached.on_bank = &watch;
    nvram_controller controller(memory_config{}, attached);
    line_data into;
    controller.read(arena + row, into, ns(5));
    controller.write(line_of(row, 1), {port::reason::eviction, hart_set::only(hart_id{0})}, ns(200));
    controller.fence(hart_id{0}, ns(200));
    ASSERT_EQ(watch.events.size(), 2u);
    EXPECT_EQ(watch.events[0].bank, 1u);
    EXPECT_EQ(watch.events[0].begin, ns(5));
    EXPECT_EQ(watch.events[0].end, ns(105));
    EXPECT_FALSE(watch.events[0].row_hit);
    EXPECT_TRUE(watch.events[1].is_write);
    EXPECT_TRUE(watch.events[1].row_hit);
}

TEST(ControllerCounters, HaveNamesForWhoeverPrintsThem) {
    controller_counters counters;
    counters.drains = 3;
    std::uint64_t fields = 0, drains = 0;
    controller_counters::visit_fields(counters, [&](std::string_view name, std::uint64_t value) {
        ++fields;
        if (name == "drains") drains = value;
    });
    EXPECT_EQ(fields, 9u);
    EXPECT_EQ(drains, 3u);
}

TEST_F(Controller, InstantWritesAreInTheImageAtOnceAndCostNoTime) {
    write(0, 1, ns(0));
    controller().set_instant(true);
    EXPECT_EQ(byte_in(controller().image(), 0), 1);
    EXPECT_EQ(write(row, 2, ns(0)), ns(0));
    EXPECT_EQ(byte_in(controller().image(), row), 2);
    EXPECT_EQ(read(row, ns(0)), ns(0));
    EXPECT_EQ(controller().counters().reads, 0u);
}

}  // namespace
}  // namespace holdfast::sim
