// Counters in a pool of cc_htm, for tests of what it does with the rest of a pool.
#pragma once

#include <holdfast/engine/cc_htm_variants_test.hpp>

#include <holdfast/handle/test_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace holdfast::test {

template <class Engine>
struct counters {
    std::array<basic_field<Engine, std::uint64_t>, 256> values;
};

template <class Engine>
class cc_htm_counters : public ::testing::Test {
protected:
    using object = counters<Engine>;

    static object& root_of(test_pool<Engine>& pool) {
        return *pool->template root<object>("counters").value();
    }
    /// Every transaction adds one to two counters, which so stay equal.
    static void add(test_pool<Engine>& pool, object& all, std::uint64_t i) {
        pool->atomically([&] {
                auto& one = all.values[2 * (i % 128)];
                auto& other = all.values[2 * (i % 128) + 1];
                one = one + 1;
                other = other + 1;
            })
            .value();
    }
    static std::uint64_t sum_if_equal(const object& all) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < all.values.size(); i += 2) {
            EXPECT_EQ(all.values[i].get(), all.values[i + 1].get()) << i;
            sum += all.values[i];
        }
        return sum;
    }
};

}  // namespace holdfast::test
