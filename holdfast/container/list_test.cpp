#include <holdfast/container/list.hpp>

#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/places_test.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>

#include <workload/random.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <list>
#include <numeric>
#include <ranges>
#include <vector>

namespace holdfast::test {
namespace {

template <class Place>
class List : public container_test<Place> {
public:
    template <class T>
    using list_of = list<T, typename Place::engine>;
    using text = string<typename Place::engine>;
};
TYPED_TEST_SUITE(List, places, place_names);

std::uint64_t read(const auto& element) {
    if constexpr (requires { element.str(); }) {
        return std::stoull(element.str().substr(element.str().find('#') + 1));
    } else {
        return element.get();
    }
}
template <class L>
std::list<std::uint64_t> contents_of(const L& l) {
    std::list<std::uint64_t> contents;
    for (const auto& each : l) contents.push_back(read(each));
    return contents;
}

/// Two lists and their models.
template <class L, class Make>
struct both {
    using model_type = std::list<std::uint64_t>;
    L& first;
    L& second;
    model_type& model;
    model_type& other_model;
    Make make;
    workload::random& numbers;

    std::pair<typename L::iterator, model_type::iterator> any_place() {
        const auto n = static_cast<std::ptrdiff_t>(numbers.below(model.size() + 1));
        return {std::next(first.begin(), n), std::next(model.begin(), n)};
    }
    std::uint64_t any() { return numbers.below(1000); }

    void change_one() {
        const auto n = any();
        const auto [at, model_at] = any_place();
        switch (numbers.below(7)) {
        case 0: first.push_back(make(n)), model.push_back(n); break;
        case 1: first.push_front(make(n)), model.push_front(n); break;
        case 2: {
            const auto made = first.insert(at, make(n));
            EXPECT_EQ(read(*made), n);
            EXPECT_EQ(std::next(made), at);
            model.insert(model_at, n);
            break;
        }
        case 3:
            if (model.empty()) break;
            first.pop_back(), model.pop_back();
            break;
        case 4:
            if (model.empty()) break;
            first.pop_front(), model.pop_front();
            break;
        case 5: {
            if (at == first.end()) break;
            const auto behind = std::next(at);
            EXPECT_EQ(first.erase(first.iterator_to(*at)), behind);
            model.erase(model_at);
            break;
        }
        default:
            EXPECT_EQ(first == second, model == other_model);
        }
    }

