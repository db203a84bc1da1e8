// The engines of cc_htm: each isolation, with aliases in each place; or, where the tests are compiled once more for
// it, the one whose hardware is stood in for.
#pragma once

#include <holdfast/engine/cc_htm_sets.hpp>
#include <holdfast/engine/cc_htm_table.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#ifdef HOLDFAST_TEST_STAND_IN
#include <holdfast/htm/rtm_run.hpp>
#include <holdfast/htm/stand_in_test.hpp>

namespace holdfast::test {

using stood_in_isolation = htm::basic_rtm<cc_htm_home, htm::test::stand_in>;
inline constinit thread_local stood_in_isolation stood_in_of_this_thread;
using cc_htm_stood_in = basic_cc_htm<stood_in_isolation>;

}  // namespace holdfast::test

namespace holdfast::htm {
template <>
inline holdfast::test::stood_in_isolation& holdfast::test::stood_in_isolation::of_this_thread() noexcept {
    return holdfast::test::stood_in_of_this_thread;
}
}  // namespace holdfast::htm
#endif

namespace holdfast {

#ifdef HOLDFAST_TEST_STAND_IN
using cc_htm_variants = ::testing::Types<test::cc_htm_stood_in>;
#elif defined(HOLDFAST_FEW_PLACES)
// Each isolation and each kind of aliases once.
using cc_htm_variants = ::testing::Types<cc_htm_hardware, cc_htm_table, cc_htm_versioned_sets>;
#else
using cc_htm_variants = ::testing::Types<cc_htm, cc_htm_versioned, cc_htm_hardware, cc_htm_table,
                                         cc_htm_versioned_table, cc_htm_sets, cc_htm_versioned_sets>;
#endif
#ifdef HOLDFAST_FEW_PLACES
using cc_htm_variants_with_aliases = ::testing::Types<cc_htm_table, cc_htm_versioned_sets>;
#else
using cc_htm_variants_with_aliases =
    ::testing::Types<cc_htm_table, cc_htm_versioned_table, cc_htm_sets, cc_htm_versioned_sets>;
#endif

struct cc_htm_variant_names {
    template <class Engine>
    static std::string GetName(int) {
        constexpr const char* places[] = {"", "_table", "_sets"};
        return std::string(Engine::description.isolation) + places[static_cast<unsigned>(Engine::aliases)];
    }
};

/// Whether a function that waits for another thread's transaction waits for ever: it starts a thread, which the
/// processor's transactions cannot, and so it runs alone.
template <class Engine>
constexpr bool waits_alone = std::is_same_v<Engine, cc_htm_hardware>;

}  // namespace holdfast
