// Every STAMP program on several threads in transactional memory.
#include <workload/interrupted_access_test.hpp>
#include <workload/stamp/programs.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace holdfast::workload {
namespace {

template <class Algorithm>
class SharedStamp : public ::testing::Test {};
using algorithms = ::testing::Types<stm::value, stm::versioned>;
TYPED_TEST_SUITE(SharedStamp, algorithms);

TYPED_TEST(SharedStamp, TwoThreadsHaveTheRightResult) {
    each_stamp_set([](const auto& set) {
        if (set.size != std::string_view("small")) return;
#ifdef HOLDFAST_FEW_PLACES
        if (std::string_view(set.name).ends_with("-high")) return;
#endif
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, set.name);
        test::run_stamp(interrupted_access<TypeParam, 61>(), set.parameters, 2);
    });
}

}  // namespace
}  // namespace holdfast::workload
