// cc_htm by hardware that is stood in for, where memory runs out in a transaction.

#include <holdfast/base/test_failing_memory.hpp>

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
extern "C" void* __real_realloc(void* block, std::size_t bytes);
extern "C" void* __wrap_realloc(void* block, std::size_t bytes);
extern "C" void* __wrap_realloc(void* block, std::size_t bytes) {
    return test::must_fail() ? nullptr : __real_realloc(block, bytes);
}

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

/// One allocation of a thread's first transaction fails, of those with new and with realloc.
template <class Engine>
class CcHtmFirstTransaction : public ::testing::Test {};
using software = ::testing::Types<cc_htm, cc_htm_versioned>;
TYPED_TEST_SUITE(CcHtmFirstTransaction, software);

TYPED_TEST(CcHtmFirstTransaction, WithoutMemoryLeavesNoLineLocked) {
    struct lines {
        std::array<basic_field<TypeParam, std::uint64_t>, 8 * 600> words;
    };
    test::test_pool<TypeParam> pool;
    auto& all = *pool->template root<lines>("lines").value();
    const auto store_all = [&] {
        pool->atomically([&] {
                for (std::size_t i = 0; i < all.words.size(); i += 8) all.words[i] = all.words[i] + 1;
            })
            .value();
    };
    std::uint64_t stored = 0;
    bool is_enough = false;
    for (std::int64_t allowed = 0; !is_enough; ++allowed) {
        std::thread([&] {
            const test::failing_memory short_of(allowed, true);
            try {
                store_all();
                ++stored;
                is_enough = !test::failing_memory::was_needed();
            } catch (const std::bad_alloc&) {
            }
        }).join();
        // A line that nobody gave back would be waited for.
        std::thread(store_all).join();
        ++stored;
        ASSERT_EQ(all.words[0].get(), stored) << allowed << " allocations";
    }
    EXPECT_GT(stored, 2u) << "no allocation failed, so that nothing was tested";
}
#endif

}  // namespace
}  // namespace holdfast
