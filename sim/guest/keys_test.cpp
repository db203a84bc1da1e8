#include <sim/guest/keys.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace holdfast::guest {
namespace {

/// How often ranks first … last are drawn of `count`, by definition.
double share(std::uint64_t first, std::uint64_t last, std::uint64_t count) {
    double sum = 0, all = 0;
    for (std::uint64_t rank = 1; rank <= count; ++rank) {
        const double weight = std::pow(static_cast<double>(rank), -0.99);
        all += weight;
        if (rank >= first && rank <= last) sum += weight;
    }
    return sum / all;
}

TEST(ZipfKeys, AreAsFrequentAsTheirRankSays) {
    constexpr std::uint64_t count = 100'000, draws = 2'000'000;
    zipf_numbers numbers(7, count);
    std::vector<std::uint64_t> drawn(count + 1);
    for (std::uint64_t i = 0; i < draws; ++i) {
        const std::uint64_t rank = numbers.rank();
        ASSERT_GE(rank, 1u);
        ASSERT_LE(rank, count);
        ++drawn[rank];
    }
    for (const auto& [first, last] : {std::pair{1u, 1u}, {2u, 2u}, {3u, 9u}, {10u, 99u}, {100u, 9'999u},
                                      {10'000u, 100'000u}}) {
        std::uint64_t found = 0;
        for (std::uint64_t rank = first; rank <= last; ++rank) found += drawn[rank];
        const double expected = share(first, last, count) * static_cast<double>(draws);
        EXPECT_NEAR(static_cast<double>(found), expected, 0.01 * expected + 5 * std::sqrt(expected))
            << first << " to " << last;
    }
}

TEST(ZipfKeys, AreAllBelowTheirNumberHoweverFewThereAre) {
    for (const std::uint64_t count : {1u, 2u, 15u, 16u, 17u, 1000u}) {
        zipf_numbers numbers(count, count);
        std::vector<bool> seen(count + 1);
        for (std::uint64_t i = 0; i < 40 * count; ++i) {
            EXPECT_LT(numbers.below(count), count);
            const std::uint64_t rank = numbers.rank();
            ASSERT_TRUE(rank >= 1 && rank <= count) << rank << " of " << count;
            seen[rank] = true;
        }
        EXPECT_TRUE(seen[1]);
        EXPECT_TRUE(count > 17 || seen[count]) << count;
    }
}

}  // namespace
}  // namespace holdfast::guest
