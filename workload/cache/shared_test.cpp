// Several threads with one cache, in transactional memory.
#include <workload/cache/shared_test.hpp>
#include <workload/interrupted_access_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

namespace holdfast::workload::test {
namespace {

template <class Algorithm>
class SharedCache : public ::testing::Test {
protected:
    interrupted_access<Algorithm, 7> memory;
    cache_root root{};
    std::uint64_t seed = holdfast::test::seed_of_run();
};
using algorithms = ::testing::Types<stm::value, stm::versioned>;
TYPED_TEST_SUITE(SharedCache, algorithms);

TYPED_TEST(SharedCache, EveryThreadFindsWhatItStoredAndEveryCommandIsCounted) {
    run_own_keys(this->memory, &this->root, 3, 3000, this->seed);
}

TYPED_TEST(SharedCache, ThreadsThatEvictEachOthersItemsLeaveASoundCache) {
    run_same_keys(this->memory, &this->root, 3, 3000, this->seed);
}

}  // namespace
}  // namespace holdfast::workload::test
