// Growing a pool that is in use: full pools, open transactions, several threads, every engine and medium.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/engine/redo.hpp>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
struct node {
    typename Engine::template field<node*> next;
    typename Engine::template field<std::uint64_t> value;
    typename Engine::template field<std::uint64_t> filling[60];
};

template <class Engine>
struct list {
    typename Engine::template field<node<Engine>*> first;
    typename Engine::template field<std::uint64_t> length;

    void push() {
        auto* made = Engine::template make<node<Engine>>();
        made->value = length.get();
        made->filling[59] = ~length.get();
        made->next = first.get();
        first = made;
        ++length;
    }
    /// Every node, newest first; fails the test where one is not as it was made.
    std::vector<const void*> nodes() const {
        std::vector<const void*> all;
        std::uint64_t left = length;
        for (node<Engine>* at = first; at != nullptr && left > 0; at = at->next) {
            --left;
            EXPECT_EQ(at->value, left);
            EXPECT_EQ(at->filling[59], ~left);
            all.push_back(at);
        }
        EXPECT_EQ(all.size(), length.get());
        return all;
    }
};

template <class Engine>
struct data {
    list<Engine> lists[2];
    typename Engine::template field<std::byte*> large;
};

/// Where an engine's pools may lie: each way in which homes reach the medium.
template <class Engine>
std::vector<pool_setup> places() {
    pool_setup nvram{.bytes = 256 << 10}, file = nvram;
    file.directory = ".";
    std::vector<pool_setup> all{nvram};
#ifndef HOLDFAST_FEW_PLACES
    pool_setup killed = nvram;
    killed.durability = level::process;
    all.push_back(killed);
    killed.directory = ".";
    all.push_back(killed);
#endif
    if (Engine::description.power_on_files) all.push_back(file);
    return all;
}

template <class Engine>
void expect_sound(basic_pool<Engine>& pool, const data<Engine>& all) {
    std::vector<const void*> owned{&all};
    for (const auto& each : all.lists) {
        const auto nodes = each.nodes();
        owned.insert(owned.end(), nodes.begin(), nodes.end());
    }
    if (all.large.get() != nullptr) owned.push_back(all.large.get());
    ASSERT_TRUE(pool.checkpoint());
    const auto audit = heap::audit(pool.core().base(), pool.core().zones(), owned, true);
    EXPECT_TRUE(audit.clean()) << (audit.problems.empty() ? "" : audit.problems.front());
}

/// Pushes until there is no room; returns what the last try said.
template <class Engine>
error fill(basic_pool<Engine>& pool, list<Engine>& full) {
    // Several at a time as long as they fit into pool and log: on a file each transaction is a sync.
    for (int batch = 8;;) {
        const auto done = pool.atomically([&] {
            for (int i = 0; i < batch; ++i) full.push();
        });
        if (!done && batch == 1) return done.error();
        if (!done) batch = 1;
    }
}

template <class Engine>
class Grow : public ::testing::Test {};
TYPED_TEST_SUITE(Grow, all_engines);

TYPED_TEST(Grow, KeepsEveryObjectWhereItWasAndServesAllocationsFromTheNewRoom) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* root = pool->template root<data<TypeParam>>("data").value();
        auto& full = root->lists[0];
        for (std::uint64_t bytes = 512 << 10; bytes <= 1 << 20; bytes *= 2) {
            const error reason = fill(*pool, full);
            EXPECT_EQ(reason.code, errc::out_of_space) << reason.text();
            EXPECT_NE(reason.text().find("pool grow"), std::string::npos) << reason.text();
            const auto before = full.nodes();
            const auto grown = pool->grow(bytes);
            ASSERT_TRUE(grown) << grown.error().text();
            EXPECT_EQ(full.nodes(), before);
            ASSERT_TRUE(pool->atomically([&] { full.push(); }));
            EXPECT_EQ(full.nodes().size(), before.size() + 1);
        }
        const error reason = fill(*pool, full);
        EXPECT_EQ(reason.code, errc::out_of_space) << reason.text();
        EXPECT_GT(full.nodes().size(), std::size_t{(1 << 20) / 520 * 8 / 10}) << "most of the room is used";
        const auto before = full.nodes();
        if (TypeParam::description.recovers) pool.kill();
        pool.reopen();
        EXPECT_EQ(full.nodes(), before) << "in the same places, which opening maps";
        expect_sound(*pool, *root);
        ASSERT_TRUE(pool->grow(16 << 20)) << "after opening again, too";
        // Far out, so that whatever is sized by the pool has to follow.
        ASSERT_TRUE(pool->atomically([&] {
            root->large = TypeParam::allocate(12 << 20);
            full.push();
        }));
        EXPECT_GT(reinterpret_cast<std::byte*>(full.first.get()), pool->core().base() + (12 << 20));
        expect_sound(*pool, *root);
    }
}

