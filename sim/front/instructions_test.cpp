// Programs that execute every instruction on operands that find mistakes, and print what comes out: qemu is the judge.
#include <sim/front/guest_test_support.hpp>

namespace holdfast::sim::test {
namespace {

void expect_same_lines(const std::string& program) {
    const std::string here = output_here(program, {});
    const std::string there = output_there(program, {});
    ASSERT_GT(there.size(), 5000u);
    for (std::size_t begin = 0; begin < there.size();) {
        const std::size_t end = there.find('\n', begin);
        ASSERT_EQ(here.substr(begin, end - begin), there.substr(begin, end - begin));
        begin = end + 1;
    }
    EXPECT_EQ(here.size(), there.size());
}

TEST(Instructions, OfIntegersComputeWhatTheyDoUnderQemu) { expect_same_lines("instructions_integer"); }
TEST(Instructions, ThatLoadStoreAndUpdateDoWhatTheyDoUnderQemu) { expect_same_lines("instructions_memory"); }
TEST(Instructions, ThatBranchOrAreCompressedOrSetRegistersOfControlDoWhatTheyDoUnderQemu) {
    expect_same_lines("instructions_flow");
}

}  // namespace
}  // namespace holdfast::sim::test
