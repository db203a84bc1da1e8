#include <workload/btree.hpp>
#include <workload/hash.hpp>
#include <workload/places_test.hpp>
#include <workload/prefill_test.hpp>
#include <workload/random.hpp>
#include <workload/rbtree.hpp>
#include <workload/sps.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace holdfast::workload {
namespace {

template <class Place>
class Workload : public ::testing::Test {
protected:
    Place place;
};

using places = ::testing::Types<plain_place, pool_place<volatile_only>, pool_place<redo>>;
TYPED_TEST_SUITE(Workload, places);

/// Random operations on a map workload and on a std::map, in transactions of several.
template <class Access, class Map>
void compare_with_model(const Access& access, const Map& map, std::uint64_t key_range, int transactions) {
    std::map<std::int64_t, std::int64_t> model;
    random numbers(key_range);
    for (int i = 0; i < transactions; ++i) {
        // Grow, then shrink, so that both splits and merges reach the top.
        const std::uint64_t bias = (i / 500) % 2 == 0 ? 6 : 2;
        ASSERT_TRUE(access.atomically([&] {
            for (std::uint64_t n = numbers.below(4); n <= 4; ++n) {
                const auto key = static_cast<std::int64_t>(numbers.below(key_range)) - 5;
                const auto value = static_cast<std::int64_t>(numbers.next());
                const std::uint64_t what = numbers.below(10);
                if (what < bias) {
                    EXPECT_EQ(map.insert(key, value), model.emplace(key, value).second);
                } else if (what < 8) {
                    EXPECT_EQ(map.remove(key), model.erase(key) == 1);
                } else if (what == 8) {
                    const auto found = model.find(key);
                    EXPECT_EQ(map.update(key, value), found != model.end());
                    if (found != model.end()) found->second = value;
                }
                std::int64_t got = 0;
                ASSERT_EQ(map.get(key, got), model.contains(key));
                if (model.contains(key)) {
                    ASSERT_EQ(got, model[key]);
                }
            }
        }));
        if (i % 16 != 0) continue;
        const check_report report = map.check();
        ASSERT_TRUE(report.ok()) << report.problem << " after transaction " << i;
        ASSERT_EQ(report.count, model.size());
    }
    for (const auto& [key, value] : model) {
        std::int64_t got = 0;
        ASSERT_TRUE(map.get(key, got));
        ASSERT_EQ(got, value);
    }
    while (!model.empty()) {
        ASSERT_TRUE(access.atomically([&] { EXPECT_TRUE(map.remove(model.begin()->first)); }));
        model.erase(model.begin());
    }
    ASSERT_TRUE(map.check().ok());
    ASSERT_EQ(map.count(), 0u);
}

template <class Place, class Root, class Map>
void try_map(Place& place, Root* root, const Map& map, std::uint64_t key_range) {
    static_cast<void>(root);
    const std::int64_t before = place.live_blocks();
    compare_with_model(place.access(), map, key_range, 2000);
    EXPECT_EQ(place.live_blocks(), before) << "blocks were lost";
}

TYPED_TEST(Workload, HashBehavesLikeAMap) {
    auto* root = this->place.template make_root<hash_root>();
    const hash_table map(this->place.access(), root);
    ASSERT_TRUE(map.create(100));
    try_map(this->place, root, map, 700);
}

TYPED_TEST(Workload, BtreeBehavesLikeAMap) {
    auto* root = this->place.template make_root<btree_root>();
    try_map(this->place, root, btree(this->place.access(), root), 3000);
}

TYPED_TEST(Workload, RbtreeBehavesLikeAMap) {
    auto* root = this->place.template make_root<rbtree_root>();
    try_map(this->place, root, rbtree(this->place.access(), root), 1000);
}

TYPED_TEST(Workload, PrefillInsertsAllKeys) {
    const auto access = this->place.access();
    auto* hash = this->place.template make_root<hash_root>();
    ASSERT_TRUE(hash_table(access, hash).create(1 << 14));
    prefill_and_check(hash_table(access, hash));
}

TYPED_TEST(Workload, BtreePrefillInsertsAllKeys) {
    prefill_and_check(btree(this->place.access(), this->place.template make_root<btree_root>()));
}

TYPED_TEST(Workload, RbtreePrefillInsertsAllKeys) {
    prefill_and_check(rbtree(this->place.access(), this->place.template make_root<rbtree_root>()));
}

TYPED_TEST(Workload, SwapsKeepAPermutation) {
    auto* root = this->place.template make_root<sps_root>();
    const auto access = this->place.access();
    const sps array(access, root);
    ASSERT_TRUE(array.create(10000));
    random numbers(3);
    for (const std::uint64_t swaps : {1u, 8u, 64u, 150u}) {
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(access.atomically([&] { array.swap_random(numbers, swaps); }));
        }
    }
    const check_report report = array.check();
    EXPECT_TRUE(report.ok()) << report.problem;
    EXPECT_EQ(report.count, 10000u);
    ASSERT_TRUE(access.atomically([&] { access.store(root->entries, access.load(root->entries + 1)); }));
    EXPECT_FALSE(array.check().ok()) << "two equal entries are no permutation";
}

TEST(Rbtree, VisitsItsEntriesInTheOrderOfTheirKeys) {
    test::plain_memory memory;
    rbtree_uncounted_root root{};
    const rbtree<test::plain_access, rbtree_uncounted_root> tree(test::plain_access(memory), &root);
    std::map<std::int64_t, std::int64_t> model, visited;
    tree.each([&](std::int64_t, std::int64_t) { FAIL() << "there is none"; });
    random numbers(6);
    for (int i = 0; i < 500; ++i) {
        const auto key = static_cast<std::int64_t>(numbers.below(1000)) - 500;
        if (tree.insert(key, i)) model.emplace(key, i);
        const auto other = static_cast<std::int64_t>(numbers.below(1000)) - 500;
        EXPECT_EQ(tree.remove(other), model.erase(other) == 1);
        visited.clear();
        tree.each([&](std::int64_t at, std::int64_t value) {
            EXPECT_TRUE(visited.empty() || visited.rbegin()->first < at);
            visited.emplace(at, value);
        });
        ASSERT_EQ(visited, model);
    }
    for (const auto& each : model) tree.remove(each.first);
}

TEST(Random, PermutesAllNumbersOfSomeBits) {
    for (const std::uint64_t bits : {1u, 2u, 7u, 12u}) {
        const permutation order(bits, bits), other(bits + 1, bits);
        std::vector<bool> seen(std::size_t{1} << bits);
        std::size_t moved = 0;
        for (std::uint64_t i = 0; i < seen.size(); ++i) {
            ASSERT_LT(order(i), seen.size());
            ASSERT_FALSE(seen[order(i)]);
            seen[order(i)] = true;
            moved += order(i) != other(i) ? 1u : 0u;
        }
        if (bits > 4) {
            EXPECT_GT(moved, seen.size() / 2) << "another seed gives another order";
        }
    }
}

TEST(Random, GivesTheSameNumbersEverywhere) {
    random numbers(1);
    EXPECT_EQ(numbers.next(), 0xb3f2af6d0fc710c5ull);
    for (int i = 0; i < 1000; ++i) EXPECT_LT(numbers.below(7), 7u);
}

}  // namespace
}  // namespace holdfast::workload
