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

TEST(Instructions, of_integers_compute_what_they_do_under_qemu) { expect_same_lines("instructions_integer"); }
TEST(Instructions, that_load_store_and_update_do_what_they_do_under_qemu) { expect_same_lines("instructions_memory"); }
TEST(Instructions, that_branch_or_are_compressed_or_set_registers_of_control_do_what_they_do_under_qemu) {
    expect_same_lines("instructions_flow");
}

}  // namespace
}  // namespace holdfast::sim::test
