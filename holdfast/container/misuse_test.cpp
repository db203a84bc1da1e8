// Counts that no pool can hold and places in other containers: out_of_space or misuse, and nothing has changed.
#include <holdfast/container/everything_test.hpp>
#include <holdfast/container/places_test.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <limits>
#include <vector>

namespace holdfast::test {
namespace {

constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

/// Those that the cases below name.
template <class Engine>
struct some_containers {
    using number = std::uint64_t;
    vector<int, Engine> numbers, other_numbers;
    vector<string<Engine>, Engine> texts, no_texts;
    string<Engine> line, other_line;
    hash_map<number, number, Engine> hash, other_hash;
    btree_map<number, number, Engine> tree, other_tree;
    queue<number, Engine> waiting;
    list<number, Engine> chain;

    template <class F>
    static void each(auto& all, F&& f) {
        f(all.numbers), f(all.other_numbers), f(all.texts), f(all.no_texts), f(all.line), f(all.other_line);
        f(all.hash), f(all.other_hash), f(all.tree), f(all.other_tree), f(all.waiting), f(all.chain);
    }
    template <class F>
    void visit_blocks(F&& f) const {
        each(*this, [&](const auto& one) { one.visit_blocks(f); });
    }
};

template <class Place>
class Misuse : public container_test<Place> {
public:
    using engine = typename Place::engine;
    using root_type = some_containers<engine>;

protected:
    /// Runs f alone and inside a transaction that goes on: it fails so, and changes nothing. Not a template of f: each
    /// would make a transaction for the compiler.
    void expect_refused(errc code, const char* what, const std::function<void(root_type&)>& f) {
        SCOPED_TRACE(what);
        root_type& all = this->template root<root_type>();
        const std::string before = written_each(all);
        const auto refused = [&] {
            try {
                f(all);
                ADD_FAILURE() << "it was done";
            } catch (const failure& reason) {
                EXPECT_EQ(reason.reason().code, code) << reason.what();
            }
        };
        refused();
        EXPECT_TRUE(this->pool().atomically(refused).has_value()) << "the transaction may go on";
        EXPECT_EQ(written_each(all), before);
        EXPECT_TRUE(check_each(all).has_value());
    }
    void fill() {
        root_type& all = this->template root<root_type>();
        this->pool().atomically([&] {
            for (int i = 0; i < 20; ++i) {
                all.numbers.push_back(i);
                all.other_numbers.push_back(i);
                all.texts.emplace_back("text " + std::to_string(i));
                all.hash.try_emplace(static_cast<std::uint64_t>(i), 1u);
                all.tree.try_emplace(static_cast<std::uint64_t>(i), 1u);
            }
            all.line = "a line that is long enough for a block";
        }).value();
    }
};
TYPED_TEST_SUITE(Misuse, places, place_names);

TYPED_TEST(Misuse, OfHugeCountsIsOutOfSpace) {
    using state = typename TestFixture::root_type;
    this->fill();
    const int one = 1;
    for (const std::size_t count :
         {huge, huge - 19, huge / 2, huge / 4, huge / sizeof(int) - 3, huge / 24 + 1, huge / 64}) {
        const auto refused = [&](const char* what, const std::function<void(state&)>& f) {
            this->expect_refused(errc::out_of_space, what, f);
        };
        refused("append", [&](state& all) { all.numbers.append(&one, count); });
        refused("resize", [&](state& all) { all.numbers.resize(count); });
        refused("resize of a value", [&](state& all) { all.numbers.resize(count, 5); });
        refused("reserve", [&](state& all) { all.numbers.reserve(count); });
        refused("assign", [&](state& all) { all.numbers.assign(count, 5); });
        refused("resize of strings", [&](state& all) { all.texts.resize(count); });
        refused("reserve of strings", [&](state& all) { all.texts.reserve(count); });
        refused("hash_map::reserve", [&](state& all) { all.hash.reserve(count); });
        refused("insert of a value", [&](state& all) { all.numbers.insert(all.numbers.begin(), count, 5); });
        refused("string::resize", [&](state& all) { all.line.resize(count); });
        refused("string::reserve", [&](state& all) { all.line.reserve(count); });
        refused("string::append", [&](state& all) { all.line.append(count, 'c'); });
    }
}

TYPED_TEST(Misuse, OfPlacesInOtherContainersIsRefused) {
    using state = typename TestFixture::root_type;
    this->fill();
    const auto refused = [&](const char* what, const std::function<void(state&)>& f) {
        this->expect_refused(errc::misuse, what, f);
    };
    refused("insert", [](state& all) { all.numbers.insert(all.other_numbers.begin(), 5); });
    refused("insert behind", [](state& all) { all.numbers.insert(all.numbers.end() + 1, 5); });
    refused("insert before", [](state& all) { all.numbers.insert(all.numbers.begin() - 1, 5); });
    refused("insert between", [](state& all) {
        const auto* const at = reinterpret_cast<const std::byte*>(all.numbers.data()) + 2;
        all.numbers.insert(reinterpret_cast<decltype(all.numbers.cbegin())>(at), 5);
    });
    refused("erase", [](state& all) { all.numbers.erase(all.other_numbers.begin()); });
    refused("erase of the end", [](state& all) { all.numbers.erase(all.numbers.end()); });
    refused("erase backwards", [](state& all) { all.numbers.erase(all.numbers.end(), all.numbers.begin()); });
    refused("erase up to another", [](state& all) { all.numbers.erase(all.numbers.begin(), all.other_numbers.end()); });
    refused("hash_map::erase", [](state& all) { all.hash.erase(typename decltype(all.hash)::iterator()); });
    refused("hash_map::erase of the end", [](state& all) { all.hash.erase(all.hash.end()); });
    refused("btree_map::erase", [](state& all) { all.tree.erase(typename decltype(all.tree)::iterator()); });
    refused("btree_map::erase of the end", [](state& all) { all.tree.erase(all.tree.end()); });
    refused("pop_back of none", [](state& all) { all.no_texts.pop_back(); });
    refused("string::pop_back of none", [](state& all) { all.other_line.pop_back(); });
    refused("insert of a range", [](state& all) {
        all.numbers.insert(all.other_numbers.begin(), all.numbers.begin(), all.numbers.end());
    });
    refused("hash_map::erase of a range of another", [](state& all) {
        all.hash.erase(all.hash.begin(), all.other_hash.end());
    });
    refused("hash_map::erase backwards", [](state& all) {
        all.hash.erase(std::next(all.hash.begin(), 2), std::next(all.hash.begin()));
    });
    refused("btree_map::erase of a range of another", [](state& all) {
        all.tree.erase(all.tree.begin(), all.other_tree.end());
    });
    refused("btree_map::erase backwards", [](state& all) {
        all.tree.erase(std::next(all.tree.begin(), 2), std::next(all.tree.begin()));
    });
    refused("btree_map::assign_sorted of what is not", [](state& all) {
        const std::vector<std::pair<int, int>> entries{{2, 1}, {1, 1}};
        all.tree.assign_sorted(entries.begin(), entries.end());
    });
    refused("string::erase of a place in another", [](state& all) { all.line.erase(all.other_line.begin()); });
    refused("queue::erase of the end", [](state& all) { all.waiting.erase(all.waiting.end()); });
    refused("queue::pop of none", [](state& all) { all.waiting.pop(); });
    alignas(state) static std::byte bytes[sizeof(state)]{};
    state& stray = reinterpret_cast<state&>(bytes);
    refused("swap of vectors with one outside", [&](state& all) { swap(all.numbers, stray.numbers); });
    refused("swap of strings with one outside", [&](state& all) { swap(all.line, stray.line); });
    refused("swap of hash maps with one outside", [&](state& all) { swap(all.hash, stray.hash); });
    refused("swap of btree maps with one outside", [&](state& all) { swap(all.tree, stray.tree); });
    refused("swap of queues with one outside", [&](state& all) { swap(all.waiting, stray.waiting); });
    refused("swap of lists with one outside", [&](state& all) { swap(all.chain, stray.chain); });
    refused("a move out of one outside", [&](state& all) { all.numbers = std::move(stray.numbers); });
    refused("a move to one outside", [&](state& all) { stray.hash = std::move(all.hash); });
    refused("splice of one outside", [&](state& all) { all.chain.splice(all.chain.begin(), stray.chain); });
}

TYPED_TEST(Misuse, ArgumentsMayReferToTheContainerItself) {
    using state = typename TestFixture::root_type;
    state& all = this->template root<state>();
    std::vector<int> model;
    const auto same = [&] { return std::vector<int>(all.numbers.begin(), all.numbers.end()) == model; };
    this->pool().atomically([&] {
        for (int i = 0; i < 100; ++i) {
            all.numbers.push_back(i);
            model.push_back(i);
            all.numbers.insert(all.numbers.begin(), all.numbers.back());
            model.insert(model.begin(), int{model.back()});
            all.numbers.push_back(all.numbers[static_cast<std::size_t>(i)]);
            model.push_back(int{model[static_cast<std::size_t>(i)]});
            ASSERT_TRUE(same());
        }
        all.numbers.assign(all.numbers.begin() + 7, all.numbers.end() - 3);
        model = std::vector<int>(model.begin() + 7, model.end() - 3);
        ASSERT_TRUE(same());
        const auto& numbers = all.numbers;
        all.numbers = numbers;
        all.line = "eight by";
        for (int i = 0; i < 6; ++i) all.line.append(all.line.str());
        all.line.with_view([&](std::string_view view) { all.line.insert(4, view.substr(0, 4)); });
        const auto& line = all.line;
        all.line = line;
    }).value();
    EXPECT_TRUE(same());
    EXPECT_EQ(all.line.size(), 8u * 64 + 4);
    EXPECT_EQ(all.line.substr(0, 12), "eigheight by");
    all.numbers.assign(all.numbers.begin(), all.numbers.end());
    EXPECT_TRUE(same());
    EXPECT_TRUE(this->files.audit(all));
}

/// Characters that a view of the pool's own bytes names, changed earlier in the same transaction.
TYPED_TEST(Misuse, TextOutOfThePoolIsReadAsTheTransactionSeesIt) {
    using state = typename TestFixture::root_type;
    state& all = this->template root<state>();
    all.other_line = std::string(40, 'o');
    this->pool().atomically([&] {
        all.other_line = std::string(40, 'n');
        all.line = std::string_view(reinterpret_cast<const char*>(all.other_line.data()), all.other_line.size());
    }).value();
    EXPECT_EQ(all.line, std::string(40, 'n'));
}

}  // namespace
}  // namespace holdfast::test
