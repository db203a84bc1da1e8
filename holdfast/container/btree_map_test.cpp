#include <holdfast/container/btree_map.hpp>

#include <holdfast/container/map_model_test.hpp>

#include <functional>
#include <numeric>
#include <vector>

namespace holdfast::test {
namespace {

template <class Place>
class BtreeMap : public container_test<Place> {
public:
    template <class Key, class T>
    using map_of = btree_map<Key, T, typename Place::engine>;
    using text = string<typename Place::engine>;
};
TYPED_TEST_SUITE(BtreeMap, places, place_names);

TYPED_TEST(BtreeMap, BehavesLikeAStandardMapThroughRollbacksAndReopening) {
    using map = typename TestFixture::template map_of<std::int64_t, std::int64_t>;
    map_model_run<TypeParam, map> run(this->files, 1500, 1);
    run.all(24);
}

TYPED_TEST(BtreeMap, OfStringsBehavesLikeAStandardMap) {
    using map = typename TestFixture::template map_of<typename TestFixture::text, typename TestFixture::text>;
    map_model_run<TypeParam, map> run(this->files, 600, 2);
    run.all(12);
}

/// Fills with 0, 2, 4 … and asks for every bound.
TYPED_TEST(BtreeMap, BoundsAndRangesAreThoseOfAStandardMap) {
    using map = typename TestFixture::template map_of<int, int>;
    auto& m = this->template root<map>();
    std::map<int, int> model;
    this->pool().atomically([&] {
        EXPECT_EQ(m.begin(), m.end());
        EXPECT_EQ(m.lower_bound(3), m.end());
        for (int i = 0; i < 1000; i += 2) m.try_emplace((i * 37) % 1000, i);
    }).value();
    for (int i = 0; i < 1000; i += 2) model.emplace((i * 37) % 1000, i);
    for (int key = -1; key <= 1001; ++key) {
        const auto low = m.lower_bound(key);
        const auto model_low = model.lower_bound(key);
        ASSERT_EQ(low == m.end(), model_low == model.end()) << key;
        if (low != m.end()) {
            ASSERT_EQ(low->first.get(), model_low->first);
        }
        const auto high = m.upper_bound(key);
        const auto model_high = model.upper_bound(key);
        ASSERT_EQ(high == m.end(), model_high == model.end()) << key;
        if (high != m.end()) {
            ASSERT_EQ(high->first.get(), model_high->first);
        }
        ASSERT_EQ(m.equal_range(key).first, low);
        ASSERT_EQ(m.equal_range(key).second, high);
    }
    std::vector<int> down;
    for (auto at = m.rbegin(); at != m.rend(); ++at) down.push_back(at->first);
    std::vector<int> model_down;
    for (auto at = model.rbegin(); at != model.rend(); ++at) model_down.push_back(at->first);
    EXPECT_EQ(down, model_down);
}

TYPED_TEST(BtreeMap, ErasesRanges) {
    using map = typename TestFixture::template map_of<int, int>;
    auto& m = this->template root<map>();
    for (int i = 0; i < 400; ++i) m.try_emplace(i, i);
    const auto at = m.erase(m.lower_bound(100), m.lower_bound(300));
    EXPECT_EQ(at->first.get(), 300);
    EXPECT_EQ(m.size(), 200u);
    EXPECT_TRUE(m.check().has_value());
    EXPECT_EQ(m.erase(m.find(300), m.end()), m.end());
    EXPECT_EQ(m.size(), 100u);
    while (m.erase_some(7) != 0) ASSERT_TRUE(m.check().has_value());
    EXPECT_TRUE(this->files.audit(m));
}

/// Ascending, descending and alternating, up and down again, looking at every step.
TYPED_TEST(BtreeMap, KeepsItsInvariantsInEveryOrder) {
    using map = typename TestFixture::template map_of<int, int>;
    auto& m = this->template root<map>();
    constexpr int count = 600;
    const auto key_of = [](int order, int i) {
        if (order == 0) return i;
        if (order == 1) return count - i;
        return i % 2 == 0 ? i : 2 * count - i;
    };
    for (int order = 0; order < 3; ++order) {
        for (int back = 0; back < 3; ++back) {
            this->pool().atomically([&] {
                for (int i = 0; i < count; ++i) m.try_emplace(key_of(order, i), i);
                const auto grown = m.check();
                EXPECT_TRUE(grown.has_value()) << grown.error().text();
                for (int i = 0; i < count; ++i) {
                    EXPECT_EQ(m.erase(key_of(order, back == 1 ? count - 1 - i : back == 2 ? (i * 7) % count : i)), 1u);
                    if (i % 37 != 0) continue;
                    const auto checked = m.check();
                    ASSERT_TRUE(checked.has_value()) << checked.error().text() << " at " << i;
                }
            }).value();
            EXPECT_TRUE(this->files.audit(m));
        }
    }
}

TYPED_TEST(BtreeMap, LeavesFullNodesBehindKeysInOrder) {
    using map = typename TestFixture::template map_of<std::int64_t, std::int64_t>;
    auto& m = this->template root<map>();
    constexpr std::int64_t count = 1500;
    this->pool().atomically([&] {
        for (std::int64_t i = 0; i < count; ++i) m.try_emplace(i, i);
    }).value();
    std::uint64_t blocks = 0;
    m.visit_blocks([&](const void*) { ++blocks; });
    EXPECT_LE(blocks, count / 15 + count / 15 / 10);
}

TYPED_TEST(BtreeMap, OfSortedEntriesHasFullLeavesAndAllInvariants) {
    using map = typename TestFixture::template map_of<typename TestFixture::text, std::uint64_t>;
    auto& m = this->template root<map>();
    const auto key = [](std::size_t i) { return "a key with so many letters: " + std::to_string(100000 + i); };
    for (const std::size_t count : {0u, 1u, 2u, 15u, 16u, 17u, 15u * 16, 15u * 16 + 1, 15u * 17, 15u * 256 + 1, 31u}) {
        SCOPED_TRACE(count);
        std::vector<std::pair<std::string, std::uint64_t>> entries;
        for (std::size_t i = 0; i < count; ++i) entries.emplace_back(key(i), i);
        m.assign_sorted(entries.begin(), entries.end());
        ASSERT_EQ(m.size(), count);
        const auto checked = m.check();
        ASSERT_TRUE(checked.has_value()) << checked.error().text();
        ASSERT_TRUE(this->files.audit(m));
        std::uint64_t blocks = 0;
        m.visit_blocks([&](const void*) { ++blocks; });
        EXPECT_LE(blocks, count + 2 * (count / 15 + 2) + count / 200) << "a block for each key, few nodes";
        for (const auto& [k, v] : entries) ASSERT_EQ(m.at(k).get(), v);
        for (std::size_t i = 0; i < count; i += 3) m.erase(key(i));
        m.try_emplace("above", 1u);
        m.try_emplace(key(count), 1u);
        ASSERT_TRUE(m.check().has_value());
    }
    const std::size_t before = m.size();
    const std::vector<std::pair<std::string, int>> twice{{"a", 1}, {"a", 2}};
    const auto refused = this->pool().atomically([&] { m.assign_sorted(twice.begin(), twice.end()); });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::misuse);
    EXPECT_EQ(m.size(), before);
    EXPECT_TRUE(this->files.audit(m));
}

TYPED_TEST(BtreeMap, IsOrderedByItsThirdParameter) {
    using engine = typename TypeParam::engine;
    using downwards = btree_map<string<engine>, int, engine, std::greater<>>;
    auto& m = this->template root<downwards>();
    std::map<std::string, int, std::greater<>> model;
    for (int i = 0; i < 400; ++i) {
        const std::string key = std::to_string(i * 37 % 400);
        m.try_emplace(key, i);
        model.emplace(key, i);
        if (i % 5 != 0) continue;
        EXPECT_EQ(m.erase(std::to_string(i)), model.erase(std::to_string(i)));
    }
    std::vector<std::string> keys;
    for (const auto& [key, value] : std::as_const(m)) keys.push_back(key);
    std::vector<std::string> model_keys;
    for (const auto& [key, value] : model) model_keys.push_back(key);
    EXPECT_EQ(keys, model_keys);
    EXPECT_EQ(m.lower_bound("2")->first, model.lower_bound("2")->first);
    EXPECT_TRUE(m.check().has_value());
    // The same bytes in the order of another type.
    const auto& upwards = reinterpret_cast<const btree_map<string<engine>, int, engine>&>(m);
    const auto checked = upwards.check();
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, errc::corrupt);
}

