#include <holdfast/container/string.hpp>

#include <holdfast/container/places_test.hpp>
#include <holdfast/container/vector.hpp>

#include <workload/random.hpp>

#include <iterator>

namespace holdfast::test {
namespace {

template <class Place>
class String : public container_test<Place> {
public:
    using string_of_place = string<typename Place::engine>;
    /// A value that waits in an alias table is not where a view would look.
    static constexpr bool has_views = !Place::engine::has_shared_aliases;
};
TYPED_TEST_SUITE(String, places, place_names);

/// One random operation on both.
template <class S>
void change_both(S& s, std::string& model, workload::random& numbers) {
    const std::string other(numbers.below(24), static_cast<char>('a' + numbers.below(26)));
    const std::size_t place = numbers.below(model.size() + 1);
    switch (numbers.below(12)) {
    case 0:
        s = other;
        model = other;
        break;
    case 1:
        s += other;
        model += other;
        break;
    case 2:
        s.insert(place, other);
        model.insert(place, other);
        break;
    case 3:
        s.erase(place, other.size());
        model.erase(place, other.size());
        break;
    case 4:
        s.push_back('!');
        model.push_back('!');
        break;
    case 5:
        s.resize(other.size(), '.');
        model.resize(other.size(), '.');
        break;
    case 6:
        s.shrink_to_fit();
        break;
    case 8: {
        const auto leaves = [&](char each) { return each < 'a' + 3; };
        EXPECT_EQ(erase_if(s, leaves), std::erase_if(model, leaves));
        break;
    }
    case 9: {
        const std::size_t end = place + numbers.below(model.size() + 1 - place);
        EXPECT_EQ(static_cast<std::size_t>(s.erase(s.begin() + place, s.begin() + end) - s.begin()), place);
        model.erase(place, end - place);
        break;
    }
    default:
        s.reserve(other.size() * 3);
    }
    EXPECT_EQ(s.str(), model) << "as the open transaction sees it";
}

TYPED_TEST(String, BehavesLikeAStandardStringThroughRollbacksAndReopening) {
    using text = typename TestFixture::string_of_place;
    std::string model;
    workload::random numbers(3);
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(round);
        auto& s = this->template root<text>();
        const std::string before = model;
        const bool keep = numbers.below(3) != 0;
        const auto change = [&] {
            for (int i = 0; i < 4; ++i) change_both(s, model, numbers);
            if (!keep) throw change_of_mind();
        };
        if (keep) {
            this->pool().atomically(change).value();
        } else {
            EXPECT_THROW(static_cast<void>(this->pool().atomically(change)), change_of_mind);
            model = before;
        }
        change_both(s, model, numbers);
        ASSERT_EQ(s.str(), model);
        ASSERT_TRUE(s.check().has_value());
        ASSERT_TRUE(this->files.audit(s));
        if (round % 20 == 19) this->come_back(static_cast<std::uint64_t>(round / 20));
        ASSERT_EQ(this->template root<text>().str(), model);
    }
}

TYPED_TEST(String, ComparesAndSearchesLikeAStandardString) {
    auto& s = this->template root<typename TestFixture::string_of_place>();
    auto& other = *this->pool().template root<typename TestFixture::string_of_place>("other").value();
    for (const std::string value : {"", "short", "one that does not fit in the object itself"}) {
        s = value;
        other = value;
        const auto look = [&] {
            EXPECT_TRUE(s == value && s == other && !(s < value));
            EXPECT_EQ(s <=> std::string_view("short"), value <=> "short");
            EXPECT_EQ(s.find("ort"), value.find("ort"));
            EXPECT_EQ(s.find('t'), value.find('t'));
            EXPECT_EQ(s.starts_with("sh"), value.starts_with("sh"));
            EXPECT_EQ(s.ends_with("self"), value.ends_with("self"));
            EXPECT_EQ(s.substr(0, 3), value.substr(0, 3));
            EXPECT_EQ(std::string(s.begin(), s.end()), value);
        };
        look();
        this->pool().atomically(look).value();
    }
    EXPECT_THROW(s.at(100), std::out_of_range);
    EXPECT_THROW(s.insert(100, "x"), std::out_of_range);
    this->pool().atomically([&] {
        s[0] = 'O';
        other = s;
        s.append(s.str());
        swap(s, other);
    }).value();
    EXPECT_EQ(s.str(), "One that does not fit in the object itself");
    EXPECT_EQ(other.size(), 2 * s.size());
}

TYPED_TEST(String, IsMovedAndConverted) {
    using engine = typename TypeParam::engine;
    using text = typename TestFixture::string_of_place;
    auto& s = this->template root<text>();
    auto& texts = *this->pool().template root<vector<text, engine>>("texts").value();
    for (const std::string value : {"short", "one that does not fit in the object itself"}) {
        s = value;
        const auto look = [&] {
            const std::string copy = s;
            EXPECT_EQ(copy, value);
            if constexpr (TestFixture::has_views) {
                EXPECT_EQ(std::string_view(s), value);
            }
            EXPECT_STREQ(s.c_str(), value.c_str());
        };
        look();
        this->pool().atomically(look).value();
        this->pool().atomically([&] {
            texts.push_back(std::move(s));
            EXPECT_TRUE(s.empty());
            s = std::move(texts[0]);
            EXPECT_TRUE(texts[0].empty());
            texts.clear();
            s = std::move(*&s);
        }).value();
        look();
        EXPECT_TRUE(this->files.audit(s, texts));
    }
}

/// Where a view would show what was there before, there is none.
TYPED_TEST(String, AViewNeverShowsWhatTheTransactionReplaced) {
    auto& s = this->template root<typename TestFixture::string_of_place>();
    if constexpr (TestFixture::has_views) {
        s = "before";
        this->pool().atomically([&] {
            s = "behind";
            try {
                EXPECT_EQ(s.view(), "behind");
            } catch (const failure& reason) {
                EXPECT_EQ(reason.reason().code, errc::misuse);
                EXPECT_TRUE(TypeParam::engine::description.logs_new_values);
            }
        }).value();
        EXPECT_EQ(s.view(), "behind");
    } else {
        static_assert(!requires { s.view(); });
    }
}

TYPED_TEST(String, TakesPartsOfItself) {
    auto& s = this->template root<typename TestFixture::string_of_place>();
    s = "0123456789abcdefghij";
    // Where there are no views, the characters are in place only then.
    if (!TestFixture::has_views) this->pool().checkpoint().value();
    const std::string_view view(reinterpret_cast<const char*>(s.data()), s.size());
    s.append(view.substr(5, 4));
    EXPECT_EQ(s.str(), "0123456789abcdefghij5678");
    if (!TestFixture::has_views) this->pool().checkpoint().value();
    s = std::string_view(reinterpret_cast<const char*>(s.data()) + 3, 4);
    EXPECT_EQ(s.str(), "3456");
}

TEST(StringTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using text = string<redo>;
    static_assert(sizeof(text) == 24);
    static_assert(std::contiguous_iterator<text::iterator> && std::contiguous_iterator<text::const_iterator>);
    static_assert(!std::is_copy_constructible_v<text> && std::is_copy_assignable_v<text>);
}

TEST(StringSpace, UpTo16CharactersNeedNoBlock) {
    test_pool<redo> files{for_containers};
    auto& s = *files.pool().root<string<redo>>("s").value();
    const std::uint64_t before = files.pool().usage().allocated_blocks;
    s = "exactly sixteen.";
    EXPECT_EQ(files.pool().usage().allocated_blocks, before);
    s += "!";
    EXPECT_EQ(files.pool().usage().allocated_blocks, before + 1);
}

}  // namespace
}  // namespace holdfast::test