    void change_many() {
        const auto n = any();
        const auto [at, model_at] = any_place();
        const auto [from, model_from] = any_place();
        switch (numbers.below(9)) {
        case 0: {
            std::vector<decltype(make(0))> more{make(n), make(n + 1)};
            EXPECT_EQ(std::distance(first.insert(at, more.begin(), more.end()), at), 2);
            model.insert(model_at, {n, n + 1});
            break;
        }
        case 1:
            if (std::distance(model.begin(), model_from) > std::distance(model.begin(), model_at)) break;
            if (numbers.below(4) != 0) break;
            EXPECT_EQ(first.erase(from, at), at);
            model.erase(model_from, model_at);
            break;
        case 2:
            EXPECT_EQ(erase_if(first, [&](const auto& each) { return read(each) % 7 == n % 7; }),
                      std::erase_if(model, [&](std::uint64_t each) { return each % 7 == n % 7; }));
            break;
        case 3:
            if (from == first.end()) break;
            first.splice(at, first, from);
            model.splice(model_at, model, model_from);
            break;
        case 4:
            if (from == first.end()) break;
            second.splice(second.begin(), first, from);
            other_model.splice(other_model.begin(), model, model_from);
            break;
        case 5:
            first.splice(at, second, second.begin(), second.end());
            model.splice(model_at, other_model, other_model.begin(), other_model.end());
            break;
        case 6:
            second.splice(second.end(), first);
            other_model.splice(other_model.end(), model);
            swap(first, second);
            std::swap(model, other_model);
            break;
        case 7:
            second = std::move(first);
            other_model = std::exchange(model, {});
            break;
        default: {
            const std::array<decltype(make(0)), 2> two{make(n), make(n + 2)};
            second.assign(two.begin(), two.end());
            other_model.assign({n, n + 2});
        }
        }
    }
};

template <class T, class Fixture, class Make>
void run_model(Fixture& test, test_pool<typename Fixture::engine>& files, Make make) {
    using L = list<T, typename Fixture::engine>;
    std::list<std::uint64_t> model;
    std::list<std::uint64_t> other_model;
    workload::random numbers(17);
    const auto find = [&](const char* name) -> L& { return *files.pool().template root<L>(name).value(); };
    const auto compare = [&] {
        L& l = find("list");
        ASSERT_EQ(contents_of(l), model);
        ASSERT_EQ(contents_of(find("other")), other_model);
        ASSERT_EQ(l.size(), model.size());
        std::list<std::uint64_t> back;
        for (auto at = l.rbegin(); at != l.rend(); ++at) back.push_front(read(*at));
        ASSERT_EQ(back, model);
        for (const L* each : {&l, &find("other")}) {
            const auto checked = each->check();
            ASSERT_TRUE(checked.has_value()) << checked.error().text();
        }
        ASSERT_TRUE(files.audit(l, find("other")));
    };
    for (int round = 0; round < 200; ++round) {
        SCOPED_TRACE("seed 17, round " + std::to_string(round));
        const auto before = model;
        const auto other_before = other_model;
        const bool keep = numbers.below(3) != 0;
        const auto change = [&] {
            both<L, Make> all{find("list"), find("other"), model, other_model, make, numbers};
            for (std::uint64_t n = numbers.below(12); n < 12; ++n)
                numbers.below(4) == 0 ? all.change_many() : all.change_one();
            if (!keep) throw change_of_mind();
        };
        if (keep && numbers.below(3) == 0) {
            // Each operation its own transaction.
            change();
        } else if (keep) {
            files.pool().atomically(change).value();
        } else {
            EXPECT_THROW(static_cast<void>(files.pool().atomically(change)), change_of_mind);
            model = before;
            other_model = other_before;
        }
        compare();
        if (::testing::Test::HasFatalFailure()) return;
        if (round % 10 == 9) test.come_back_at(static_cast<std::uint64_t>(round / 10));
    }
    while (find("list").erase_some(7) != 0) continue;
    find("other").clear();
    EXPECT_EQ(files.pool().usage().allocated_blocks, 2u);
}

template <class Place>
class ListModel : public container_test<Place> {
public:
    using engine = typename Place::engine;
    void come_back_at(std::uint64_t n) { this->come_back(n); }
};
TYPED_TEST_SUITE(ListModel, places, place_names);

TYPED_TEST(ListModel, BehavesLikeAStandardListThroughRollbacksAndReopening) {
    run_model<std::uint64_t>(*this, this->files, [](std::uint64_t n) { return n; });
}

TYPED_TEST(ListModel, OfStringsBehavesLikeAStandardList) {
    run_model<string<typename TypeParam::engine>>(
        *this, this->files, [](std::uint64_t n) { return std::string(n % 40, 'l') + "#" + std::to_string(n); });
}

/// What a list is for: a map of places in a queue, and what is cancelled leaves at once.
TYPED_TEST(List, ElementsKeepTheirAddressesWhichMayStandInThePool) {
    using engine = typename TypeParam::engine;
    struct book {
        list<std::uint64_t, engine> orders;
        hash_map<std::uint64_t, basic_field<engine, std::uint64_t>*, engine> by_number;

        result<void> check() const { return orders.check(); }
    };
    auto* b = &this->template root<book>();
    std::list<std::uint64_t> model;
    this->pool().atomically([&] {
        for (std::uint64_t n = 0; n < 300; ++n) {
            b->by_number.try_emplace(n, &b->orders.emplace_back(n));
            model.push_back(n);
        }
    }).value();
    workload::random numbers(4);
    for (int turn = 0; turn < 200; ++turn) {
        const std::uint64_t n = numbers.below(300);
        const auto found = b->by_number.find(n);
        if (found == b->by_number.end()) continue;
        this->pool().atomically([&] {
            if (n % 3 == 0) {
                // To the front, as what was used last.
                b->orders.splice(b->orders.begin(), b->orders, b->orders.iterator_to(*found->second.get()));
                model.remove(n);
                model.push_front(n);
            } else {
                b->orders.erase(b->orders.iterator_to(*found->second.get()));
                b->by_number.erase(n);
                model.remove(n);
            }
        }).value();
        ASSERT_EQ(contents_of(b->orders), model);
        if (turn % 50 != 49) continue;
        this->come_back(static_cast<std::uint64_t>(turn / 50));
        b = &this->template root<book>();
    }
    EXPECT_TRUE(b->check().has_value());
    EXPECT_TRUE(this->files.audit(b->orders, b->by_number));
}

TYPED_TEST(List, OfListsIsMovedByteByByte) {
    using engine = typename TypeParam::engine;
    using row = list<int, engine>;
    auto& rows = this->template root<vector<row, engine>>();
    this->pool().atomically([&] {
        for (int i = 0; i < 20; ++i) {
            rows.emplace_back();
            rows.back().assign({i, i + 1, i + 2});
        }
        rows.push_back(std::move(rows[3]));
        EXPECT_TRUE(rows[3].empty());
        rows.erase(rows.begin() + 3);
    }).value();
    EXPECT_EQ(std::accumulate(rows.back().begin(), rows.back().end(), 0), 3 + 4 + 5);
    EXPECT_EQ(*std::prev(rows.back().end()), 5);
    EXPECT_TRUE(rows.check().has_value());
    EXPECT_TRUE(this->files.audit(rows));
}

TYPED_TEST(List, WorksWithAlgorithms) {
    auto& l = this->template root<typename TestFixture::template list_of<int>>();
    l.assign({5, 1, 4, 2, 3});
    EXPECT_EQ(*std::ranges::max_element(l), 5);
    EXPECT_EQ(std::ranges::distance(l), 5);
    EXPECT_EQ(std::find(l.begin(), l.end(), 4), std::next(l.begin(), 2));
    this->pool().atomically([&] {
        std::reverse(l.begin(), l.end());
        for (auto& each : l) each += 1;
    }).value();
    EXPECT_EQ(std::vector<int>(l.begin(), l.end()), (std::vector<int>{4, 3, 5, 2, 6}));
}

TYPED_TEST(List, APlaceThatIsNotInItIsRefused) {
    auto& l = this->template root<typename TestFixture::template list_of<int>>();
    auto& other = *this->pool().template root<typename TestFixture::template list_of<int>>("other").value();
    l.assign({1, 2, 3});
    other.assign({4});
    const auto refused = [&](const char* what, const std::function<void()>& f) {
        SCOPED_TRACE(what);
        this->pool().atomically([&] {
            try {
                f();
                ADD_FAILURE() << "it was done";
            } catch (const failure& reason) {
                EXPECT_EQ(reason.reason().code, errc::misuse);
            }
        }).value();
        EXPECT_TRUE(l.check().has_value() && other.check().has_value());
        EXPECT_EQ(l.size() + other.size(), 4u);
    };
    refused("erase of the end", [&] { l.erase(l.end()); });
    refused("erase in another", [&] { l.erase(other.begin()); });
    refused("erase backwards", [&] { l.erase(std::next(l.begin()), l.begin()); });
    refused("erase of nothing's", [&] { l.erase(typename TestFixture::template list_of<int>::iterator()); });
    refused("insert in another", [&] { l.insert(other.end(), 5); });
    refused("splice of the end", [&] { l.splice(l.begin(), other, other.end()); });
    refused("splice into itself", [&] { l.splice(std::next(l.begin()), l, l.begin(), l.end()); });
    refused("splice of itself", [&] { l.splice(l.begin(), l); });
    refused("splice from the wrong one", [&] { l.splice(l.begin(), l, other.begin()); });
    refused("pop of none", [&] {
        other.clear();
        l.push_back(0);
        other.pop_back();
    });
    const auto gone = l.begin();
    this->pool().atomically([&] {
        l.erase(gone);
        EXPECT_THROW(l.erase(gone), failure) << "it left already";
    }).value();
}

TEST(ListTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using L = list<int, redo>;
    static_assert(sizeof(L) == 24);
    static_assert(std::bidirectional_iterator<L::iterator> && std::bidirectional_iterator<L::const_iterator>);
    static_assert(std::ranges::bidirectional_range<L> && std::ranges::sized_range<L>);
    static_assert(std::convertible_to<L::iterator, L::const_iterator>);
    static_assert(!std::convertible_to<L::const_iterator, L::iterator>);
    static_assert(!std::is_copy_constructible_v<L> && !std::is_copy_assignable_v<L>);
}

TEST(ListCheck, FindsEveryLinkThatIsWrong) {
    test_pool<redo> files{for_containers};
    auto& l = *files.pool().root<list<std::uint64_t, redo>>("l").value();
    l.assign({1, 2, 3, 4, 5});
    ASSERT_TRUE(l.check().has_value());
    using word = redo::field<std::uint64_t>;
    const auto wrong = [&](word& at, std::uint64_t value) {
        const std::uint64_t before = at;
        files.pool().atomically([&] { at = value; }).value();
        const auto checked = l.check();
        EXPECT_FALSE(checked.has_value());
        if (!checked) {
            EXPECT_EQ(checked.error().code, errc::corrupt);
        }
        files.pool().atomically([&] { at = before; }).value();
        EXPECT_TRUE(l.check().has_value());
    };
    auto* const head = reinterpret_cast<word*>(&l);
    for (std::size_t i = 0; i < 3; ++i)
        for (const std::uint64_t value : {std::uint64_t{0}, head[i] + 16, head[i] ^ (std::uint64_t{1} << 40)})
            wrong(head[i], value);
    for (auto& element : l) {
        auto* const links = reinterpret_cast<word*>(&element) - 2;
        for (std::size_t i = 0; i < 2; ++i)
            for (const std::uint64_t value : {links[i] ^ 16u, links[i] ^ (std::uint64_t{1} << 40),
                                              reinterpret_cast<std::uint64_t>(links)})
                wrong(links[i], value);
    }
}

}  // namespace
}  // namespace holdfast::test
