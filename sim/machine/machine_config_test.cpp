#include <sim/machine/machine_config.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(MachineConfig, TheDefaultsCanBeBuilt) { EXPECT_FALSE(check(machine_config{})); }

TEST(MachineConfig, EveryPartIsReachedByItsKey) {
    machine_config config;
    EXPECT_FALSE(set(config, "core.reorder_buffer", "200"));
    EXPECT_FALSE(set(config, "cache.l2.size", "4MiB"));
    EXPECT_FALSE(set(config, "cache.dl1.ways", "4"));
    EXPECT_FALSE(set(config, "nvram.row_hit_ns", "36.4"));
    EXPECT_FALSE(set(config, "controller.drain", "idle"));
    EXPECT_FALSE(set(config, "dram.latency_ns", "60"));
    EXPECT_FALSE(set(config, "machine.quantum_cycles", "10"));
    EXPECT_EQ(config.core.reorder_buffer, 200u);
    EXPECT_EQ(config.caches.l2.bytes, 4u << 20);
    EXPECT_EQ(config.caches.dl1.ways, 4u);
    EXPECT_EQ(config.memory.nvram.row_hit, ps(36'400));
    EXPECT_EQ(config.memory.controller.drain, drain_policy::idle);
    EXPECT_EQ(config.memory.dram.latency, ns(60));
    EXPECT_EQ(config.scheduling.quantum_cycles, 10u);
}

TEST(MachineConfig, AWrongSettingIsNamedWithItsValueAndItsRange) {
    machine_config config;
    EXPECT_EQ(set(config, "core.rob", "1")->text(), "core.rob is 1, allowed is a key of this machine");
    EXPECT_EQ(set(config, "core.name", "fast")->text(), "core.name is fast, allowed is 2012, small");
    EXPECT_EQ(set(config, "core.issue_width", "40")->text(),
              "core.issue_width is 40, allowed is a whole number up to 16");
    ASSERT_FALSE(set(config, "core.issue_width", "0"));
    EXPECT_EQ(check(config)->text(), "core.issue_width is 0, allowed is 1 to 16");
}

TEST(MachineConfig, ALogForEachHartIsRefusedWithInstantCommits) {
    machine_config config;
    ASSERT_FALSE(set(config, "log.place", "hart"));
    EXPECT_FALSE(check(config));
    ASSERT_FALSE(set(config, "log.commit", "instant"));
    EXPECT_EQ(check(config)->text(), "log.place is hart, allowed is central where log.commit is instant: logs of harts "
                                     "keep no order between commits");
    ASSERT_FALSE(set(config, "log.place", "central"));
    EXPECT_FALSE(check(config));
}

TEST(MachineConfig, WhatIsPrintedIsReadAsTheSame) {
    machine_config config;
    ASSERT_FALSE(set(config, "core.name", "small"));
    ASSERT_FALSE(set(config, "controller.persist", "controller"));
    ASSERT_FALSE(set(config, "core.clock_ns", "0.5"));
    const std::string lines = lines_of(config);
    machine_config read;
    EXPECT_FALSE(set_lines(read, lines, "a file"));
    EXPECT_EQ(lines_of(read), lines);
    EXPECT_NE(lines, lines_of(machine_config{}));
}

TEST(MachineConfig, ABadLineIsNamedWithItsNumber) {
    machine_config config;
    const auto reason = set_lines(config, "# a machine\n\ncore.load_queue = 32  # small\ncache.l2.bytes 3\n", "m.txt");
    ASSERT_TRUE(reason);
    EXPECT_EQ(reason->text(),
              "bad line of a configuration: m.txt, line 4: expected KEY = VALUE, found cache.l2.bytes 3");
    EXPECT_EQ(config.core.load_queue, 32u);
    EXPECT_EQ(set_lines(config, "core.load_queue = many", "m.txt")->where, "m.txt, line 1");
}

}  // namespace
}  // namespace holdfast::sim
