#define HOLDFAST_CHECKED 1
#include <holdfast/base/assertion.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Assertion, NamesThePlaceTheConditionAndWhatMustHold) {
    const int lanes = 0;
    EXPECT_DEATH(HOLDFAST_ASSERT_ALWAYS(lanes > 0, "a log has a lane"),
                 "assertion_test.cpp:[0-9]+: assertion failed: a log has a lane \\(lanes > 0\\)");
    EXPECT_DEATH(HOLDFAST_ASSERT(lanes > 0, "a log has a lane"), "a log has a lane");
}

TEST(Assertion, IsSilentWhereItHolds) {
    int evaluated = 0;
    HOLDFAST_ASSERT_ALWAYS(++evaluated == 1, "the condition is evaluated once");
    HOLDFAST_ASSERT(++evaluated == 2, "the condition is evaluated once");
    EXPECT_EQ(evaluated, 2);
}

TEST(Assertion, MayFailWhereATestBreaksTheRuleOnPurpose) {
    detail::assertions_may_fail = true;
    HOLDFAST_ASSERT_ALWAYS(false, "nothing");
    detail::assertions_may_fail = false;
}

}  // namespace
}  // namespace holdfast
