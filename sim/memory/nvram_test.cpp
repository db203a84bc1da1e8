// The DIMM's timing, against sequences worked out by hand from Table II of the paper: 36 ns for a row hit, 100 ns for
// a read and 300 ns for a write that finds another row open, 8 banks, rows of 2 KB, a bus burst of 4 ns.
#include <sim/memory/nvram_dimm.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

constexpr address arena{0x10'0000'0000};
constexpr std::uint64_t row = 2048;
constexpr std::uint64_t next_row_of_bank = 8 * row;

/// Asks for an access and takes it.
struct dimm_under_test {
    explicit dimm_under_test(const nvram_config& config = {}) : dimm(config, arena) {}

    nvram_bank::plan access(std::uint64_t offset, access_kind kind, time from) {
        const nvram_place place = dimm.place_of(arena + offset);
        const nvram_bank::plan chance = dimm.find(place, kind, from);
        dimm.take(chance, place, kind);
        return chance;
    }
    time read(std::uint64_t offset, time from) { return access(offset, access_kind::read, from).end(); }
    time write(std::uint64_t offset, time from) { return access(offset, access_kind::write, from).end(); }

    nvram_dimm dimm;
};

TEST(Nvram, ConsecutiveRowsLieInConsecutiveBanks) {
    const dimm_under_test nvram;
    EXPECT_EQ(nvram.dimm.place_of(arena + 0).bank, 0u);
    EXPECT_EQ(nvram.dimm.place_of(arena + (row - 64)).bank, 0u);
    EXPECT_EQ(nvram.dimm.place_of(arena + (row - 64)).line_in_row, 31u);
    EXPECT_EQ(nvram.dimm.place_of(arena + row).bank, 1u);
    EXPECT_EQ(nvram.dimm.place_of(arena + next_row_of_bank).bank, 0u);
    EXPECT_EQ(nvram.dimm.place_of(arena + next_row_of_bank).row, 1u);
}

TEST(Nvram, InterleavingByLinePutsTheRestOfARowEightLinesAway) {
    nvram_config config;
    config.interleave_bytes = 64;
    const dimm_under_test nvram(config);
    EXPECT_EQ(nvram.dimm.place_of(arena + 64).bank, 1u);
    EXPECT_EQ(nvram.dimm.place_of(arena + 8 * 64).bank, 0u);
    EXPECT_EQ(nvram.dimm.place_of(arena + 8 * 64).line_in_row, 1u);
    EXPECT_EQ(nvram.dimm.place_of(arena + 31 * 8 * 64).row, 0u);
    EXPECT_EQ(nvram.dimm.place_of(arena + 32 * 8 * 64).row, 1u);
}

TEST(Nvram, ARowHitCosts36Ns) {
    dimm_under_test nvram;
    const time first = nvram.read(0, ns(0));
    EXPECT_EQ(nvram.read(64, first), first + ns(36));
    EXPECT_EQ(nvram.write(128, first + ns(36)), first + ns(72));
}

TEST(Nvram, AReadConflictCosts100NsAndAWriteConflict300) {
    dimm_under_test nvram;
    EXPECT_EQ(nvram.read(0, ns(0)), ns(100));
    EXPECT_EQ(nvram.read(next_row_of_bank, ns(100)), ns(200));
    EXPECT_EQ(nvram.write(0, ns(200)), ns(500));
}

TEST(Nvram, AMixedSequenceOnOneBankTakesTheSumWorkedOutByHand) {
    dimm_under_test nvram;
    EXPECT_EQ(nvram.read(0, ns(0)), ns(100));                        // opens row 0
    EXPECT_EQ(nvram.read(64, ns(0)), ns(136));                       // hit, waits for the first
    EXPECT_EQ(nvram.write(128, ns(10)), ns(172));                    // hit
    EXPECT_EQ(nvram.write(next_row_of_bank, ns(20)), ns(472));       // opens row 1
    EXPECT_EQ(nvram.read(next_row_of_bank + 64, ns(30)), ns(508));   // hit
    EXPECT_EQ(nvram.read(0, ns(600)), ns(700));                      // opens row 0 again, after an idle time
    EXPECT_EQ(nvram.dimm.counters().read_row_hits, 2u);
    EXPECT_EQ(nvram.dimm.counters().write_row_hits, 1u);
}

TEST(Nvram, BanksWorkSideBySideAndShareTheBus) {
    dimm_under_test nvram;
    // All eight sense their rows at once; the bursts, 4 ns each, follow one another.
    for (std::uint64_t bank = 0; bank < 8; ++bank) {
        EXPECT_EQ(nvram.read(bank * row, ns(0)), ns(100 + 4 * bank));
    }
    EXPECT_EQ(nvram.read(0, ns(0)), ns(100 + 36));
}

