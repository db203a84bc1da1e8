// Several threads in one pool with a small log: truncations, allocations, large transactions.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/log/lanes.hpp>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

int rounds(int usual) { return std::getenv("HOLDFAST_SOAK") != nullptr ? usual * 20 : usual; }

template <class F>
void in_threads(unsigned count, F&& f) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
    for (auto& each : threads) each.join();
}

template <class Engine>
struct node {
    typename Engine::template field<node*> next;
    typename Engine::template field<std::uint64_t> value;
};

template <class Engine>
struct slice {
    typename Engine::template field<std::uint64_t> values[32];
    typename Engine::template field<node<Engine>*> first;
    typename Engine::template field<std::uint64_t> length;
};
template <class Engine>
struct data {
    slice<Engine> slices[4];
    typename Engine::template field<std::uint8_t> bytes[4];  ///< of one word, each byte a thread's
    typename Engine::template field<std::uint64_t> shared[4];
};

template <class Engine>
class Concurrent : public ::testing::Test {};
TYPED_TEST_SUITE(Concurrent, recovering_engines);

/// One random transaction on a thread's own slice: all its values become `stamp`.
template <class Engine>
void change(slice<Engine>& own, std::uint64_t stamp, std::mt19937_64& random) {
    for (auto& each : own.values) each = stamp;
    if (own.length.get() < 20 && random() % 2 == 0) {
        auto* made = reinterpret_cast<node<Engine>*>(Engine::allocate(sizeof(node<Engine>) + random() % 300));
        made->value = own.length.get();
        made->next = own.first.get();
        own.first = made;
        ++own.length;
    } else if (own.first.get() != nullptr) {
        node<Engine>* gone = own.first;
        own.first = gone->next.get();
        --own.length;
        Engine::deallocate(gone);
    }
}

template <class Engine>
void check(basic_pool<Engine>& pool, data<Engine>& all) {
    std::vector<const void*> blocks{&all};
    for (slice<Engine>& each : all.slices) {
        for (const auto& value : each.values) EXPECT_EQ(value.get(), each.values[0].get()) << "torn";
        std::uint64_t length = each.length;
        for (node<Engine>* at = each.first; at != nullptr; at = at->next) {
            ASSERT_GT(length, 0u);
            EXPECT_EQ(at->value, --length);
            blocks.push_back(at);
        }
        EXPECT_EQ(length, 0u);
    }
    bring_home(pool);
    const auto audit = heap::audit(pool.core().base(), pool.core().zones(), blocks, true);
    EXPECT_TRUE(audit.clean()) << (audit.problems.empty() ? "leaks" : audit.problems.front());
}

TYPED_TEST(Concurrent, ThreadsOnDisjointDataShareASmallLog) {
    for (const level promise : {level::power, level::process}) {
        test_pool<TypeParam> pool({.durability = promise, .bytes = 4 << 20});
        auto* all = pool->template root<data<TypeParam>>("data").value();
        in_threads(4, [&](unsigned index) {
            std::mt19937_64 random(index);
            for (int i = 1; i <= rounds(400); ++i) {
                const bool commits = random() % 5 != 0;
                try {
                    const auto done = pool->atomically([&] {
                        change(all->slices[index], static_cast<std::uint64_t>(i), random);
                        all->bytes[index] = static_cast<std::uint8_t>(i);
                        if (!commits) throw 1;
                    });
                    ASSERT_TRUE(done) << done.error().text();
                    ASSERT_EQ(all->bytes[index].get(), static_cast<std::uint8_t>(i)) << "a neighbour overwrote it";
                } catch (int) {
                }
            }
        });
        check(*pool, *all);
        if (pool->core().lanes() != nullptr && promise == level::power) {
            EXPECT_GT(pool->core().lanes()->truncations(), 3u);
        }
        pool.kill();
        check(*pool, *all);
    }
}

