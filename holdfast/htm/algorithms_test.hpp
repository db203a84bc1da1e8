// `rtm` over the stand-in as the algorithm of the tests of stm/, which are compiled once more for it.
#pragma once

#include <holdfast/htm/rtm_run.hpp>
#include <holdfast/htm/stand_in_test.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::htm::test {

using stood_in = basic_rtm<stm::plain_home, stand_in>;
inline constinit thread_local stood_in stood_in_of_this_thread;

}  // namespace holdfast::htm::test

namespace holdfast::htm {
template <>
inline test::stood_in& test::stood_in::of_this_thread() noexcept {
    return test::stood_in_of_this_thread;
}
}  // namespace holdfast::htm

namespace holdfast::stm::test {

static_assert(algorithm<htm::test::stood_in>);

#ifdef HOLDFAST_STAND_IN_ABORTS
// One in four, with every status.
inline const bool stand_in_aborts = (htm::test::stand_in::set({.aborts_one_in = 4}), true);
#endif

using algorithms = ::testing::Types<htm::test::stood_in>;

struct algorithm_names {
    template <class A>
    static std::string GetName(int) {
        return "rtm";
    }
};

}  // namespace holdfast::stm::test