TYPED_TEST(Grow, ATransactionThatRanOutOfSpaceGrowsThePoolAndGoesOn) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* root = pool->template root<data<TypeParam>>("data").value();
        auto& list = root->lists[0];
        fill(*pool, list);
        const std::uint64_t full = list.length;
        const auto done = pool->atomically([&] {
            for (int i = 0; i < 4; ++i) {
                try {
                    list.push();
                } catch (const failure& reason) {
                    if (reason.reason().code != errc::out_of_space) throw;
                    pool->grow(pool->core().size() + (64 << 10)).value();
                    list.push();
                }
            }
        });
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_EQ(list.length, full + 4);
        // Rolled back, the blocks go and the room stays.
        const std::uint64_t grown = pool->core().size();
        EXPECT_THROW(static_cast<void>(pool->atomically([&] {
            pool->grow(grown + (64 << 10)).value();
            for (int i = 0; i < 3; ++i) list.push();
            throw 1;
        })),
                     int);
        EXPECT_EQ(pool->core().size(), grown + (64 << 10));
        if (TypeParam::description.recovers) pool.kill();
        EXPECT_EQ(list.length, full + 4);
        expect_sound(*pool, *root);
    }
}

TYPED_TEST(Grow, ATransactionThatBeganBeforeStoresToTheNewRoomLikeToAnyOther) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* root = pool->template root<data<TypeParam>>("data").value();
        fill(*pool, root->lists[0]);
        auto& list = root->lists[1];
        const auto store_to_what_another_thread_made = [&](std::uint64_t value, bool rolled_back) {
            return pool->atomically([&] {
                root->lists[0].first.get()->filling[0] = value;
                std::thread([&] {
                    pool->grow(pool->core().size() + (64 << 10)).value();
                    fill(*pool, list);
                }).join();
                list.first.get()->filling[0] = value;
                if (rolled_back) throw 1;
            });
        };
        EXPECT_THROW(static_cast<void>(store_to_what_another_thread_made(1, true)), int);
        EXPECT_EQ(list.first.get()->filling[0], 0u) << "it was not logged";
        ASSERT_TRUE(store_to_what_another_thread_made(2, false));
        if (TypeParam::description.recovers) pool.kill();
        EXPECT_EQ(list.first.get()->filling[0], 2u);
        expect_sound(*pool, *root);
    }
}

TYPED_TEST(Grow, ThreadsGoOnWhileThePoolGrows) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* root = pool->template root<data<TypeParam>>("data").value();
        std::atomic<bool> grown_to_the_end{false};
        std::vector<std::thread> threads;
        for (auto& own : root->lists)
            threads.emplace_back([&pool, &own, &grown_to_the_end] {
                // A full pool is what makes the next growth matter at once.
                while (!grown_to_the_end) {
                    const auto done = pool->atomically([&] { own.push(); });
                    if (done) continue;
                    ASSERT_EQ(done.error().code, errc::out_of_space) << done.error().text();
                    std::this_thread::yield();
                }
            });
        for (int i = 0; i < 8; ++i) {
            const auto grown = pool->grow(pool->core().size() + (96 << 10));
            EXPECT_TRUE(grown) << grown.error().text();
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }
        grown_to_the_end = true;
        for (auto& each : threads) each.join();
        if (TypeParam::description.recovers) pool.kill();
        expect_sound(*pool, *root);
    }
}

TEST(GrowClosed, AClosedHandleSaysSo) {
    test_pool<redo> pool;
    pool->close().value();
    EXPECT_EQ(code_of(pool->grow(2 << 20)), errc::misuse);
}

}  // namespace
}  // namespace holdfast
