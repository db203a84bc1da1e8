// What grows beyond the log must still grow, and what an operation logs must not grow with it.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/test_pool.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/redo.hpp>

#include <workload/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace holdfast::test {
namespace {

constexpr pool_setup small_log{level::power, std::uint64_t{512} << 20, 1 << 20, 0};

TEST(Growth, OfAVectorNeedsNoLogOfItsSize) {
    test_pool<redo> files(small_log);
    using V = vector<std::uint64_t, redo>;
    V& v = *files.pool().root<V>("v").value();
    constexpr std::size_t count = 2'000'000;
    constexpr std::size_t batch = 1000;
    std::vector<std::uint64_t> values(batch);
    for (std::size_t done = 0; done < count; done += batch) {
        for (std::size_t i = 0; i < batch; ++i) values[i] = done + i;
        v.append(values.data(), batch);
    }
    files.kill();
    const V& found = *files.pool().root<V>("v").value();
    ASSERT_EQ(found.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i].get(), i);
    EXPECT_TRUE(files.audit(found));
}

TEST(Growth, OfMapsNeverNeedsALargeTransaction) {
    test_pool<redo> files(small_log);
    auto& hash = *files.pool().root<hash_map<std::uint64_t, std::uint64_t, redo>>("hash").value();
    auto& tree = *files.pool().root<btree_map<std::uint64_t, std::uint64_t, redo>>("tree").value();
    constexpr std::uint64_t count = 100'000;
    std::uint64_t most_hash = 0;
    std::uint64_t most_tree = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto key = static_cast<std::uint64_t>(workload::scattered_key(i));
        most_hash = std::max(most_hash, streamed_bytes_of([&] { hash.try_emplace(key, i); }));
        most_tree = std::max(most_tree, streamed_bytes_of([&] { tree.try_emplace(key, i); }));
    }
    EXPECT_LT(most_hash, 1024u);
    EXPECT_LT(most_tree, 4096u);
    EXPECT_TRUE(hash.check().has_value() && tree.check().has_value());
    EXPECT_TRUE(files.audit(hash, tree));
    // Frees log bits, so that one transaction does for many entries.
    EXPECT_LT(streamed_bytes_of([&] { hash.clear(); }), count * 4);
    while (tree.erase_some(1000) != 0) continue;
    EXPECT_TRUE(hash.empty() && tree.empty());
    EXPECT_TRUE(files.audit(hash, tree));
}

/// Bytes streamed by one transaction on average, in whole records of lines.
template <class F>
double average_bytes(std::uint64_t count, F&& f) {
    const std::uint64_t bytes = streamed_bytes_of([&] {
        for (std::uint64_t i = 0; i < count; ++i) f(i);
    });
    return static_cast<double>(bytes) / static_cast<double>(count);
}

TEST(Growth, LogsAFewLinesForEachOperation) {
    test_pool<redo> files{for_containers};
    auto& pool = files.pool();
    auto& hash = *pool.root<hash_map<std::uint64_t, std::uint64_t, redo>>("hash").value();
    auto& tree = *pool.root<btree_map<std::uint64_t, std::uint64_t, redo>>("tree").value();
    auto& texts = *pool.root<btree_map<string<redo>, string<redo>, redo>>("texts").value();
    auto& line = *pool.root<queue<std::uint64_t, redo>>("line").value();
    auto& chain = *pool.root<list<std::uint64_t, redo>>("chain").value();
    auto& v = *pool.root<vector<std::uint64_t, redo>>("v").value();
    auto& s = *pool.root<string<redo>>("s").value();
    constexpr std::uint64_t count = 20'000;
    const auto key = [](std::uint64_t i) { return static_cast<std::uint64_t>(workload::scattered_key(i)); };
    const auto text = [&](std::uint64_t i) { return std::to_string(key(i)); };
    const auto print = [](const char* what, double bytes, double limit) {
        std::printf("%-28s %7.1f bytes of log\n", what, bytes);
        EXPECT_LE(bytes, limit) << what;
    };
    print("hash_map insert", average_bytes(count, [&](std::uint64_t i) { hash.try_emplace(key(i), i); }), 300);
    print("hash_map assign", average_bytes(count, [&](std::uint64_t i) { hash.insert_or_assign(key(i), 1); }), 70);
    print("hash_map erase", average_bytes(count, [&](std::uint64_t i) { hash.erase(key(i)); }), 300);
    print("btree_map insert", average_bytes(count, [&](std::uint64_t i) { tree.try_emplace(key(i), i); }), 300);
    print("btree_map assign", average_bytes(count, [&](std::uint64_t i) { tree.insert_or_assign(key(i), 1); }), 70);
    print("btree_map erase", average_bytes(count, [&](std::uint64_t i) { tree.erase(key(i)); }), 300);
    print("btree_map insert in order", average_bytes(count, [&](std::uint64_t i) { tree.try_emplace(i, i); }), 200);
    print("btree_map of strings insert",
          average_bytes(count, [&](std::uint64_t i) { texts.try_emplace(text(i), "value"); }), 700);
    print("queue push", average_bytes(count, [&](std::uint64_t i) { line.push(i); }), 140);
    print("queue pop", average_bytes(count, [&](std::uint64_t) { line.pop(); }), 140);
    print("list push_back", average_bytes(count, [&](std::uint64_t i) { chain.push_back(i); }), 200);
    const auto move_last = [&](std::uint64_t) { chain.splice(chain.begin(), chain, std::prev(chain.end())); };
    print("list move to the front", average_bytes(count, move_last), 200);
    const auto erase_second = [&](std::uint64_t) { chain.erase(std::next(chain.begin())); };
    print("list erase in the middle", average_bytes(count - 2, erase_second), 200);
    print("vector push_back", average_bytes(count, [&](std::uint64_t i) { v.push_back(i); }), 140);
    print("string push_back", average_bytes(count, [&](std::uint64_t) { s.push_back('x'); }), 140);
}

}  // namespace
}  // namespace holdfast::test
