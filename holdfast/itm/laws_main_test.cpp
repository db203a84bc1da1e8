// Every law over the algorithm that this program is linked with.
#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/itm/laws_test.hpp>
#include <holdfast/itm/with_barriers_test.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::itm {
namespace {

#ifdef HOLDFAST_ITM_TEST_TRIES_HARDWARE
const bool runs_in_hardware = htm::obstacle_here() == nullptr;
#else
constexpr bool runs_in_hardware = false;
#endif

void expect_each_holds(const std::vector<law>& laws) {
    for (const law& each : laws) {
        if (each.needs_software && runs_in_hardware) continue;
        EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
    }
}

// As long as a thread is the only one with blocks it keeps no reads, and stores home at once: the laws hold for it, and
// for a second one.
void expect_each_holds_for_two(const std::vector<law>& laws) {
    expect_each_holds(laws);
    std::thread([&] { expect_each_holds(laws); }).join();
}

TEST(Laws, HoldForBarriers) { expect_each_holds_for_two(laws_of_barriers()); }
TEST(Laws, HoldForMemory) { expect_each_holds_for_two(laws_of_memory()); }
TEST(Laws, HoldForBlocks) { expect_each_holds_for_two(laws_of_blocks()); }

}  // namespace
}  // namespace holdfast::itm
