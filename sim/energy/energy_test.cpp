#include <sim/energy/energy.hpp>
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

}  // namespace
}  // namespace holdfast::sim
