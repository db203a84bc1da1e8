// What this room's tests share: every engine, and a pool for each.
#pragma once

#include <holdfast/engine/engine_lists_test.hpp>
#include <holdfast/handle/test_pool.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/pool_test_support.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace holdfast::test {

/// Before a test looks at homes past the engine.
template <class Engine>
void bring_home(basic_pool<Engine>& pool) {
    if constexpr (Engine::has_shared_aliases) pool.checkpoint().value();
}

/// Forgets a result that a test does not look at.
template <class T>
void ignore(T&&) {}

}  // namespace holdfast::test
