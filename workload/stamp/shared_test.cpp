// Every STAMP program on several threads in transactional memory.
#include <workload/interrupted_access_test.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

namespace holdfast::workload {
namespace {

template <class Algorithm>
class SharedStamp : public ::testing::Test {};
using algorithms = ::testing::Types<stm::value, stm::versioned>;
TYPED_TEST_SUITE(SharedStamp, algorithms);

TYPED_TEST(SharedStamp, ThreadsHaveARightResult) {
    using access = interrupted_access<TypeParam, 61>;
    test::each_shared_run([](const auto& given, unsigned threads) {
        // More threads than processors are interrupted anyhow, and the largest sets would take long.
        access::spared = threads == 2 ? 0 : 99;
        test::run_stamp(access(), given, threads);
    });
}

}  // namespace
}  // namespace holdfast::workload
