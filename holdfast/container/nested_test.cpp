// Containers of containers and of a program's own types.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/places_test.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/vector.hpp>

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

template <class Engine>
struct account {
    typename Engine::template field<int> balance;
    string<Engine> owner;
    vector<int, Engine> history;

    template <class F>
    void visit_blocks(F&& f) const {
        owner.visit_blocks(f);
        history.visit_blocks(f);
    }
};

template <class Place>
class Nested : public container_test<Place> {
public:
    using engine_type = typename Place::engine;
    using text = string<engine_type>;
    using accounts = btree_map<text, account<engine_type>, engine_type>;
    using list_map = hash_map<int, vector<text, engine_type>, engine_type>;
    using deep = hash_map<text, btree_map<int, queue<text, engine_type>, engine_type>, engine_type>;
};
TYPED_TEST_SUITE(Nested, places, place_names);

TYPED_TEST(Nested, AProgramsOwnTypeIsAnElement) {
    auto& all = this->template root<typename TestFixture::accounts>();
    this->pool().atomically([&] {
        for (int i = 0; i < 60; ++i) {
            auto& each = all["account " + std::to_string(i)];
            each.balance = i;
            each.owner = "the owner of account number " + std::to_string(i);
            each.history.push_back(i);
        }
    }).value();
    const auto transfer = [&] {
        all.at("account 3").balance -= 2;
        all.at("account 4").balance += 2;
        all.at("account 4").history.push_back(2);
        all.erase("account 5");
        all["a new one"].owner = "somebody with a name that is longer than an inline string";
        throw change_of_mind();
    };
    EXPECT_THROW(static_cast<void>(this->pool().atomically(transfer)), change_of_mind);
    this->come_back(1);
    auto& found = this->template root<typename TestFixture::accounts>();
    EXPECT_EQ(found.size(), 60u);
    EXPECT_EQ(found.at("account 3").balance.get(), 3);
    EXPECT_EQ(found.at("account 4").history.size(), 1u);
    EXPECT_EQ(found.at("account 5").owner, "the owner of account number 5");
    EXPECT_TRUE(found.check().has_value());
    EXPECT_TRUE(this->files.audit(found));
    while (found.erase_some(10) != 0) EXPECT_TRUE(this->files.audit(found));
    EXPECT_EQ(this->pool().usage().allocated_blocks, 1u);
}

TYPED_TEST(Nested, ErasingAContainerFreesItsBlocks) {
    auto& all = this->template root<typename TestFixture::deep>();
    this->pool().atomically([&] {
        for (int i = 0; i < 200; ++i)
            all[std::to_string(i % 7) + " outer key, too long for inline"][i % 20].push("element " + std::to_string(i));
    }).value();
    EXPECT_TRUE(all.check().has_value());
    EXPECT_TRUE(this->files.audit(all));
    this->come_back(1);
    auto& found = this->template root<typename TestFixture::deep>();
    EXPECT_EQ(found.erase("3 outer key, too long for inline"), 1u);
    EXPECT_EQ(found.at("4 outer key, too long for inline").at(4).front(), "element 4");
    EXPECT_TRUE(this->files.audit(found));
    found.clear();
    EXPECT_EQ(this->pool().usage().allocated_blocks, 1u);
}

/// One container of each kind, moved in and out of the containers that hold it.
TYPED_TEST(Nested, AContainerIsMovedOutOfOneAndIntoAnother) {
    using engine = typename TypeParam::engine;
    using words = string<engine>;
    struct held {
        hash_map<words, words, engine> hash;
        btree_map<words, words, engine> tree;
        queue<words, engine> line;
        list<words, engine> chain;
    };
    struct holders {
        vector<hash_map<words, words, engine>, engine> hashes;
        hash_map<int, btree_map<words, words, engine>, engine> trees;
        btree_map<int, queue<words, engine>, engine> lines;
        list<list<words, engine>, engine> chains;
    };
    auto* from = &this->template root<held>();
    auto* to = this->pool().template root<holders>("holders").value();
    const auto text_of = [](int i) { return "a text that stands in a block, number " + std::to_string(i); };
    for (const bool keep : {false, true, false}) {
        const auto move = [&] {
            for (int i = 0; i < 40; ++i) {
                from->hash.try_emplace(text_of(i), text_of(i)), from->tree.try_emplace(text_of(i), text_of(i));
                from->line.push(text_of(i)), from->chain.push_back(text_of(i));
            }
            to->hashes.push_back(std::move(from->hash));
            to->trees.insert_or_assign(1, std::move(from->tree));
            to->trees.insert_or_assign(1, std::move(to->trees.at(1)));
            to->lines.try_emplace(1, std::move(from->line));
            to->lines.try_emplace(2, std::move(to->lines.at(1)));
            to->chains.push_front(std::move(from->chain));
            if (!keep) throw change_of_mind();
        };
        if (keep) {
            this->pool().atomically(move).value();
        } else {
            EXPECT_THROW(static_cast<void>(this->pool().atomically(move)), change_of_mind);
        }
        this->come_back(1);
        from = &this->template root<held>();
        to = this->pool().template root<holders>("holders").value();
        EXPECT_TRUE(this->files.audit(from->hash, from->tree, from->line, from->chain, to->hashes, to->trees, to->lines,
                                      to->chains));
        if (!keep) continue;
        EXPECT_TRUE(from->hash.empty() && from->tree.empty() && from->line.empty() && from->chain.empty());
        EXPECT_EQ(to->hashes[0].at(text_of(7)), text_of(7));
        EXPECT_EQ(to->trees.at(1).at(text_of(7)), text_of(7));
        EXPECT_TRUE(to->lines.at(1).empty());
        EXPECT_EQ(to->lines.at(2).front(), text_of(0));
        EXPECT_EQ(to->chains.front().back(), text_of(39));
        EXPECT_TRUE(to->hashes.check().has_value() && to->trees.check().has_value() && to->lines.check().has_value() &&
                    to->chains.check().has_value());
    }
}

TYPED_TEST(Nested, SeveralContainersChangeTogetherOrNotAtAll) {
    auto& lists = this->template root<typename TestFixture::list_map>();
    auto& log = *this->pool().template root<queue<int, typename TypeParam::engine>>("log").value();
    for (int i = 0; i < 100; ++i) {
        const auto change = [&] {
            lists[i % 10].push_back("entry " + std::to_string(i) + " of a list");
            log.push(i);
            if (i % 3 == 0) throw change_of_mind();
        };
        if (i % 3 == 0) {
            EXPECT_THROW(static_cast<void>(this->pool().atomically(change)), change_of_mind);
        } else {
            this->pool().atomically(change).value();
        }
    }
    std::size_t entries = 0;
    for (const auto& [key, list] : lists) entries += list.size();
    EXPECT_EQ(entries, log.size());
    EXPECT_EQ(log.size(), 66u);
    EXPECT_TRUE(this->files.audit(lists, log));
}

TEST(TwoPools, InOneTransactionAreRefused) {
    test_pool<redo> one{for_containers};
    test_pool<redo> other(pool_setup{level::power, 64 << 20, 0, 1});
    auto& mine = *one.pool().root<queue<int, redo>>("q").value();
    auto& theirs = *other.pool().root<queue<int, redo>>("q").value();
    const auto refused = one.pool().atomically([&] {
        mine.push(1);
        theirs.push(1);
    });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::misuse);
    EXPECT_TRUE(mine.empty() && theirs.empty());
}

}  // namespace
}  // namespace holdfast::test
