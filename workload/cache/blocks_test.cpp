// The cache with barriers from the compiler. It is compiled with the flags of atomic blocks, as a program would be.
#include <workload/cache/shared_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/itm/access.hpp>

#include <gtest/gtest.h>

namespace holdfast::workload::test {
namespace {

TEST(CacheInBlocks, AnswersRandomCommandsAsTheModelDoes) {
    cache_root root{};
    run_alone(itm::itm_access(), &root, 100000, holdfast::test::seed_of_run());
}

TEST(CacheInBlocks, EveryThreadFindsWhatItStoredAndEveryCommandIsCounted) {
    cache_root root{};
    run_own_keys(itm::itm_access(), &root, 2, 20000, holdfast::test::seed_of_run());
}

TEST(CacheInBlocks, ThreadsThatEvictEachOthersItemsLeaveASoundCache) {
    cache_root root{};
    run_same_keys(itm::itm_access(), &root, 2, 20000, holdfast::test::seed_of_run());
}

}  // namespace
}  // namespace holdfast::workload::test
