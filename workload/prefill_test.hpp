// What every map's prefill must leave behind.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace holdfast::workload {

/// Requires: `map` is empty.
template <class Map>
void prefill_and_check(const Map& map) {
    constexpr std::uint64_t first = 7, count = 20'000;
    ASSERT_TRUE(map.prefill(first, count));
    const check_report report = map.check();
    ASSERT_TRUE(report.ok()) << report.problem;
    ASSERT_EQ(report.count, count);
    for (std::uint64_t i = first; i < first + count; ++i) {
        std::int64_t value = 0;
        ASSERT_TRUE(map.get(scattered_key(i), value));
        ASSERT_EQ(value, scattered_key(i));
    }
}

}  // namespace holdfast::workload
