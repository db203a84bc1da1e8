// Threads that share harts, on the logging hardware: a program whose scheduler saves and restores transaction
// registers, crashed at many moments of one run.
#include <sim/guest/context_switch.hpp>
#include <sim/logging/recovery.hpp>
#include <sim/machine/crash_witness_test.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>


namespace holdfast::sim {
namespace {

void copy(const memory_image& from, memory_image& to) {
    from.for_each_page([&](address page, std::span<const std::byte> bytes) { to.write_bytes(page, bytes); });
}

std::uint64_t word_in(const memory_image& image, address where) {
    std::uint64_t value = 0;
    image.read_bytes(where, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

simulation_options switching_run(std::uint32_t harts) {
    simulation_options options = test::small_run("context_switch", harts);
    options.design = design::fwb;
    options.operations = 2000;
    return options;
}

class ThreadsThatShareHarts : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ThreadsThatShareHarts, HaveTransactionsOfTheirOwnAfterACrash) {
    machine_config config = test::small_machine();
    // So small that open transactions have lines at home, and the log wraps.
    ASSERT_FALSE(set(config, "cache.dl1.size", "1KiB"));
    ASSERT_FALSE(set(config, "cache.l2.size", "4KiB"));
    ASSERT_FALSE(set(config, "log.bytes", "16KiB"));
    config.log.scan_period = log_config::paper_period;
    test::crash_witness run;
    port::log_region region{};
    simulation_options options = switching_run(GetParam());
    options.attach = [&](simulated_machine& built) {
        run.attach(built);
        region = built.registers.log_regions.front();
    };
    options.measured = [](simulated_machine& built, time end) { built.memory.settle(end); };
    const auto result = simulate(config, options, test::nobody_looks);
    ASSERT_TRUE(result) << result.problem().text();
    EXPECT_TRUE(result->verified) << result->said;

    memory_image durable;
    copy(run.at_first, durable);
    const std::uint32_t threads = GetParam() * threads_of_a_hart;
    std::vector<std::uint64_t> newest(threads);
    std::uint64_t undone = 0, writes = 0;
    for (const auto& [at, what] : run.durable) {
        durable.write(what);
        if (++writes % 61 != 0) continue;
        memory_image survives;
        copy(durable, survives);
        undone += recover(survives, region, config.log).undone;
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
            const std::uint64_t value = word_in(survives, word_of_thread(thread, 0));
            for (std::uint32_t word = 1; word < words_of_a_thread; ++word)
                ASSERT_EQ(word_in(survives, word_of_thread(thread, word)), value) << "thread " << thread;
            ASSERT_GE(value, newest[thread]);
            newest[thread] = value;
        }
    }
    EXPECT_GT(undone, 0u);
    EXPECT_GT(newest[threads - 1], newest[0] / 4);
}

INSTANTIATE_TEST_SUITE_P(Harts, ThreadsThatShareHarts, testing::Values(1u, 2u),
                         [](const auto& of) { return std::to_string(of.param); });

}  // namespace
}  // namespace holdfast::sim
