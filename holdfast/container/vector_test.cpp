#include <holdfast/container/vector.hpp>

#include <holdfast/container/places_test.hpp>
#include <holdfast/container/string.hpp>

#include <workload/random.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <vector>

namespace holdfast::test {
namespace {

template <class Place>
class Vector : public container_test<Place> {
public:
    template <class T>
    using vector_of = vector<T, typename Place::engine>;
    using text = string<typename Place::engine>;
};
TYPED_TEST_SUITE(Vector, places, place_names);

/// Contents as a std::vector, for comparing.
template <class T, class Engine>
std::vector<T> contents_of(const vector<T, Engine>& v) {
    return std::vector<T>(v.begin(), v.end());
}
template <class Engine>
std::vector<std::string> contents_of(const vector<string<Engine>, Engine>& v) {
    std::vector<std::string> contents;
    for (const auto& each : v) contents.push_back(each.str());
    return contents;
}

/// One random operation on both.
template <class V, class Model, class Make>
void change_both(V& v, Model& model, workload::random& numbers, Make make) {
    const auto value = make(numbers.below(1000));
    const auto size = static_cast<std::ptrdiff_t>(model.size());
    const auto place = static_cast<std::ptrdiff_t>(numbers.below(model.size() + 1));
    switch (numbers.below(14)) {
    case 0:
    case 1:
        v.push_back(value);
        model.push_back(value);
        break;
    case 2:
        EXPECT_EQ(v.insert(v.begin() + place, value) - v.begin(), place);
        model.insert(model.begin() + place, value);
        break;
    case 3:
        if (place == size) break;
        EXPECT_EQ(v.erase(v.begin() + place) - v.begin(), place);
        model.erase(model.begin() + place);
        break;
    case 4:
        if (size == 0) break;
        v.pop_back();
        model.pop_back();
        break;
    case 5:
        if (numbers.below(4) != 0) break;
        v.erase(v.begin() + place, v.end());
        model.erase(model.begin() + place, model.end());
        break;
    case 6: {
        const std::size_t count = numbers.below(40);
        v.resize(count);
        model.resize(count);
        break;
    }
    case 7:
        v.shrink_to_fit();
        break;
    case 8:
    case 9: {
        std::vector<typename Model::value_type> more;
        for (std::uint64_t n = numbers.below(9); n != 0; --n) more.push_back(make(numbers.below(1000)));
        EXPECT_EQ(v.insert(v.begin() + place, more.begin(), more.end()) - v.begin(), place);
        model.insert(model.begin() + place, more.begin(), more.end());
        break;
    }
    case 10: {
        const auto leaves = [&](const typename Model::value_type& each) { return each < value; };
        if (numbers.below(4) != 0) break;
        EXPECT_EQ(erase_if(v, leaves), std::erase_if(model, leaves));
        break;
    }
    case 11:
        if (numbers.below(4) != 0) break;
        v.assign({value, make(3), value});
        model.assign({value, make(3), value});
        break;
    case 12:
        v.insert(v.begin() + place, {value, value});
        model.insert(model.begin() + place, {value, value});
        break;
    default:
        if (place == size) break;
        v.emplace_back(value);
        model.emplace_back(value);
    }
}

template <class Fixture, class V, class Model, class Make>
void run_model(Fixture& files, V& (*find)(Fixture&), Model model, Make make) {
    workload::random numbers(11);
    for (int round = 0; round < 150; ++round) {
        SCOPED_TRACE(round);
        Model before = model;
        const bool keep = numbers.below(3) != 0;
        V& v = find(files);
        const auto change = [&] {
            for (int i = 0; i < 6; ++i) change_both(v, model, numbers, make);
            if (!keep) throw change_of_mind();
        };
        if (keep) {
            files.pool().atomically(change).value();
        } else {
            EXPECT_THROW(static_cast<void>(files.pool().atomically(change)), change_of_mind);
            model = before;
        }
        change_both(v, model, numbers, make);
        ASSERT_EQ(contents_of(v), model);
        const auto checked = v.check();
        ASSERT_TRUE(checked.has_value()) << checked.error().text();
        ASSERT_TRUE(files.audit(v));
        if (round % 16 == 7) files.reopen();
        if (round % 16 == 15 && V::recovers) files.kill();
        ASSERT_EQ(contents_of(find(files)), model);
    }
}

/// The vector under test, which also says whether its engine recovers.
template <class T, class Engine>
struct tested : vector<T, Engine> {
    using vector<T, Engine>::vector;
    static constexpr bool recovers = Engine::description.recovers;
};

TYPED_TEST(Vector, BehavesLikeAStandardVectorThroughRollbacksAndReopening) {
    using engine = typename TypeParam::engine;
    using files_type = test_pool<engine>;
    using V = tested<int, engine>;
    run_model<files_type, V>(
        this->files, [](files_type& of) -> V& { return *of.pool().template root<V>("v").value(); },
        std::vector<int>(), [](std::uint64_t n) { return static_cast<int>(n); });
}

TYPED_TEST(Vector, OfStringsBehavesLikeAStandardVector) {
    using engine = typename TypeParam::engine;
    using files_type = test_pool<engine>;
    using V = tested<string<engine>, engine>;
    run_model<files_type, V>(
        this->files, [](files_type& of) -> V& { return *of.pool().template root<V>("v").value(); },
        std::vector<std::string>(), [](std::uint64_t n) { return std::string(n % 30, 'a') + std::to_string(n); });
}

TYPED_TEST(Vector, ElementsAreFieldsAndBoundsAreChecked) {
    auto& v = this->template root<typename TestFixture::template vector_of<int>>();
    this->pool().atomically([&] {
        v = {3, 1, 2};
        v[0] += 10;
        v.front() = v.front() + 1;
        v.back() = 7;
        v.at(1) = 5;
    }).value();
    EXPECT_EQ(contents_of(v), (std::vector<int>{14, 5, 7}));
    EXPECT_THROW(v.at(3), std::out_of_range);
    EXPECT_THROW(v[0] = 1, failure) << "a field is written inside a transaction only";
    this->pool().atomically([&] { std::ranges::reverse(v); }).value();
    EXPECT_EQ(contents_of(v), (std::vector<int>{7, 5, 14}));
    v.assign(4, 9);
    EXPECT_EQ(contents_of(v), (std::vector<int>{9, 9, 9, 9}));
    const std::vector<int> many(1000, 4);
    v.append(many.data(), many.size());
    EXPECT_EQ(v.size(), 1004u);
    v.assign(many.begin(), many.end());
    EXPECT_EQ(contents_of(v), many);
    v.push_back(v[3]);
    EXPECT_EQ(v.back().get(), 4);
}

TYPED_TEST(Vector, IsMovedSwappedAndCompared) {
    using V = typename TestFixture::template vector_of<typename TestFixture::text>;
    using engine = typename TypeParam::engine;
    auto& shelves = this->template root<vector<V, engine>>();
    this->pool().atomically([&] {
        shelves.resize(2);
        shelves[0].assign({"a", "b that is too long to stand inline"});
        shelves[1].assign({"c"});
        EXPECT_FALSE(shelves[0] == shelves[1]);
        shelves.push_back(std::move(shelves[0]));
        swap(shelves[0], shelves[2]);
        EXPECT_EQ(contents_of(shelves[0]), (std::vector<std::string>{"a", "b that is too long to stand inline"}));
        EXPECT_TRUE(shelves[2].empty());
        shelves[1] = std::move(shelves[0]);
        shelves[1].push_back(std::move(shelves[1][0]));
        shelves[1].erase(shelves[1].begin());
        shelves[2].insert(shelves[2].begin(), std::move_iterator(shelves[1].begin()),
                          std::move_iterator(shelves[1].end()));
    }).value();
    EXPECT_EQ(contents_of(shelves[2]), (std::vector<std::string>{"b that is too long to stand inline", "a"}));
    EXPECT_EQ(contents_of(shelves[1]), (std::vector<std::string>{"", ""}));
    shelves[0] = std::move(shelves[2]);
    EXPECT_FALSE(shelves[0] == shelves[1]);
    EXPECT_TRUE(shelves == shelves);
    EXPECT_TRUE(shelves.check().has_value());
    EXPECT_TRUE(this->files.audit(shelves));
}

TYPED_TEST(Vector, OfPairsHoldsThemAsFields) {
    using point = std::pair<int, long>;
    using V = typename TestFixture::template vector_of<point>;
    auto& v = this->template root<V>();
    v.push_back({1, 2});
    v.emplace_back(3, 4);
    v.assign({{5, 6}, {7, 8}, {7, 8}});
    this->pool().atomically([&] {
        v[0] = point(9, 10);
        EXPECT_EQ(v[0].get(), point(9, 10)) << "as the open transaction sees it";
        swap(v[0], v[1]);
    }).value();
    this->come_back(0);
    EXPECT_EQ(contents_of(this->template root<V>()), (std::vector<point>{{7, 8}, {9, 10}, {7, 8}}));
}

TYPED_TEST(Vector, MadeAndDestroyedLeavesNothing) {
    using V = typename TestFixture::template vector_of<typename TestFixture::text>;
    using engine = typename TypeParam::engine;
    const std::uint64_t before = this->pool().usage().allocated_blocks;
    V* made = nullptr;
    this->pool().atomically([&] {
        made = engine::template make<V>();
        made->push_back(std::string(100, 'x'));
        made->push_back("short");
        engine::destroy(made);
        made = engine::template make<V>(5u);
    }).value();
    EXPECT_EQ(made->size(), 5u);
    this->pool().atomically([&] { engine::destroy(made); }).value();
    EXPECT_EQ(this->pool().usage().allocated_blocks, before);
}

TYPED_TEST(Vector, OutsideAPoolIsRefusedAndHarmless) {
    using V = typename TestFixture::template vector_of<int>;
    alignas(V) std::byte zeros[sizeof(V)]{};
    V& stray = reinterpret_cast<V&>(zeros);
    try {
        stray.push_back(1);
        FAIL() << "a vector outside a pool took an element";
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::misuse);
    }
    const auto refused = this->pool().atomically([&] { stray.push_back(1); });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::misuse);
    EXPECT_FALSE(stray.check().has_value());
    stray.~V();
}

TEST(VectorTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using V = vector<int, redo>;
    static_assert(sizeof(V) == 24);
    static_assert(std::contiguous_iterator<V::iterator> && std::contiguous_iterator<V::const_iterator>);
    static_assert(std::ranges::contiguous_range<V> && std::ranges::contiguous_range<const V>);
    static_assert(!std::is_copy_constructible_v<V> && std::is_move_constructible_v<V> && std::is_move_assignable_v<V>);
    static_assert(std::is_same_v<V::reference, redo::field<int>&>);
}

TEST(VectorCheck, FindsASizeAboveTheCapacity) {
    test_pool<redo> files{for_containers};
    using V = vector<int, redo>;
    V& v = *files.pool().root<V>("v").value();
    v.push_back(1);
    ASSERT_TRUE(v.check().has_value());
    auto* size = reinterpret_cast<redo::field<std::uint64_t>*>(reinterpret_cast<std::byte*>(&v) + 8);
    files.pool().atomically([&] { *size = 1000; }).value();
    EXPECT_EQ(v.check().error().code, errc::corrupt);
}

}  // namespace
}  // namespace holdfast::test
