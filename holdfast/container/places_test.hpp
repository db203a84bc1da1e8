// The engines and levels that the container tests run on.
#pragma once

#include <holdfast/container/test_pool.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace holdfast::test {

/// An engine, and the level at which its pool is made.
template <class Engine, level Durability>
struct place {
    using engine = Engine;
    static constexpr level durability = Durability;
};
#ifdef HOLDFAST_FEW_PLACES
/// Where compiling is dear: one that stores in place and one that does not.
using places = ::testing::Types<place<undo, level::power>, place<redo, level::power>>;
#else
/// undo_paper differs from undo in fences alone.
using places = ::testing::Types<place<volatile_only, level::process>, place<undo, level::power>,
                                place<redo, level::power>, place<softwrap_lat, level::power>,
                                place<softwrap, level::power>>;
#endif

/// Names the cases after engine and level.
struct place_names {
    template <class Place>
    static std::string GetName(int) {
        return std::string(Place::engine::description.name) + "_" + std::string(name_of(Place::durability));
    }
};

/// Closes or kills, by turns of `n`, and opens again. volatile_only has nothing to recover with. Levels differ in what
/// a commit asks of the medium, which a container does not see: one engine's pool has both by turns.
template <class Engine>
void come_back(test_pool<Engine>& files, std::uint64_t n) {
    if constexpr (std::is_same_v<Engine, redo>) files.set_level(n / 2 % 2 == 0 ? level::process : level::power);
    if (n % 2 == 0 || !Engine::description.recovers) {
        files.reopen();
    } else {
        files.kill();
    }
}

/// A fixture with a pool of the place.
template <class Place>
class container_test : public ::testing::Test {
protected:
    basic_pool<typename Place::engine>& pool() { return files.pool(); }
    /// The object of the test's root; the same after the pool was opened again.
    template <class T>
    T& root() {
        return *pool().template root<T>("tested").value();
    }
    void come_back(std::uint64_t n) { test::come_back(files, n); }

    test_pool<typename Place::engine> files{pool_setup{Place::durability, 64 << 20, 0, 0}};
};

/// What a test throws to roll back.
struct change_of_mind {};

}  // namespace holdfast::test
