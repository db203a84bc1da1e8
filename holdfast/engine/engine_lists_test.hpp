// The engines as lists of types for GoogleTest. A program that tests an engine outside the library names its own list,
// HOLDFAST_TESTED_ENGINES, a header in the form of engines.hpp.
#pragma once

#ifdef HOLDFAST_TESTED_ENGINES
#include HOLDFAST_TESTED_ENGINES
#else
#include <holdfast/engine/engines.hpp>
#endif

#include <gtest/gtest.h>

#include <type_traits>

namespace holdfast::test {

template <class... Lists>
struct joined_lists;
template <>
struct joined_lists<> {
    using type = ::testing::Types<>;
};
template <class... Left>
struct joined_lists<::testing::Types<Left...>> {
    using type = ::testing::Types<Left...>;
};
template <class... Left, class... Right, class... Rest>
struct joined_lists<::testing::Types<Left...>, ::testing::Types<Right...>, Rest...>
    : joined_lists<::testing::Types<Left..., Right...>, Rest...> {};

struct recovers {
    template <class Engine>
    static constexpr bool holds = Engine::description.recovers;
};
struct opens_wraps {
    template <class Engine>
    static constexpr bool holds = Engine::opens_wraps;
};
struct any_engine {
    template <class Engine>
    static constexpr bool holds = true;
};

/// Of the engines behind the first those for which Condition holds.
template <class Condition, class First, class... Engines>
using engines_where = typename joined_lists<
    std::conditional_t<Condition::template holds<Engines>, ::testing::Types<Engines>, ::testing::Types<>>...>::type;

#define HOLDFAST_NEXT(engine) , engine
using all_engines = engines_where<any_engine, void HOLDFAST_ENGINES(HOLDFAST_NEXT)>;
using recovering_engines = engines_where<recovers, void HOLDFAST_ENGINES(HOLDFAST_NEXT)>;
using wrapping_engines = engines_where<opens_wraps, void HOLDFAST_ENGINES(HOLDFAST_NEXT)>;
#undef HOLDFAST_NEXT

}  // namespace holdfast::test