TYPED_TEST(BtreeMap, OfPairsIsOrderedAsTheyAre) {
    using pair = std::pair<int, std::pair<char, long>>;
    using map = typename TestFixture::template map_of<pair, pair>;
    auto& m = this->template root<map>();
    std::map<pair, pair> model;
    for (int i = 0; i < 300; ++i) {
        const pair key(i * 7 % 13, {static_cast<char>(i % 5), -i});
        m.insert_or_assign(key, pair(i, {'v', 0}));
        model.insert_or_assign(key, pair(i, {'v', 0}));
    }
    this->come_back(1);
    std::map<pair, pair> found;
    for (const auto& [key, value] : this->template root<map>()) found.emplace(key.get(), value.get());
    if (TypeParam::engine::description.recovers) {
        EXPECT_EQ(found, model);
    }
    EXPECT_TRUE(this->template root<map>().check().has_value());
}

TEST(BtreeMapTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using map = btree_map<int, long, redo>;
    static_assert(sizeof(map) == 24);
    static_assert(std::bidirectional_iterator<map::iterator> && std::bidirectional_iterator<map::const_iterator>);
    static_assert(std::ranges::bidirectional_range<map> && std::convertible_to<map::iterator, map::const_iterator>);
    static_assert(!std::convertible_to<map::const_iterator, map::iterator>);
    static_assert(!std::is_copy_constructible_v<map> && !std::is_copy_assignable_v<map>);
}

