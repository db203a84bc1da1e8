#include <holdfast/persist/measure.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace holdfast::persist {
namespace {

using test::scratch_directory;

void expect_sound(const measured_cost& cost, const char* name) {
    EXPECT_GT(cost.median_ns, 0) << name;
    EXPECT_LE(cost.min_ns, cost.median_ns) << name;
    EXPECT_LE(cost.median_ns, cost.max_ns) << name;
    EXPECT_GE(cost.repetitions, 1) << name;
}

TEST(Measure, GivesEveryCostOnMemoryAndOnAFileAndLeavesNothingBehind) {
    for (const auto& parent : {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
        const scratch_directory scratch(parent);
        const auto on = discover(scratch.path(), {.tmpfs_is_nvram = true});
        ASSERT_TRUE(on);
        const auto measured = measure(scratch.path(), *on);
        ASSERT_TRUE(measured) << measured.error().text();
        expect_sound(measured->fence, "fence");
        expect_sound(measured->line, "line");
        expect_sound(measured->lines8, "lines8");
        expect_sound(measured->append64, "append64");
        expect_sound(measured->append256, "append256");
        expect_sound(measured->sync, "sync");
        expect_sound(measured->durable64, "durable64");
        EXPECT_EQ(measured->line.repetitions, 9);
        EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
    }
}

TEST(Measure, SaysWhyItCannot) {
    const auto measured = measure("/nowhere/at/all", {});
    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.error().code, errc::not_found);
    const test::small_tmpfs full("size=64k");
    if (!full.mounted()) GTEST_SKIP() << "mounting is not permitted";
    const auto no_room = measure(full.path(), {.kind = medium::tmpfs});
    ASSERT_FALSE(no_room);
    EXPECT_EQ(no_room.error().code, errc::no_space);
}

}  // namespace
}  // namespace holdfast::persist