TYPED_TEST(Concurrent, OneSharedLockMakesTransactionsSerial) {
    test_pool<TypeParam> pool;
    auto* all = pool->template root<data<TypeParam>>("data").value();
    std::mutex lock;
    const auto times = static_cast<std::uint64_t>(rounds(300));
    in_threads(4, [&](unsigned index) {
        for (std::uint64_t i = 0; i < times; ++i) {
            const auto done = pool->atomically(lock, [&] {
                const std::uint64_t before = all->shared[0];
                for (auto& each : all->shared) {
                    EXPECT_EQ(each.get(), before) << "saw half of another transaction, thread " << index;
                    each = before + 1;
                }
            });
            ASSERT_TRUE(done) << done.error().text();
        }
    });
    EXPECT_EQ(all->shared[3], 4 * times);
    pool.kill();
    EXPECT_EQ(all->shared[0], 4 * times);
}

template <class Engine>
void commit_much_beside_an_open_transaction() {
    const copies_count as_the_file_itself;
    test_pool<Engine> pool;
    auto* all = pool->template root<data<Engine>>("data").value();
    constexpr std::uint64_t times = 20000;  // several laps of the log
    const auto outer = pool->atomically([&] {
        all->shared[0] = 1;
        std::thread([&] {
            for (std::uint64_t i = 1; i <= times; ++i) {
                const auto done = pool->atomically([&] { all->shared[1] = i; });
                ASSERT_TRUE(done) << i << ": " << done.error().text();
            }
        }).join();
        all->shared[2] = 1;
        pool.take_snapshot();
    });
    ASSERT_TRUE(outer) << outer.error().text();
    EXPECT_EQ(all->shared[0] + all->shared[2], 2u);
    EXPECT_EQ(all->shared[1], times);
    pool.kill_at_snapshot();
    EXPECT_EQ(all->shared[0] + all->shared[2], 0u) << "it was open when the process died";
    EXPECT_EQ(all->shared[1], times) << "these had committed";
}

TEST(ConcurrentUndo, AnOpenTransactionDoesNotKeepOthersFromCommitting) {
    commit_much_beside_an_open_transaction<undo>();
    commit_much_beside_an_open_transaction<undo_paper>();
}

TEST(ConcurrentRedo, LargeTransactionsWaitForEachOthersRoomInsteadOfFailing) {
    // 15 segments of a page; each of these needs five.
    constexpr std::size_t words = 2200;
    test_pool<redo> pool({.bytes = 4 << 20});
    std::vector<redo::field<std::uint64_t>*> blocks;
    for (int i = 0; i < 4; ++i)
        blocks.push_back(pool->atomically([&] {
            return reinterpret_cast<redo::field<std::uint64_t>*>(redo::allocate(words * 8));
        }).value());
    ASSERT_TRUE(pool->checkpoint());
    in_threads(4, [&](unsigned index) {
        for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(rounds(40)); ++i) {
            const auto done = pool->atomically([&] {
                for (std::size_t word = 0; word < words; ++word) blocks[index][word] = i;
            });
            ASSERT_TRUE(done) << done.error().text();
        }
    });
    pool.kill();
    for (auto* block : blocks)
        for (std::size_t word = 0; word < words; ++word)
            ASSERT_EQ(block[word].get(), static_cast<std::uint64_t>(rounds(40)));
}

TEST(ConcurrentRedo, CommittersOnAFileShareOneLock) {
    test_pool<redo> pool({.directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private() || pool->core().persists_lines());
    auto* all = pool->root<data<redo>>("data").value();
    std::mutex lock;
    std::atomic<int> committed{0};
    in_threads(4, [&](unsigned) {
        for (int i = 0; i < 25; ++i) {
            const auto done = pool->atomically(lock, [&] {
                redo::on_commit([&] { ++committed; });
                for (auto& each : all->shared) ++each;
            });
            ASSERT_TRUE(done) << done.error().text();
        }
    });
    EXPECT_EQ(committed, 100);
    pool.kill();
    for (const auto& each : all->shared) EXPECT_EQ(each, 100u);
}

}  // namespace
}  // namespace holdfast
