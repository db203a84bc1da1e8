// Recovery of a cache on every state that a crash may leave of it, and mistakes that this finds.
#include <crash/exploration.hpp>
#include <workload/cache/check.hpp>
#include <workload/recovered_access_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::workload::test {
namespace {

template <class Engine>
cache<recovered_access<Engine>> recovered(const cache_root& root) {
    return {recovered_access<Engine>(), const_cast<cache_root*>(&root)};
}

/// Items in their order with all that they have, and the counts.
template <class Engine>
std::vector<std::uint64_t> contents_of(const cache_root& root) {
    const recovered_access<Engine> memory;
    const auto all = recovered<Engine>(root);
    std::vector<std::uint64_t> words;
    if (!all.exists()) return words;
    for (const cache_item* at = memory.load(&all.partition(0)->newest); at != nullptr; at = memory.load(&at->older)) {
        for (const std::uint64_t* word : {&at->hash, &at->unique, &at->expires_at, &at->moved_at, &at->value_bytes})
            words.push_back(memory.load(word));
        words.push_back(memory.load(&at->flags));
        const std::uint64_t key_words = (memory.load(&at->key_bytes) + 7) / 8;
        for (std::uint64_t i = 0; i < key_words + (memory.load(&at->value_bytes) + 7) / 8; ++i)
            words.push_back(memory.load(reinterpret_cast<const std::uint64_t*>(at + 1) + i));
    }
    cache_statistics counts{};
    all.statistics(counts);
    for (std::uint64_t i = 0; i < cache_statistics_words; ++i)
        words.push_back(reinterpret_cast<const std::uint64_t*>(&counts)[i]);
    return words;
}

/// Of a cache whose creation has not ended as well.
template <class Engine, class F>
void visit_blocks_of(const cache_root& root, F&& visit) {
    const recovered_access<Engine> memory;
    const cache_partition* const first = memory.load(&root.partitions);
    if (first == nullptr) return;
    visit(first);
    if (memory.load(&first->buckets) != nullptr) visit(memory.load(&first->buckets));
    for (const cache_item* at = memory.load(&first->newest); at != nullptr; at = memory.load(&at->older)) visit(at);
}

constexpr cache_settings room_for_two{.limit_bytes = 2 * cache_item_bytes(1, 8), .buckets = 2, .move_after_s = 10};

template <class Engine, template <class> class Access>
class explored_cache {
public:
    using access_type = Access<Engine>;
    using cache_type = cache<access_type>;

    explored_cache() {
        explore.invariant("the cache is sound", [](const cache_root& root) {
            const auto all = recovered<Engine>(root);
            return cache_check<recovered_access<Engine>>(recovered_access<Engine>(), all).run().ok();
        });
        explore.state([](const cache_root& root) { return contents_of<Engine>(root); });
        explore.blocks([](const cache_root& root, const auto& visit) { visit_blocks_of<Engine>(root, visit); });
    }

    /// f(cache, key) as an operation.
    template <class F>
    void command(const std::string& name, std::string_view key, F f) {
        explore.operation(name, [f, key](basic_pool<Engine>& pool, cache_root& root) {
            f(cache_type(access_type(pool.core()), &root), cache_key(key.data(), key.size()));
        });
    }
    /// A full cache to begin with: a, and b, which was stored later.
    void prepare() {
        explore.prepare([](cache_root& root) {
            cache<prepared_access<Engine>> all(prepared_access<Engine>(), &root);
            all.create(room_for_two);
            all.set({"a", 1}, {"value", 5, 1}, 100);
            all.set({"b", 1}, {"17", 2, 0, 50}, 100);
        });
    }

