#include <holdfast/persist/measure.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace holdfast::persist {
namespace {

using test::scratch_directory;

/// What was measured happened within `elapsed_ns`, and nothing that a medium does takes less than this.
void expect_sound(const measured_cost& cost, double least_ns, double elapsed_ns, const char* name) {
    EXPECT_GE(cost.min_ns, least_ns) << name;
    EXPECT_GE(cost.repetitions, 1) << name;
    EXPECT_LE(cost.min_ns * cost.repetitions, elapsed_ns) << name;
}

TEST(Measure, GivesEveryCostOnMemoryAndOnAFileAndLeavesNothingBehind) {
    for (const auto& parent : {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
        const scratch_directory scratch(parent);
        const auto on = discover(scratch.path(), {.tmpfs_is_nvram = true});
        ASSERT_TRUE(on);
        const auto began = std::chrono::steady_clock::now();
        const auto measured = measure(scratch.path(), *on);
        ASSERT_TRUE(measured) << measured.error().text();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
        const auto expect_cost = [&](const measured_cost& cost, double least_ns, const char* name) {
            expect_sound(cost, least_ns, took.count(), name);
        };
        expect_cost(measured->fence, 0.1, "fence");
        expect_cost(measured->line, 1, "line");
        expect_cost(measured->lines8, 8, "lines8");
        expect_cost(measured->append64, 1, "append64");
        expect_cost(measured->append256, 1, "append256");
        expect_cost(measured->sync, 50, "sync");
        expect_cost(measured->durable64, 50, "durable64");
        EXPECT_EQ(measured->line.repetitions, 9);
        EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
    }
}

TEST(Measure, SaysThatADirectoryIsNotThere) {
    const auto measured = measure("/nowhere/at/all", {});
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().code, errc::not_found);
}

TEST(Measure, SaysThatThereIsNoRoom) {
    const test::small_tmpfs full("size=64k");
    if (!full.mounted()) GTEST_SKIP() << "mounting is not permitted";
    const auto no_room = measure(full.path(), {.kind = medium::tmpfs});
    ASSERT_FALSE(no_room);
    EXPECT_EQ(no_room.error().code, errc::no_space);
}

}  // namespace
}  // namespace holdfast::persist
