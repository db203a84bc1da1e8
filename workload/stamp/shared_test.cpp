// Every STAMP program on several threads in transactional memory.
#include <workload/stamp/programs.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

#include <string_view>
#include <type_traits>

namespace holdfast::workload {
namespace {

/// Transactions that now and then let other threads run in the middle, so that they meet also on few processors.
template <class Algorithm>
class interrupted_access : public stm::stm_access<Algorithm> {
public:
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        static constinit thread_local std::uint64_t stores = 0;
        stm::stm_access<Algorithm>::store(home, value);
        if (++stores % 61 == 0) std::this_thread::yield();
    }
};

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
        test::run_stamp(interrupted_access<TypeParam>(), set.parameters, 2);
    });
}

}  // namespace
}  // namespace holdfast::workload
