// cc_htm by hardware that is stood in for, where memory runs out in a transaction.

// ThreadSanitizer's runtime replaces operator new itself.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_KEEPS_OPERATOR_NEW 1
#endif
#endif
#ifndef HOLDFAST_KEEPS_OPERATOR_NEW
#include <holdfast/base/test_failing_memory.hpp>
#endif

#include <holdfast/engine/cc_htm_variants_test.hpp>
#include <holdfast/handle/test_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <new>
#include <thread>

namespace holdfast {
namespace {

#ifndef HOLDFAST_KEEPS_OPERATOR_NEW
using engine = test::cc_htm_stood_in;

struct numbers {
    std::array<basic_field<engine, std::uint64_t>, 64> values;
};

void add(test::test_pool<engine>& pool, numbers& all, std::uint64_t first, std::uint64_t count) {
    pool->atomically([&] {
            for (std::uint64_t i = first; i < first + count; ++i) all.values[i] = all.values[i] + 1;
        })
        .value();
}

TEST(CcHtmMemory, WhatIsRefusedIsSeenByNobodyAndInNoLaterRecord) {
    constexpr std::int64_t most_allocations = 4;
    bool was_ever_needed = false;
    for (std::int64_t allowed = 0; allowed < most_allocations; ++allowed) {
        test::test_pool<engine> pool;
        auto& all = *pool->root<numbers>("numbers").value();
        for (int i = 0; i < 5; ++i) add(pool, all, 0, 2);
        bool was_refused = false;
        {
            const test::failing_memory short_of(allowed);
            try {
                add(pool, all, 0, 2);
            } catch (const std::bad_alloc&) {
                was_refused = true;
            }
            was_ever_needed = was_ever_needed || test::failing_memory::was_needed();
        }
        const std::uint64_t seen = all.values[0];
        EXPECT_EQ(seen, was_refused ? 5u : 6u) << allowed << " allocations";
        std::thread([&] { add(pool, all, 0, 2); }).join();
        add(pool, all, 2, 1);
        pool.kill();
        auto& found = *pool->root<numbers>("numbers").value();
        EXPECT_EQ(found.values[0].get(), seen + 1) << allowed << " allocations";
        EXPECT_EQ(found.values[1].get(), seen + 1) << allowed << " allocations";
    }
    EXPECT_TRUE(was_ever_needed) << "no allocation failed, so that nothing was tested";
}
#endif

}  // namespace
}  // namespace holdfast
