// One source of structures with barriers from the compiler, with explicit calls, and bare.
#include <holdfast/htm/hybrid.hpp>
#include <holdfast/itm/access.hpp>
#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>
#include <workload/hash.hpp>
#include <workload/plain_access_test.hpp>
#include <workload/rbtree.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace holdfast::itm {
namespace {

using workload::access;
static_assert(access<itm_access>);

struct bare : workload::test::plain_access {
    bare() : plain_access(memory()) {}
    static workload::test::plain_memory& memory() {
        static workload::test::plain_memory shared;
        return shared;
    }
};

template <class Access>
class ItmAccessModels : public testing::Test {};
using explicit_access = stm::stm_access<HOLDFAST_ITM_TEST_ALGORITHM>;
using accesses = testing::Types<itm_access, explicit_access, bare>;
TYPED_TEST_SUITE(ItmAccessModels, accesses);

TYPED_TEST(ItmAccessModels, ATreeIsThatOfTheModel) {
    const TypeParam memory;
    workload::rbtree_root root{};
    const workload::rbtree<TypeParam> tree(memory, &root);
    std::map<std::int64_t, std::int64_t> model;
    std::mt19937 random(5);
    for (int round = 0; round < 3000; ++round) {
        const auto key = static_cast<std::int64_t>(random() % 300);
        const bool insert = random() % 2 == 0;
        bool did = false;
        const bool committed = memory.atomically([&] { did = insert ? tree.insert(key, round) : tree.remove(key); });
        EXPECT_TRUE(committed);
        EXPECT_EQ(did, insert ? model.emplace(key, round).second : model.erase(key) == 1) << "round " << round;
    }
    const auto report = tree.check();
    EXPECT_TRUE(report.ok()) << report.problem;
    EXPECT_EQ(report.count, model.size());
    memory.atomically([&] {
        for (std::int64_t key = 0; key < 300; ++key) tree.remove(key);
    });
    EXPECT_EQ(tree.check().count, 0u);
}

TYPED_TEST(ItmAccessModels, ThreadsMoveBetweenTwoCounters) {
    if (std::is_same_v<TypeParam, bare>) return;
    static long counters[2];
    counters[0] = 1000;
    counters[1] = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([] {
            const TypeParam memory;
            for (int round = 0; round < 2000; ++round)
                memory.atomically([&] {
                    const long here = memory.load(&counters[0]);
                    memory.store(&counters[0], here - 1);
                    memory.store(&counters[1], memory.load(&counters[1]) + 1);
                });
        });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(counters[0], 1000 - 4000);
    EXPECT_EQ(counters[1], 4000);
}

TEST(ItmAccess, EndsTheBlockWhereThereIsNoRoom) {
    const itm_access memory;
    static long word = 1;
    static void* block = nullptr;
    static std::size_t too_much = std::size_t{1} << 60;
    const bool committed = memory.atomically([&] {
        memory.store(&word, 5);
        block = memory.allocate(too_much);
        memory.store(&word, 6);
    });
    EXPECT_FALSE(committed);
    EXPECT_EQ(word, 1);
    EXPECT_EQ(block, nullptr);
    // An inner one ends alone.
    bool inner = true;
    const bool outer = memory.atomically([&] {
        memory.store(&word, 7);
        inner = memory.atomically([&] {
            memory.store(&word, 8);
            block = memory.allocate(too_much);
        });
    });
    EXPECT_TRUE(outer);
    EXPECT_FALSE(inner);
    EXPECT_EQ(word, 7);
}

TEST(ItmAccess, BlocksInsideExplicitTransactionsAreTheirs) {
    using algorithm_access = explicit_access;
    static long words[2];
    words[0] = words[1] = 0;
    const itm_access blocks;
    const algorithm_access calls;
    calls.atomically([&] {
        calls.store(&words[0], 1);
        blocks.atomically([&] { blocks.store(&words[1], words[0] + 1); });
        EXPECT_EQ(calls.load(&words[1]), 2);
        static std::size_t too_much = std::size_t{1} << 60;
        static void* block = nullptr;
        EXPECT_FALSE(blocks.atomically([&] {
            blocks.store(&words[0], 100);
            block = blocks.allocate(too_much);
        }));
        EXPECT_EQ(block, nullptr);
        EXPECT_EQ(calls.load(&words[0]), 1);
    });
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(words[1], 2);
}

}  // namespace
}  // namespace holdfast::itm