    crash::exploration<Engine, cache_root> explore;
};

template <class Engine>
using right_access = pool_access<Engine>;

/// Pointers go round the library.
template <class Engine>
struct direct_access : pool_access<Engine> {
    using pool_access<Engine>::pool_access;
    using pool_access<Engine>::store;
    void store(cache_item** home, cache_item* value) const {
        *home = value;
    }
};

/// What is freed is not.
template <class Engine>
struct leaking_access : pool_access<Engine> {
    using pool_access<Engine>::pool_access;
    void free(void*) const {}
};

template <class Explored>
void declare_commands(Explored& all) {
    all.command("set a", "a", [](const auto& kept, const cache_key& key) { kept.set(key, {"other", 5, 2}, 100); });
    all.command("set c, evict a", "c", [](const auto& kept, const cache_key& key) { kept.set(key, {"3", 1}, 100); });
    all.command("set a longer, evict b", "a", [](const auto& kept, const cache_key& key) {
        kept.set(key, {"a longer value", 14}, 120);
    });
    all.command("increment b", "b", [](const auto& kept, const cache_key& key) {
        std::uint64_t sum = 0;
        kept.increment(key, 5, 130, sum);
    });
    all.command("get b late", "b", [](const auto& kept, const cache_key& key) {
        char room[16];
        cache_found found{room, sizeof room};
        kept.get(key, 200, found);
    });
    all.command("remove a", "a", [](const auto& kept, const cache_key& key) { kept.remove(key, 100); });
    all.command("flush", "a", [](const auto& kept, const cache_key&) { kept.flush_all(0, 100); });
}

/// Every command, or every two of them at full length.
unsigned longest() { return holdfast::test::at_full_length() ? 2 : 1; }

template <class Engine>
void expect_clean() {
    explored_cache<Engine, right_access> all;
    all.prepare();
    declare_commands(all);
    const auto found = all.explore.run(longest(), {.images_of_a_cut = 16});
    EXPECT_TRUE(found.clean()) << found.text();
    for (const auto& each : found.rows) EXPECT_GT(each.images, 100u) << each.model;
    std::printf("%s", found.text().c_str());
}

TEST(ExploredCache, IsBeforeOrAfterACommandWithItsCountsWhateverTheCrash) {
    expect_clean<redo>();
    expect_clean<undo>();
}

TEST(ExploredCache, IsThereOrNotWhereverItsCreationIsCut) {
    explored_cache<redo, right_access> all;
    all.explore.operation("create", [](redo::pool& pool, cache_root& root) {
        cache<pool_access<redo>>(pool_access<redo>(pool.core()), &root).create(room_for_two);
    });
    all.explore.operation("dispose", [](redo::pool& pool, cache_root& root) {
        cache<pool_access<redo>>(pool_access<redo>(pool.core()), &root).dispose();
    });
    const auto found = all.explore.run(2, {.images_of_a_cut = 16});
    EXPECT_TRUE(found.clean()) << found.text();
    std::printf("%s", found.text().c_str());
}

TEST(ExploredCache, LinksThatGoRoundTheLibraryAreFound) {
    explored_cache<redo, direct_access> all;
    all.prepare();
    declare_commands(all);
    const auto found = all.explore.run(1);
    for (const auto& each : found.rows) EXPECT_NE(each.violation, "") << each.model;
    EXPECT_NE(found.text().find("not stored by the library: explored_test.cpp"), std::string::npos) << found.text();
}

TEST(ExploredCache, ItemsThatAreNotFreedAreFound) {
    explored_cache<redo, leaking_access> all;
    all.prepare();
    declare_commands(all);
    const auto found = all.explore.run(1, {.model = "kill"});
    EXPECT_NE(found.text().find("has no owner"), std::string::npos) << found.text();
}

TEST(ExploredCache, ACommandOfTwoTransactionsIsFound) {
    explored_cache<redo, right_access> all;
    all.prepare();
    // The first one is the look of a new cache object at its root.
    all.command("set in two steps", "a", [](const auto& kept, const cache_key& key) {
        kept.remove(key, 100);
        kept.add(key, {"value", 5}, 100);
    });
    const auto found = all.explore.run(1, {.model = "kill"});
    EXPECT_NE(found.text().find("after commit 2 of 3"), std::string::npos) << found.text();
}

}  // namespace
}  // namespace holdfast::workload::test
