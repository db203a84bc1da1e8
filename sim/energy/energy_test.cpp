#include <sim/energy/logging_overhead.hpp>
#include <sim/memory/nvram_dimm.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

constexpr address arena{0x10'0000'0000};

void access(nvram_dimm& dimm, std::uint64_t offset, access_kind kind) {
    const nvram_place place = dimm.place_of(arena + offset);
    dimm.take(dimm.find(place, kind, ns(0)), place, kind);
}

nvram_energy_pj energy_of_dimm(const nvram_dimm& dimm) { return energy_of(dimm.counters(), dimm.dirty_lines()); }

TEST(Energy, AReadThatOpensARowCostsArrayAndRowBufferAndARowHitTheRowBufferAlone) {
    nvram_dimm dimm(nvram_config{}, arena);
    access(dimm, 0, access_kind::read);
    EXPECT_DOUBLE_EQ(energy_of_dimm(dimm).total(), 512 * (0.93 + 2.47));
    access(dimm, 64, access_kind::read);
    EXPECT_DOUBLE_EQ(energy_of_dimm(dimm).total(), 512 * (2 * 0.93 + 2.47));
}

TEST(Energy, ALineWrittenTwiceWhileItsRowIsOpenIsProgrammedOnce) {
    nvram_dimm dimm(nvram_config{}, arena);
    access(dimm, 0, access_kind::write);
    access(dimm, 0, access_kind::write);
    EXPECT_DOUBLE_EQ(energy_of_dimm(dimm).row_buffer_write, 512 * 2 * 1.02);
    EXPECT_DOUBLE_EQ(energy_of_dimm(dimm).array_write, 512 * 16.82);
}

TEST(Energy, CleanLinesOfAnOpenRowAreNotProgrammed) {
    nvram_dimm dimm(nvram_config{}, arena);
    access(dimm, 0, access_kind::read);
    access(dimm, 8 * 2048, access_kind::read);
    EXPECT_EQ(energy_of_dimm(dimm).array_write, 0);
}

TEST(Energy, WholeRowActivationSensesAllOfTheRow) {
    nvram_config config;
    config.whole_row_activation = true;
    nvram_dimm dimm(config, arena);
    access(dimm, 0, access_kind::write);
    EXPECT_DOUBLE_EQ(energy_of_dimm(dimm).array_read, 2048 * 8 * 2.47);
}

TEST(Energy, ACachePaysForLinesThatComeAndGoAndAMissForTheTags) {
    cache_counters counters;
    counters.reads = 10;
    counters.read_misses = 2;
    counters.writes = 3;
    counters.fills = 2;
    counters.write_backs = 1;
    counters.sets_walked = 4;
    EXPECT_DOUBLE_EQ(energy_of(counters, {100, 200, 1}), 9 * 100.0 + 5 * 200.0 + 6 * 1.0);
}

TEST(Energy, OfARecordInTheLogBufferIsAWaysShareOfAnL1WrittenAndRead) {
    EXPECT_DOUBLE_EQ(buffer_energy_pj(64, cache_config{}), (81.3 + 81.6) / 8);
    EXPECT_DOUBLE_EQ(buffer_energy_pj(3 * 32, cache_config{}), 1.5 * (81.3 + 81.6) / 8);
}

TEST(Energy, OfAStateBitIsItsShareOfTheTagWhereverTagsAreLookedAt) {
    cache_counters counters;
    counters.reads = 5;
    counters.writes = 3;
    counters.sets_walked = 2;
    // 64 sets of 64 bytes: 36 bits of an address, valid and dirty.
    EXPECT_DOUBLE_EQ(state_energy_pj(counters, cache_config{}, {81.3, 81.6, 0.76}), 10 * 0.76 / 38);
    // 8,192 sets: 29 bits.
    EXPECT_DOUBLE_EQ(state_energy_pj(counters, hierarchy_config{}.l2, {431, 464, 8.2}), 10 * 8.2 / 31);
}

TEST(Energy, TheHardwareOfThePaperNeedsABitForEachLineThatCanBeDirty) {
    const logging_overhead made = overhead_of(hierarchy_config{}, 15, 64);
    EXPECT_EQ(lines_with_state(hierarchy_config{}), 131'072u + 2'048u);
    EXPECT_EQ(made.state_bytes, 16'640u);
    EXPECT_EQ(made.buffer_bytes, 960u);
    EXPECT_EQ(paper_overhead.state_bytes * 8, 6'144u);
}

}  // namespace
}  // namespace holdfast::sim
