#undef HOLDFAST_CHECKED
#undef HOLDFAST_OBSERVED
#include <holdfast/base/assertion.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(UncheckedAssertion, IsNotEvaluated) {
    int evaluated = 0;
    HOLDFAST_ASSERT(++evaluated == 0, "nothing");
    EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace holdfast