TEST(Nvram, TenThousandWritesToAlternatingRowsOfOneBankTake300NsEach) {
    dimm_under_test nvram;
    time done{};
    for (std::uint64_t each = 0; each < 10'000; ++each) done = nvram.write(each % 2 * next_row_of_bank, ns(0));
    EXPECT_EQ(done, ns(3'000'000));
    EXPECT_EQ(nvram.dimm.counters().write_row_hits, 0u);
    EXPECT_EQ(nvram.dimm.counters().lines_programmed + nvram.dimm.dirty_lines(), 10'000u);
}

TEST(Nvram, ASequentialLogOpensEachRowOnce) {
    dimm_under_test nvram;
    time done{};
    for (std::uint64_t line = 0; line < 64; ++line) done = nvram.write(line * 64, done);
    // Two rows: each 300 ns for its first line and 36 for the other 31.
    EXPECT_EQ(done, ns(2 * (300 + 31 * 36)));
}

TEST(Nvram, AnEarlierRequestThatComesLaterTakesTheGapInFront) {
    dimm_under_test nvram;
    EXPECT_EQ(nvram.read(0, ns(1000)), ns(1100));
    EXPECT_EQ(nvram.read(next_row_of_bank, ns(0)), ns(100));
    // 100 ns do not fit between 950 and 1000.
    EXPECT_EQ(nvram.read(2 * next_row_of_bank, ns(950)), ns(1200));
}

TEST(Nvram, AReservedRowHitKeepsItsRowOpen) {
    dimm_under_test nvram;
    nvram.read(0, ns(0));
    EXPECT_EQ(nvram.read(64, ns(1000)), ns(1036));
    // Another row would fit before 1000, but would close row 0; a line of row 0 may go in between.
    EXPECT_EQ(nvram.read(next_row_of_bank, ns(500)), ns(1136));
    EXPECT_EQ(nvram.read(128, ns(500)), ns(536));
}

TEST(Nvram, TheArrayIsWrittenWhenADirtyRowClosesAndOnceForEachDirtyLine) {
    dimm_under_test nvram;
    nvram.write(0, ns(0));
    nvram.write(0, ns(0));
    nvram.write(64, ns(0));
    EXPECT_EQ(nvram.dimm.counters().lines_programmed, 0u);
    EXPECT_EQ(nvram.dimm.dirty_lines(), 2u);
    nvram.read(next_row_of_bank, ns(0));
    EXPECT_EQ(nvram.dimm.counters().lines_programmed, 2u);
    EXPECT_EQ(nvram.dimm.dirty_lines(), 0u);
}

TEST(Nvram, LinesPutInFrontOfAClosingAreProgrammedByIt) {
    dimm_under_test nvram;
    nvram.write(0, ns(0));
    nvram.read(next_row_of_bank, ns(1000));
    EXPECT_EQ(nvram.dimm.counters().lines_programmed, 1u);
    nvram.write(64, ns(500));
    EXPECT_EQ(nvram.dimm.counters().lines_programmed, 2u);
}

TEST(Nvram, OpeningARowSensesOneLineOrTheWholeRow) {
    dimm_under_test by_line;
    by_line.read(0, ns(0));
    by_line.write(row, ns(0));
    EXPECT_EQ(by_line.dimm.counters().lines_sensed, 1u);
    nvram_config config;
    config.whole_row_activation = true;
    dimm_under_test by_row(config);
    by_row.read(0, ns(0));
    by_row.write(row, ns(0));
    EXPECT_EQ(by_row.dimm.counters().lines_sensed, 64u);
}

TEST(Calendar, NothingIsReservedTwiceThoughOldReservationsAreForgotten) {
    calendar bus;
    for (std::uint64_t each = 0; each < 1000; ++each) {
        const time begin = bus.first_gap(ns(each * 10), ns(4));
        EXPECT_EQ(begin, ns(each * 10));
        bus.take(begin, ns(4));
    }
    // Early gaps are forgotten, late ones are not.
    EXPECT_GT(bus.first_gap(ns(0), ns(4)), ns(4'000));
    EXPECT_EQ(bus.first_gap(ns(9'000), ns(4)), ns(9'004));
    EXPECT_EQ(bus.first_gap(ns(9'000), ns(7)), ns(9'994));
}

}  // namespace
}  // namespace holdfast::sim
