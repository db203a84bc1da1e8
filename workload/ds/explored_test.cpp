// Recovery of each structure on every state that a crash may leave of it, and mistakes that this finds.
#include <crash/exploration.hpp>
#include <workload/ds/bitmap.hpp>
#include <workload/ds/heap.hpp>
#include <workload/ds/map.hpp>
#include <workload/ds/pair.hpp>
#include <workload/ds/queue.hpp>
#include <workload/ds/vector.hpp>
#include <workload/recovered_access_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace holdfast::workload::test {
namespace {

using number = std::uint64_t;
using entry = pair<std::int64_t, number>;

struct all_roots {
    queue_root<number> queue;
    vector_root<number> vector;
    vector_root<number> heap;
    bitmap_root bitmap;
    rbtree_uncounted_root map;
};

struct smaller {
    bool operator()(number a, number b) const { return a < b; }
};

/// Those of a root by an Access.
template <class Access>
struct structures {
    structures(const Access& by, all_roots* root)
        : memory(by),
          waiting(by, &root->queue),
          row(by, &root->vector),
          first(by, &root->heap, smaller{}),
          bits(by, &root->bitmap),
          entries(by, &root->map) {}

    void insert(std::int64_t key, number value) const {
        if (!entries.contains(key)) entries.insert(key, make_pair(memory, key, value));
    }
    void remove(std::int64_t key) const {
        entry* kept = nullptr;
        if (!entries.get(key, kept)) return;
        entries.remove(key);
        memory.free(kept);
    }

    Access memory;
    queue<Access, number> waiting;
    vector<Access, number> row;
    heap<Access, number, smaller> first;
    bitmap<Access> bits;
    map<Access, entry*> entries;
};

template <class Engine>
structures<recovered_access<Engine>> recovered(const all_roots& root) {
    return {recovered_access<Engine>(), const_cast<all_roots*>(&root)};
}

template <class Engine>
std::vector<number> contents_of(const all_roots& root) {
    const auto all = recovered<Engine>(root);
    std::vector<number> words{all.waiting.count(), all.row.count(), all.first.count(), all.bits.bits()};
    all.waiting.each([&](number value) { words.push_back(value); });
    for (number i = 0; i < all.row.count(); ++i) words.push_back(all.row.at(i));
    const vector<recovered_access<Engine>, number> heaped(all.memory, const_cast<vector_root<number>*>(&root.heap));
    for (number i = 0; i < heaped.count(); ++i) words.push_back(heaped.at(i));
    for (number i = 0; i < all.bits.bits(); ++i) words.push_back(all.bits.test(i) ? 1 : 0);
    all.entries.each([&](std::int64_t key, const entry* kept) {
        words.push_back(static_cast<number>(key));
        words.push_back(load_pair(all.memory, kept).second);
    });
    return words;
}

template <class Engine, class F>
void visit_nodes(const rbtree_node* node, F&& visit) {
    if (node == nullptr) return;
    const recovered_access<Engine> memory;
    visit(node);
    visit_nodes<Engine>(memory.load(&node->child[0]), visit);
    visit_nodes<Engine>(memory.load(&node->child[1]), visit);
}

template <class Engine, class F>
void visit_blocks_of(const all_roots& root, F&& visit) {
    const recovered_access<Engine> memory;
    for (number* const* places : {&root.queue.places, &root.vector.places, &root.heap.places, &root.bitmap.words})
        if (memory.load(places) != nullptr) visit(memory.load(places));
    visit_nodes<Engine>(memory.load(&root.map.top), visit);
    recovered<Engine>(root).entries.each([&](std::int64_t, const entry* kept) { visit(kept); });
}

template <class Engine, template <class> class Access>
class explored_structures {
public:
    using access_type = Access<Engine>;

