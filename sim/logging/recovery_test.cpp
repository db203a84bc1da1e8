// Recovery that is cut at each of its own writes, and begins again.
#include <sim/logging/cut_image_test.hpp>
#include <sim/logging/logged_machine_test.hpp>

namespace holdfast::sim::test {
namespace {

memory_image copy_of(const memory_image& from) {
    memory_image copy;
    from.for_each_page([&](address page, std::span<const std::byte> bytes) { copy.write_bytes(page, bytes); });
    return copy;
}

/// Words of the data, as many as parts and lines can have.
std::vector<std::uint64_t> words_of(const logged_machine& machine, const memory_image& image) {
    std::vector<std::uint64_t> words;
    for (std::uint64_t word = 0; word < 64 * 16; ++word) words.push_back(word_in(image, machine.word(word)));
    return words;
}

/// Recovers what a crash left, then the same cut at each write: all come to the same words.
recovery_report recovered_and_cut(const logged_machine& machine, const memory_image& left, const log_config& log) {
    const port::log_region region = machine.hardware.region();
    memory_image whole = copy_of(left);
    const recovery_report report = recover(whole, region, log);
    const std::vector<std::uint64_t> words = words_of(machine, whole);
    for (std::uint64_t writes = 0; writes < report.undone + report.redone; ++writes) {
        memory_image again = copy_of(left);
        cut_image<memory_image> cut{again, writes};
        EXPECT_THROW(recover(cut, region, log), image_was_cut);
        recover(again, region, log);
        EXPECT_EQ(words_of(machine, again), words) << "cut after " << writes << " writes";
    }
    return report;
}

TEST(Recovery, MayBeCutAtEachOfItsWritesAndBeginAgain) {
    log_config log = plain_log();
    logged_machine machine(design::fwb, log, usual_caches());
    time now = ns(100);
    for (std::uint64_t number = 0; number < 20; ++number) {
        const hart_id hart{static_cast<std::uint32_t>(number % 4)};
        now = machine.begin(hart, now);
        for (std::uint64_t word = 0; word < 3; ++word)
            now = machine.store(hart, hart.value * 8 + word, 100 * number + word, now);
        if (number < 17) now = machine.commit(hart, now);
        machine.settle(now);
    }
    // What is not committed is home already.
    now = machine.memory.nvram().flush(now);
    machine.settle(now + ns(2000));
    for (std::uint64_t hart = 0; hart < 4; ++hart) machine.caches.force_write_back(machine.word(hart * 8), now);
    now = machine.memory.nvram().push_out(now + ns(3000));
    const recovery_report report = recovered_and_cut(machine, machine.memory.nvram().crash(now), log);
    EXPECT_EQ(report.committed, 17u);
    EXPECT_EQ(report.undone, 9u);
    EXPECT_GT(report.redone, 0u);
}

TEST(Recovery, MayBeCutLikewiseWhereEachHartHasALogAndWhereLogsHaveGrown) {
    std::uint64_t undone = 0, redone = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        log_config log = seed % 2 == 0 ? small_log() : small_logs_of_harts();
        log.bytes /= seed % 2 == 0 ? 2 : 1;
        log.record = static_cast<record_format>(seed % 3);
        cut_run run(design::fwb, log, memory_for(seed), seed);
        run.pass_parts_on();
        run.share_lines();
        if (seed % 4 >= 2) run.grow_at({100 + seed, 250});
        const memory_image left = run.crash_behind(300 + seed * 53 % 400);
        const recovery_report report = recovered_and_cut(run.machine(), left, log);
        undone += report.undone;
        redone += report.redone;
    }
    EXPECT_GT(undone, 10u);
    EXPECT_GT(redone, 200u);
}

}  // namespace
}  // namespace holdfast::sim::test
