// Containers under the caller's locks, from several threads.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/test_pool.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

template <class Engine>
class Threads : public ::testing::Test {};
using logging_engines = ::testing::Types<redo, softwrap_lat, softwrap, undo>;
TYPED_TEST_SUITE(Threads, logging_engines);

template <class Engine>
struct shared {
    hash_map<int, int, Engine> map;
    btree_map<int, int, Engine> tree;
    queue<int, Engine> line;
};

TYPED_TEST(Threads, OneLockForAllContainers) {
    using engine = TypeParam;
    test_pool<engine> files{for_containers};
    auto& all = *files.pool().template root<shared<engine>>("all").value();
    std::mutex lock;
    constexpr int each = 400;
    const auto work = [&](int first) {
        for (int i = first; i < first + each; ++i) {
            files.pool().atomically(lock, [&] {
                all.map.try_emplace(i, i);
                all.tree.try_emplace(i, i);
                all.line.push(i);
                if (i % 4 == 3) all.map.erase(i - 1);
            }).value();
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back(work, t * each);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(all.line.size(), 3u * each);
    EXPECT_EQ(all.tree.size(), 3u * each);
    EXPECT_EQ(all.map.size(), 3u * each * 3 / 4);
    files.kill();
    auto& found = *files.pool().template root<shared<engine>>("all").value();
    EXPECT_TRUE(found.map.check().has_value() && found.tree.check().has_value() && found.line.check().has_value());
    EXPECT_TRUE(files.audit(found.map, found.tree, found.line));
    EXPECT_EQ(found.tree.size(), 3u * each);
}

TYPED_TEST(Threads, AContainerForEachThreadNeedsNoLock) {
    using engine = TypeParam;
    test_pool<engine> files{for_containers};
    using map = hash_map<int, int, engine>;
    std::vector<map*> maps;
    for (const char* name : {"a", "b", "c"}) maps.push_back(files.pool().template root<map>(name).value());
    std::vector<std::thread> threads;
    for (map* own : maps) {
        threads.emplace_back([own] {
            for (int i = 0; i < 500; ++i) own->insert_or_assign(i % 200, i);
            for (int i = 0; i < 100; ++i) own->erase(i);
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (map* own : maps) {
        EXPECT_EQ(own->size(), 100u);
        EXPECT_TRUE(own->check().has_value());
    }
    EXPECT_TRUE(files.audit(*maps[0], *maps[1], *maps[2]));
}

}  // namespace
}  // namespace holdfast::test