    explored_structures() {
        explore.invariant("heap and map are in order", [](const all_roots& root) {
            const auto all = recovered<Engine>(root);
            return all.first.check().ok() && all.entries.check().ok();
        });
        explore.state([](const all_roots& root) { return contents_of<Engine>(root); });
        explore.blocks([](const all_roots& root, const auto& visit) { visit_blocks_of<Engine>(root, visit); });
        // Rows of as many as they have room for first, so that one more makes them grow.
        explore.prepare([](all_roots& root) {
            const structures<prepared_access<Engine>> all(prepared_access<Engine>(), &root);
            all.bits.create(70);
            do all.waiting.push(all.waiting.count());
            while (all.waiting.count() != all.memory.load(&root.queue.capacity));
            do all.row.push_back(all.row.count());
            while (all.row.count() != all.memory.load(&root.vector.capacity));
            for (const number value : {5u, 3u, 9u, 1u}) all.first.push(value);
            for (const std::int64_t key : {4, 2, 6}) all.insert(key, 10);
        });
    }

    /// f(structures) as one transaction.
    template <class F>
    void operation(const std::string& name, F f) {
        explore.operation(name, [f](basic_pool<Engine>& pool, all_roots& root) {
            const access_type memory(pool.core());
            const structures<access_type> all(memory, &root);
            memory.atomically([&] { f(all); });
        });
    }

    crash::exploration<Engine, all_roots> explore;
};

template <class Engine>
using right_access = pool_access<Engine>;

/// What is freed is not.
template <class Engine>
struct leaking_access : pool_access<Engine> {
    using pool_access<Engine>::pool_access;
    void free(void*) const {}
};

template <class Explored>
void declare_operations(Explored& all) {
    all.operation("queue grows", [](const auto& each) { each.waiting.push(100); });
    all.operation("pop", [](const auto& each) { each.waiting.pop_or(0); });
    all.operation("vector grows", [](const auto& each) { each.row.push_back(100); });
    all.operation("pop back, set", [](const auto& each) {
        number last = 0;
        each.row.pop_back(last);
        each.row.set(0, 101);
    });
    all.operation("heap push", [](const auto& each) { each.first.push(2); });
    all.operation("heap pop", [](const auto& each) {
        number smallest = 0;
        each.first.pop(smallest);
    });
    all.operation("set bits", [](const auto& each) {
        each.bits.set(0);
        each.bits.set(69);
    });
    all.operation("insert", [](const auto& each) { each.insert(5, 11); });
    all.operation("remove", [](const auto& each) { each.remove(4); });
    all.operation("dispose", [](const auto& each) {
        each.waiting.dispose();
        each.row.dispose();
        each.first.dispose();
        each.bits.dispose();
    });
}

/// Every operation, or every two of them at full length.
unsigned longest() { return holdfast::test::at_full_length() ? 2 : 1; }

template <class Engine>
void expect_clean() {
    explored_structures<Engine, right_access> all;
    declare_operations(all);
    const auto found = all.explore.run(longest(), {.images_of_a_cut = 16});
    EXPECT_TRUE(found.clean()) << found.text();
    for (const auto& each : found.rows) EXPECT_GT(each.images, 100u) << each.model;
    std::printf("%s", found.text().c_str());
}

TEST(ExploredStructures, AreBeforeOrAfterAnOperationWhateverTheCrash) {
    expect_clean<redo>();
    expect_clean<undo>();
}

TEST(ExploredStructures, PlacesThatAreNotFreedAreFound) {
    explored_structures<redo, leaking_access> all;
    declare_operations(all);
    const auto found = all.explore.run(1, {.model = "kill"});
    EXPECT_NE(found.text().find("has no owner"), std::string::npos) << found.text();
}

TEST(ExploredStructures, AnOperationOfTwoTransactionsIsFound) {
    explored_structures<redo, right_access> all;
    all.explore.operation("two pushes", [](redo::pool& pool, all_roots& root) {
        const pool_access<redo> memory(pool.core());
        const structures<pool_access<redo>> each(memory, &root);
        memory.atomically([&] { each.first.push(0); });
        memory.atomically([&] { each.first.push(1); });
    });
    const auto found = all.explore.run(1, {.model = "kill"});
    EXPECT_NE(found.text().find("after commit 1 of 2"), std::string::npos) << found.text();
}

}  // namespace
}  // namespace holdfast::workload::test
