#include <holdfast/container/hash_map.hpp>

#include <holdfast/container/map_model_test.hpp>

namespace holdfast::test {
namespace {

template <class Place>
class HashMap : public container_test<Place> {
public:
    template <class Key, class T>
    using map_of = hash_map<Key, T, typename Place::engine>;
    using text = string<typename Place::engine>;
};
TYPED_TEST_SUITE(HashMap, places, place_names);

TYPED_TEST(HashMap, BehavesLikeAStandardMapThroughRollbacksAndReopening) {
    using map = typename TestFixture::template map_of<std::int64_t, std::int64_t>;
    map_model_run<TypeParam, map> run(this->files, 700, 1);
    run.all(24);
}

TYPED_TEST(HashMap, OfStringsBehavesLikeAStandardMap) {
    using map = typename TestFixture::template map_of<typename TestFixture::text, typename TestFixture::text>;
    map_model_run<TypeParam, map> run(this->files, 300, 2);
    run.all(12);
}

TYPED_TEST(HashMap, ShrinksWithItsContents) {
    using map = typename TestFixture::template map_of<int, int>;
    auto& m = this->template root<map>();
    this->pool().atomically([&] {
        for (int i = 0; i < 2000; ++i) m.try_emplace(i, i);
    }).value();
    const std::size_t most = m.bucket_count();
    EXPECT_GE(most * 2, 2000u);
    this->pool().atomically([&] {
        for (int i = 0; i < 1990; ++i) m.erase(i);
    }).value();
    EXPECT_LT(m.bucket_count(), most / 8);
    ASSERT_TRUE(m.check().has_value());
    EXPECT_TRUE(this->files.audit(m));
}

TYPED_TEST(HashMap, ErasingAllByIteratorMeetsEveryEntryOnce) {
    using map = typename TestFixture::template map_of<int, int>;
    auto& m = this->template root<map>();
    this->pool().atomically([&] {
        for (int i = 0; i < 500; ++i) m.try_emplace(i, i);
        int met = 0;
        for (auto at = m.begin(); at != m.end(); ++met) at = m.erase(at);
        EXPECT_EQ(met, 500);
    }).value();
    EXPECT_TRUE(m.empty());
    EXPECT_TRUE(m.check().has_value());
    EXPECT_TRUE(this->files.audit(m));
}

TYPED_TEST(HashMap, ThatReservedSplitsNothingUntilItIsFull) {
    using map = typename TestFixture::template map_of<std::int64_t, std::int64_t>;
    auto& m = this->template root<map>();
    for (const std::size_t room : {1u, 100u, 3000u, 5000u}) {
        SCOPED_TRACE(room);
        m.reserve(room);
        const std::size_t buckets = m.bucket_count();
        EXPECT_GE(2 * buckets, room);
        for (auto i = static_cast<std::int64_t>(m.size()); i < static_cast<std::int64_t>(room); ++i) {
            m.try_emplace(i, i);
            if (i % 3 == 0) m.reserve(room / 2);
        }
        EXPECT_EQ(m.bucket_count(), buckets);
        ASSERT_TRUE(m.check().has_value());
        ASSERT_TRUE(this->files.audit(m));
        this->come_back(room);
    }
    auto& found = this->template root<map>();
    for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(found.at(i).get(), i);
    const auto refused = this->pool().atomically([&] { found.reserve(~std::size_t{0}); });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::out_of_space);
}

TYPED_TEST(HashMap, OfPairsFindsThem) {
    using pair = std::pair<int, char>;
    using map = typename TestFixture::template map_of<pair, std::pair<pair, double>>;
    auto& m = this->template root<map>();
    for (int i = 0; i < 200; ++i) m.try_emplace({i, 'a'}, pair(i, 'b'), 0.5);
    for (int i = 0; i < 200; ++i) ASSERT_EQ(m.at({i, 'a'}).get(), std::pair(pair(i, 'b'), 0.5));
    EXPECT_FALSE(m.contains({5, 'b'}));
    EXPECT_EQ(m.erase({5, 'a'}), 1u);
    EXPECT_TRUE(m.check().has_value());
}

TEST(HashMapTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using map = hash_map<int, long, redo>;
    static_assert(sizeof(map) == 24);
    static_assert(std::forward_iterator<map::iterator> && std::forward_iterator<map::const_iterator>);
    static_assert(std::ranges::forward_range<map> && std::convertible_to<map::iterator, map::const_iterator>);
    static_assert(!std::convertible_to<map::const_iterator, map::iterator>);
    static_assert(!std::is_copy_constructible_v<map> && !std::is_copy_assignable_v<map>);
    static_assert(std::is_same_v<map::mapped_type, redo::field<long>>);
    static_assert(std::is_same_v<hash_map<int, string<redo>, redo>::mapped_type, string<redo>>);
}

TEST(HashMapHash, IsPartOfTheFormatAndNeverChanges) {
    EXPECT_EQ(key_hash<std::int64_t>()(1), key_hash<int>()(1));
    const std::uint64_t one = key_hash<int>()(1);
    const std::uint64_t holdfast = key_hash<string<redo>>()("holdfast");
    const std::uint64_t longer = key_hash<string<redo>>()("a key of more than eight bytes");
    EXPECT_EQ(one, 0xe4d971771b652c20ull);
    EXPECT_EQ(holdfast, 0x5ab1e14c5c36deeull);
    EXPECT_EQ(longer, 0x32c2c8f41e9a2c1eull);
    EXPECT_EQ((key_hash<std::pair<int, char>>()({1, 'a'})), 0xabe831bbde82d957ull);
}

TEST(HashMapCheck, FindsANodeInTheWrongBucket) {
    test_pool<redo> files{for_containers};
    using map = hash_map<int, int, redo>;
    map& m = *files.pool().root<map>("m").value();
    files.pool().atomically([&] {
        for (int i = 0; i < 100; ++i) m.try_emplace(i, i);
    }).value();
    ASSERT_TRUE(m.check().has_value());
    files.pool().atomically([&] { const_cast<redo::field<int>&>(m.find(7)->first) = 8; }).value();
    const auto checked = m.check();
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, errc::corrupt);
    EXPECT_TRUE(checked.error().offset.has_value());
}

}  // namespace
}  // namespace holdfast::test
