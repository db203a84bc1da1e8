#include <workload/hash.hpp>
#include <workload/places_test.hpp>
#include <workload/random.hpp>
#include <workload/rbtree.hpp>
#include <workload/sets.hpp>

#include <holdfast/engine/redo.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace holdfast::workload {
namespace {

template <class Place>
class Sets : public ::testing::Test {
protected:
    /// Random operations on a set and on a std::set, each in a transaction, until both are empty again.
    template <class Set>
    void compare_with_model(const Set& set) {
        const std::int64_t blocks = place.live_blocks();
        std::set<std::int64_t> model;
        random numbers(1);
        for (int i = 0; i < 4000; ++i) {
            const auto key = static_cast<std::int64_t>(numbers.below(200)) - 100;
            const bool grows = i < 2000;
            bool done = false;
            if (numbers.below(3) == 0) {
                ASSERT_TRUE(place.access().atomically([&] { done = set.contains(key); }));
                ASSERT_EQ(done, model.contains(key));
            } else if ((numbers.below(4) != 0) == grows) {
                ASSERT_TRUE(place.access().atomically([&] { done = set.insert(key); }));
                ASSERT_EQ(done, model.insert(key).second);
            } else {
                ASSERT_TRUE(place.access().atomically([&] { done = set.remove(key); }));
                ASSERT_EQ(done, model.erase(key) == 1);
            }
            const check_report report = set.check();
            ASSERT_TRUE(report.ok()) << report.problem;
            ASSERT_EQ(report.count, model.size());
        }
        for (const std::int64_t key : model)
            ASSERT_TRUE(place.access().atomically([&] { EXPECT_TRUE(set.remove(key)); }));
        EXPECT_EQ(set.check().count, 0u);
        EXPECT_EQ(place.live_blocks(), blocks) << "nodes were lost";
    }

    Place place;
};

using set_places = ::testing::Types<plain_place, pool_place<redo>>;
TYPED_TEST_SUITE(Sets, set_places);

TYPED_TEST(Sets, ASortedListBehavesLikeASet) {
    auto* root = this->place.template make_root<list_set_root>();
    this->compare_with_model(list_set(this->place.access(), root));
}

TYPED_TEST(Sets, AHashTableOfListsBehavesLikeASet) {
    using buckets = std::array<list_set_root, 16>;
    auto* root = this->place.template make_root<buckets>();
    this->compare_with_model(hash_set(this->place.access(), root->data(), root->size()));
}

/// The map's operations as a set's.
template <class Map>
struct map_as_set {
    Map map;
    bool insert(std::int64_t key) const { return map.insert(key, key); }
    bool remove(std::int64_t key) const { return map.remove(key); }
    bool contains(std::int64_t key) const {
        std::int64_t value = 0;
        return map.get(key, value) && value == key;
    }
    check_report check() const { return map.check(); }
};

TYPED_TEST(Sets, ATreeWithoutACountBehavesLikeASet) {
    auto* root = this->place.template make_root<rbtree_uncounted_root>();
    this->compare_with_model(map_as_set<rbtree<decltype(this->place.access()), rbtree_uncounted_root>>{
        {this->place.access(), root}});
}

TYPED_TEST(Sets, AHashTableWithoutACountBehavesLikeASet) {
    auto* root = this->place.template make_root<hash_uncounted_root>();
    const hash_table<decltype(this->place.access()), hash_uncounted_root> table(this->place.access(), root);
    const std::int64_t blocks = this->place.live_blocks();
    ASSERT_TRUE(table.create(16));
    this->compare_with_model(map_as_set<hash_table<decltype(this->place.access()), hash_uncounted_root>>{table});
    std::set<std::int64_t> seen;
    ASSERT_TRUE(this->place.access().atomically([&] {
        for (std::int64_t key = 0; key < 100; ++key) table.insert(key, -key);
    }));
    table.each(0, table.buckets(), [&](std::int64_t key, std::int64_t value) {
        EXPECT_EQ(value, -key);
        EXPECT_TRUE(seen.insert(key).second);
    });
    EXPECT_EQ(seen.size(), 100u);
    ASSERT_TRUE(this->place.access().atomically([&] {
        table.clear(0, table.buckets());
        table.dispose();
    }));
    EXPECT_EQ(this->place.live_blocks(), blocks) << "the table was lost";
}

TYPED_TEST(Sets, TheFirstOfASortedListIsTheSmallest) {
    auto* root = this->place.template make_root<list_set_root>();
    const list_set set(this->place.access(), root);
    const std::int64_t blocks = this->place.live_blocks();
    for (const std::int64_t key : {5, -3, 8, 1})
        ASSERT_TRUE(this->place.access().atomically([&] { EXPECT_TRUE(set.insert(key)); }));
    std::int64_t key = 0;
    for (const std::int64_t expected : {-3, 1, 5, 8}) {
        ASSERT_TRUE(this->place.access().atomically([&] { EXPECT_TRUE(set.take_first(key)); }));
        EXPECT_EQ(key, expected);
    }
    ASSERT_TRUE(this->place.access().atomically([&] { EXPECT_FALSE(set.take_first(key)); }));
    EXPECT_EQ(this->place.live_blocks(), blocks) << "nodes were lost";
}

TEST(ListSet, ACheckFindsKeysOutOfOrderAndCycles) {
    set_node second{1, nullptr}, first{2, &second};
    list_set_root root{&first};
    test::plain_memory memory;
    const list_set set(test::plain_access(memory), &root);
    EXPECT_FALSE(set.check().ok());
    second = {3, &first};
    EXPECT_FALSE(set.check().ok());
    second = {3, nullptr};
    EXPECT_TRUE(set.check().ok());
}

}  // namespace
}  // namespace holdfast::workload