TEST(BtreeMapOrder, OfSlotsIsAPermutationThroughEveryChange) {
    workload::random numbers(5);
    for (int run = 0; run < 200; ++run) {
        detail::slot_order order = detail::slot_order::first(0);
        std::vector<unsigned> model;
        for (int i = 0; i < 100; ++i) {
            const bool insert = model.empty() || (model.size() < 15 && numbers.below(2) == 0);
            const auto at = static_cast<unsigned>(numbers.below(model.size() + (insert ? 1 : 0)));
            if (insert) {
                const unsigned slot = order.insert(at);
                model.insert(model.begin() + at, slot);
            } else {
                ASSERT_EQ(order.erase(at), model[at]);
                model.erase(model.begin() + at);
            }
            ASSERT_TRUE(order.valid());
            ASSERT_EQ(order.count(), model.size());
            for (unsigned p = 0; p < model.size(); ++p) ASSERT_EQ(order.slot(p), model[p]);
        }
    }
}

TEST(BtreeMapCheck, FindsKeysOutOfOrder) {
    test_pool<redo> files{for_containers};
    using map = btree_map<int, int, redo>;
    map& m = *files.pool().root<map>("m").value();
    for (int i = 0; i < 100; ++i) m.try_emplace(i, i);
    ASSERT_TRUE(m.check().has_value());
    files.pool().atomically([&] { const_cast<redo::field<int>&>(m.find(50)->first) = 70; }).value();
    const auto checked = m.check();
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, errc::corrupt);
}

struct by_last_digit {
    int number;
};

}  // namespace
}  // namespace holdfast::test

template <>
struct holdfast::key_less<holdfast::test::by_last_digit> {
    bool operator()(const holdfast::test::by_last_digit& a, const holdfast::test::by_last_digit& b) const {
        return std::pair(a.number % 10, a.number) < std::pair(b.number % 10, b.number);
    }
};

namespace holdfast::test {
namespace {

TEST(BtreeMapOrder, IsThatOfKeyLess) {
    test_pool<redo> files{for_containers};
    auto& m = *files.pool().root<btree_map<by_last_digit, int, redo>>("m").value();
    for (int i = 0; i < 40; ++i) m.try_emplace(by_last_digit{i}, i);
    EXPECT_TRUE(m.check().has_value());
    EXPECT_EQ(m.begin()->first.get().number, 0);
    EXPECT_EQ(std::next(m.begin())->first.get().number, 10);
    EXPECT_EQ(m.rbegin()->first.get().number, 39);
}

}  // namespace
}  // namespace holdfast::test
