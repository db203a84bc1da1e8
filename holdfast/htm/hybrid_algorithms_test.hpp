// `hybrid` over the stand-in as the algorithm of the tests of stm/, which are compiled once more for it.
#pragma once

#include <holdfast/htm/hybrid_run.hpp>
#include <holdfast/htm/hybrid_stand_in_test.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::stm::test {

static_assert(algorithm<htm::test::hybrid_stood_in>);

#ifdef HOLDFAST_STAND_IN_ABORTS
// One in so many, half of which go on in software.
inline const bool hybrid_aborts =
    (htm::test::stand_in::set({.aborts_one_in = HOLDFAST_STAND_IN_ABORTS}), true);
#endif

using algorithms = ::testing::Types<htm::test::hybrid_stood_in>;

struct algorithm_names {
    template <class A>
    static std::string GetName(int) {
        return "hybrid";
    }
};

}  // namespace holdfast::stm::test
