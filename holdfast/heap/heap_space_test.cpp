// Fragmentation, measured: what a heap's pages hold, against what was asked for.
#include <holdfast/heap/heap_test_support.hpp>

#include <cmath>
#include <cstdio>
#include <random>

namespace holdfast::heap_test {
namespace {

double used_bytes(const heap_usage& usage) {
    return static_cast<double>(usage.capacity_bytes - usage.free_pages * page);
}

TEST(HeapSpace, IsAtMostAThirdMoreThanAskedForInBlocksOfOneSizeFrom113BytesToAPage) {
    double worst = 0;
    std::size_t worst_bytes = 0;
    std::vector<std::size_t> sizes = {1, heap_format::small_bytes_max + 1, page};
    for (const std::size_t each : heap_format::block_sizes) {
        sizes.push_back(each);
        if (each != heap_format::small_bytes_max) sizes.push_back(each + 1);
    }
    for (const std::size_t bytes : sizes) {
        heap_in_memory pool(1100);
        test_transaction tx(pool, storing::in_place);
        const std::size_t count = 1024 * page / (bytes + 900);
        for (std::size_t i = 0; i < count; ++i) tx.allocate(bytes);
        tx.commit();
        const heap_usage usage = pool.heap().usage();
        // The last slab of the class may be partly filled.
        const double pages = used_bytes(usage) - heap_format::slab_pages_max * page;
        const double ratio = pages / static_cast<double>(count * bytes);
        if (bytes > 112 && ratio > worst) {
            worst = ratio;
            worst_bytes = bytes;
        }
        ASSERT_LE(pages, static_cast<double>(count * (bytes <= 112 ? bytes + 15 : bytes * 5 / 4)) * 16 / 15) << bytes;
    }
    std::printf("one size: at most %.3f bytes of pages per byte asked for (at %zu bytes)\n", worst, worst_bytes);
    RecordProperty("worst_percent", static_cast<int>(worst * 100));
    EXPECT_LE(worst, 4.0 / 3);
}

struct churn_outcome {
    double ratio_filled;   ///< bytes of pages per live byte asked for, after filling
    double ratio_churned;  ///< after each block was replaced ten times on average
    double ratio_shifted;  ///< after all sizes changed
};

/// Sizes uniform in their logarithm; live blocks replaced at random, then by others of another range.
churn_outcome churn(std::size_t least, std::size_t most, std::size_t shifted_least, std::size_t shifted_most) {
    heap_in_memory pool(4200);
    test_transaction tx(pool, storing::in_place);
    std::minstd_rand random(11);
    struct live_block {
        std::byte* address;
        std::size_t bytes;
    };
    std::vector<live_block> live;
    double asked = 0;
    const auto pick = [&random](std::size_t low, std::size_t high) {
        const auto log_of = [](std::size_t bytes) { return std::log(static_cast<double>(bytes)); };
        std::uniform_real_distribution<> exponents(log_of(low), log_of(high));
        return static_cast<std::size_t>(std::exp(exponents(random)));
    };
    const auto add = [&](std::size_t bytes) {
        live.push_back({tx.allocate(bytes).address, bytes});
        asked += static_cast<double>(bytes);
    };
    const auto replace = [&](std::size_t low, std::size_t high) {
        const std::size_t at = random() % live.size();
        std::swap(live[at], live.back());
        tx.release(live.back().address);
        asked -= static_cast<double>(live.back().bytes);
        live.pop_back();
        add(pick(low, high));
        tx.commit();
    };
    const double target = static_cast<double>(pool.page_count() * page) / 3;
    while (asked < target) add(pick(least, most));
    tx.commit();
    churn_outcome outcome{};
    outcome.ratio_filled = used_bytes(pool.heap().usage()) / asked;
    const std::size_t replacements = live.size() * 10;
    for (std::size_t i = 0; i < replacements; ++i) replace(least, most);
    outcome.ratio_churned = used_bytes(pool.heap().usage()) / asked;
    // Blocks go until a fifth is left, then others come in their place.
    while (asked > target / 5) {
        std::swap(live[random() % live.size()], live.back());
        tx.release(live.back().address);
        asked -= static_cast<double>(live.back().bytes);
        live.pop_back();
        tx.commit();
    }
    while (asked < target) add(pick(shifted_least, shifted_most));
    tx.commit();
    outcome.ratio_shifted = used_bytes(pool.heap().usage()) / asked;
    return outcome;
}

TEST(HeapSpace, UnderRandomReplacementStaysBelowOneAndAHalfBytesOfPagesPerByte) {
    const struct {
        const char* name;
        std::size_t least, most, shifted_least, shifted_most;
    } cases[] = {
        {"16-256, then 300-3000", 16, 256, 300, 3000},
        {"16-3000, then 16-3000", 16, 3000, 16, 3000},
        {"64-60000, then 64-1000", 64, 60'000, 64, 1000},
    };
    for (const auto& each : cases) {
        const churn_outcome got = churn(each.least, each.most, each.shifted_least, each.shifted_most);
        std::printf("%-24s filled %.3f  churned %.3f  shifted %.3f\n", each.name, got.ratio_filled, got.ratio_churned,
                    got.ratio_shifted);
        EXPECT_LE(got.ratio_filled, 1.35);
        EXPECT_LE(got.ratio_churned, 1.5);
        // Blocks never move: slabs that each keep one block of the old sizes cannot serve the new ones.
        EXPECT_LE(got.ratio_shifted, 2.5);
    }
}

}  // namespace
}  // namespace holdfast::heap_test
