// As instructions_test.cpp; of its own because it takes longer.
#include <sim/front/guest_test_support.hpp>

namespace holdfast::sim::test {
namespace {

TEST(Instructions, OfFloatingPointComputeAndRaiseWhatTheyDoUnderQemuInEveryMode) {
    const std::string here = output_here("instructions_floating", {});
    const std::string there = output_there("instructions_floating", {});
    ASSERT_GT(there.size(), 1000000u);
    for (std::size_t begin = 0; begin < there.size();) {
        const std::size_t end = there.find('\n', begin);
        ASSERT_EQ(here.substr(begin, end - begin), there.substr(begin, end - begin));
        begin = end + 1;
    }
}

}  // namespace
}  // namespace holdfast::sim::test
