// Laws of the scoreboard, with instructions told one by one.
#include <sim/core/core_test_support.hpp>

namespace holdfast::sim::test {
namespace {

using enum operation_class;

TEST(Scoreboard, ADependentChainTakesTheSumOfItsLatencies) {
    small_cores cores;
    const cycle begin = cores.execute(integer, 5);
    cores.execute(multiply, 5, 5);
    cores.execute(fp_multiply, 5, 5);
    cores.execute(integer, 5, 5);
    const cycle end = cores.execute(divide, 5, 5);
    const core_config config;
    EXPECT_EQ(end - begin, config.multiply_cycles + config.fp_multiply_cycles + 1 + config.divide_cycles);
}

TEST(Scoreboard, IndependentInstructionsGoIssueWidthPerCycle) {
    for (const std::uint32_t width : {1u, 2u, 4u, 8u}) {
        core_config config;
        config.issue_width = width;
        small_cores cores(config);
        cycle end = 0;
        const cycle begin = cores.execute(integer, 5);
        for (int i = 0; i < 800; ++i) end = cores.execute(integer, 6);
        EXPECT_EQ(end - begin, 800 / width);
    }
}

TEST(Scoreboard, SmtThreadsShareTheIssueWidth) {
    small_cores cores({}, 2);
    cycle end = 0;
    for (int i = 0; i < 400; ++i) {
        cores.execute(cores.instruction(integer, 6), 0);
        end = cores.execute(cores.instruction(integer, 6), 1);
    }
    EXPECT_NEAR(static_cast<double>(end - 1000), 800.0 / 4, 5);
}

/// How far behind a long instruction another one may enter: cycles between the entries of the instruction that is
/// `behind` places behind it and of itself.
cycle stall(small_cores& cores, std::uint32_t behind) {
    cores.execute(fp_divide, 7);
    const cycle begin = cores.hart_at(0).local_time;
    for (std::uint32_t i = 0; i < behind; ++i) cores.execute(integer, 6);
    return cores.hart_at(0).local_time - begin;
}

TEST(Scoreboard, AFullReorderBufferStalls) {
    core_config config;
    config.reorder_buffer = 8;
    config.fp_divide_cycles = 100;
    small_cores with_room(config);
    EXPECT_LE(stall(with_room, 7), 2u);
    small_cores without(config);
    EXPECT_GE(stall(without, 8), 100u);
}

TEST(Scoreboard, SmtPartitionsTheReorderBuffer) {
    core_config config;
    config.reorder_buffer = 8;
    config.fp_divide_cycles = 100;
    small_cores with_room(config, 2);
    EXPECT_LE(stall(with_room, 3), 2u);
    small_cores without(config, 2);
    EXPECT_GE(stall(without, 4), 100u);
}

TEST(Scoreboard, AFullLoadQueueStalls) {
    core_config config;
    config.load_queue = 4;
    small_cores cores(config);
    cores.load(persistent_data);
    const cycle begin = cores.hart_at(0).local_time;
    for (int i = 0; i < 3; ++i) cores.load(persistent_data);
    EXPECT_LE(cores.hart_at(0).local_time - begin, 2u);
    cores.load(persistent_data);
    EXPECT_GE(cores.hart_at(0).local_time - begin, 250u) << "the first load's miss of 100 ns";
}

retired_instruction branch_to(const small_cores& cores, bool taken) {
    retired_instruction made = cores.instruction(branch, sink_register);
    made.code = operation_code::beq;
    made.taken = taken;
    return made;
}

TEST(Scoreboard, AMispredictionCostsThePenalty) {
    for (const std::uint32_t penalty : {0u, 8u, 14u}) {
        core_config config;
        config.misprediction_cycles = penalty;
        small_cores cores(config);
        for (int i = 0; i < 100; ++i) cores.execute(branch_to(cores, true));  // learned
        const std::uint64_t before = cores.board.counters({0}).mispredictions;
        const cycle resolved = cores.execute(branch_to(cores, false));
        ASSERT_EQ(cores.board.counters({0}).mispredictions, before + 1);
        cores.execute(integer, 6);
        EXPECT_EQ(cores.hart_at(0).local_time, resolved + penalty);
    }
}

TEST(Scoreboard, AReturnGoesWhereTheCallCameFrom) {
    small_cores cores;
    retired_instruction call = cores.instruction(jump, 1);
    call.code = operation_code::jal;
    retired_instruction come_back = cores.instruction(jump, sink_register, 1);
    come_back.code = operation_code::jalr;
    for (std::uint64_t from = 0; from < 10; ++from) {
        call.pc = small_cores::code_line + 4 * from;
        cores.execute(call);
        come_back.next_pc = call.pc + 4;
        cores.execute(come_back);
    }
    EXPECT_EQ(cores.board.counters({0}).mispredictions, 0u);
}

TEST(Scoreboard, IndependentMissesOverlapUpToTheMissRegisters) {
    const auto cycles_of = [](std::uint32_t in_flight) {
        core_config config;
        config.l1_miss_registers = in_flight;
        small_cores cores(config);
        // In DRAM, whose latency does not depend on what else is asked of it.
        for (std::uint64_t i = 0; i < 8; ++i) cores.load(volatile_data + 64 * i);
        return cores.board.last_commit({0}) - 1000;
    };
    const cycle at_once = cycles_of(8);
    EXPECT_NEAR(static_cast<double>(cycles_of(4)), 2.0 * static_cast<double>(at_once), 12);
    EXPECT_NEAR(static_cast<double>(cycles_of(1)), 8.0 * static_cast<double>(at_once), 48);
}

TEST(Scoreboard, DependentMissesDoNotOverlap) {
    small_cores cores;
    cores.load(volatile_data, 0, 5, 5);
    const cycle one = cores.board.last_commit({0});
    cores.load(volatile_data + 64, 0, 5, 5);
    const cycle two = cores.board.last_commit({0});
    EXPECT_EQ(two - one, (1600u + 4400u + 50'000u) / 400u);
}

TEST(Scoreboard, ALineOfCodeThatIsMissingDelaysTheEntry) {
    small_cores cores;
    retired_instruction far = cores.instruction(integer, 6);
    far.pc = small_cores::code_line + 4096;
    cores.execute(integer, 6);
    const cycle before = cores.hart_at(0).local_time;
    cores.execute(far);
    EXPECT_GE(cores.hart_at(0).local_time - before, (4400u + 50'000u) / 400u);
}

TEST(Scoreboard, TheNamedSettingsAreWhatTheySay) {
    const core_config of_2012 = *core_named("2012");
    EXPECT_EQ(of_2012.issue_width, 4u);
    EXPECT_EQ(of_2012.reorder_buffer, 168u);
    EXPECT_EQ(of_2012.load_queue, 64u);
    EXPECT_EQ(of_2012.store_queue, 36u);
    EXPECT_EQ(of_2012.misprediction_cycles, 14u);
    const core_config small = *core_named("small");
    EXPECT_EQ(small.issue_width, 4u);
    EXPECT_EQ(small.reorder_buffer, 64u);
    EXPECT_EQ(small.load_queue + small.store_queue, 128u);
    EXPECT_EQ(small.misprediction_cycles, 8u);
    EXPECT_FALSE(core_named("none"));
}

}  // namespace
}  // namespace holdfast::sim::test
