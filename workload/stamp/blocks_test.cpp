// Every STAMP program with barriers from the compiler, beside the bare one. It is compiled with the flags of atomic
// blocks, as a program would be.
#include <workload/plain_access.hpp>
#include <workload/stamp/programs.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/itm/access.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace holdfast::workload {
namespace {

TEST(StampBlocks, OneThreadHasTheResultOfTheBareProgram) {
    each_stamp_set([](const auto& set) {
        if (set.size != std::string_view("small")) return;
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, set.name);
        const auto expected = test::run_stamp(plain_access(), set.parameters, 1);
        EXPECT_EQ(test::run_stamp(itm::itm_access(), set.parameters, 1), expected);
    });
}

TEST(StampBlocks, ThreadsHaveARightResult) {
    test::each_shared_run(
        [](const auto& given, unsigned threads) { test::run_stamp(itm::itm_access(), given, threads); });
}

}  // namespace
}  // namespace holdfast::workload
