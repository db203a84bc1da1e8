// Every law over the algorithm that this program is linked with.
#include <holdfast/itm/laws_test.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::itm {
namespace {

TEST(Laws, HoldForBlocks) {
    for (const law& each : laws_of_blocks()) EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
}
TEST(Laws, HoldForBarriers) {
    for (const law& each : laws_of_barriers()) EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
}
TEST(Laws, HoldForMemory) {
    for (const law& each : laws_of_memory()) EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
}

}  // namespace
}  // namespace holdfast::itm
