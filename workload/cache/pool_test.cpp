// The cache in pools: what is left when a process dies is what was answered.
#include <workload/cache/killed_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/engine/access.hpp>
#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/test_pool.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace holdfast::workload::test {
namespace {

/// A pool's cache.
template <class Engine>
cache<pool_access<Engine>> cache_of(basic_pool<Engine>& pool) {
    return {pool_access<Engine>(pool.core()), pool.template plain_root<cache_root>("cache").value()};
}

/// Its blocks, for the audit of the heap.
template <class Engine>
struct owned_blocks {
    basic_pool<Engine>& pool;

    template <class F>
    void visit_blocks(F&& visit) const {
        const pool_access<Engine> memory(pool.core());
        const auto all = cache_of(pool);
        visit(all.partition(0));
        for (std::uint64_t i = 0; i < all.partitions(); ++i) {
            visit(memory.load(&all.partition(i)->buckets));
            const cache_item* at = memory.load(&all.partition(i)->newest);
            for (; at != nullptr; at = memory.load(&at->older)) visit(at);
        }
    }
};

template <class Engine>
class CacheInPool : public ::testing::Test {
protected:
    holdfast::test::test_pool<Engine> files{{.bytes = 4 << 20, .log_bytes = 256 << 10}};
    std::uint64_t seed = holdfast::test::seed_of_run();

    ::testing::AssertionResult audit() { return files.audit(owned_blocks<Engine>{*files}); }
    std::string difference_from(const cache_model& model) {
        return difference(pool_access<Engine>((*files).core()), cache_of(*files), model);
    }
};
using engines = ::testing::Types<redo, steal_no_force, softwrap, undo, cc_htm>;
TYPED_TEST_SUITE(CacheInPool, engines);

TYPED_TEST(CacheInPool, IsWhatTheModelIsAfterEveryRecovery) {
    const std::uint64_t lives = holdfast::test::at_full_length() ? 100 : 10, commands = 400;
    ASSERT_TRUE(cache_of(*this->files).create(small_cache));
    cache_model model(small_cache);
    for (std::uint64_t life = 0; life < lives; ++life) {
        cache_runner<pool_access<TypeParam>> runner(cache_of(*this->files));
        model.forget();
        for (std::uint64_t i = life * commands + 1; i <= (life + 1) * commands; ++i) {
            const cache_command one = drawn_command(this->seed, i);
            ASSERT_EQ(runner.run(one), model.run(one)) << "command " << i << ": " << one;
        }
        this->files.kill();
        ASSERT_EQ(this->difference_from(model), "") << "life " << life;
        ASSERT_TRUE(this->audit());
    }
    EXPECT_GT(model.statistics().evictions, 100u);
    ASSERT_TRUE(cache_of(*this->files).dispose());
    EXPECT_TRUE(this->files.audit());
}

/// Counts the transactions that committed.
struct counting_access : pool_access<redo> {
    counting_access(open_pool& pool, std::uint64_t& committed) : pool_access<redo>(pool), committed_(&committed) {}
    template <class F>
    bool atomically(F&& f) const {
        const bool good = pool_access<redo>::atomically(f);
        *committed_ += good ? 1u : 0u;
        return good;
    }
    std::uint64_t* committed_;
};

/// In how many transactions a large value takes the place of many small ones.
std::uint64_t transactions_of_large_value(std::uint64_t log_bytes) {
    holdfast::test::test_pool<redo> files({.bytes = 16 << 20, .log_bytes = log_bytes});
    EXPECT_TRUE(cache_of(*files).create({.limit_bytes = 400'000, .buckets = 4096}));
    std::uint64_t committed = 0;
    const cache<counting_access> all(counting_access((*files).core(), committed),
                                     (*files).plain_root<cache_root>("cache").value());
    const auto set = [&](const std::string& name, std::uint64_t bytes) {
        const std::string text(bytes, 'x');
        return all.set({name.data(), name.size()}, {text.data(), bytes}, 1);
    };
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(set(std::to_string(i), 1), cache_answer::stored);
    cache_statistics before{}, after{};
    EXPECT_TRUE(all.statistics(before));
    committed = 0;
    EXPECT_EQ(set("large", 390'000), cache_answer::stored);
    const std::uint64_t needed = committed;
    EXPECT_TRUE(all.statistics(after));
    EXPECT_EQ(after.evictions - before.evictions, (390'000u + 80 - (400'000 - before.bytes) + 87) / 88);
    EXPECT_EQ(cache_check(counting_access((*files).core(), committed), all).run().problem, nullptr);
    return needed;
}

TEST(CacheInPools, ACommandIsOneTransactionUnlessTheLogCannotHoldItsEvictions) {
    EXPECT_EQ(transactions_of_large_value(4 << 20), 1u);
    const std::uint64_t in_steps = transactions_of_large_value(64 << 10);
    EXPECT_GT(in_steps, 100u) << "32 items each";
    EXPECT_LT(in_steps, 200u);
}

TEST(CacheInPools, ACommandThatFailsForWantOfMemoryDoesNothing) {
    holdfast::test::test_pool<redo> files({.bytes = 4 << 20, .log_bytes = 64 << 10});
    ASSERT_TRUE(cache_of(*files).create({.limit_bytes = 1 << 30, .buckets = 64, .value_bytes_max = 1 << 30}));
    const auto all = cache_of(*files);
    const std::string small = "small", large(8 << 20, 'x');
    const cache_key key(small.data(), small.size());
    ASSERT_EQ(all.set(key, {small.data(), small.size()}, 1), cache_answer::stored);
    cache_statistics before{}, after{};
    ASSERT_TRUE(all.statistics(before));
    EXPECT_EQ(all.set(key, {large.data(), large.size()}, 1), cache_answer::failed);
    ASSERT_TRUE(all.statistics(after));
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
    char room[16];
    cache_found found{room, sizeof room};
    EXPECT_EQ(all.get(key, 1, found), cache_answer::found);
    EXPECT_EQ(found.bytes, small.size());
}

/// What a killed_cache asks of a pool.
template <class Engine>
class pool_to_kill {
public:
    explicit pool_to_kill(level durability)
        : files_({.durability = durability, .bytes = 4 << 20, .log_bytes = 256 << 10}) {}

    /// Closed, so that open opens it, here and in the child.
    void close() { EXPECT_TRUE((*files_).close()); }
    void open() { files_.kill(); }
    pool_access<Engine> memory() { return pool_access<Engine>((*files_).core()); }
    cache<pool_access<Engine>> all() { return cache_of(*files_); }
    ::testing::AssertionResult audit() { return files_.audit(owned_blocks<Engine>{*files_}); }

private:
    holdfast::test::test_pool<Engine> files_;
};

template <class Engine>
void kill_in_pool(level durability) {
    pool_to_kill<Engine> pool(durability);
    run_kills(pool);
}

TEST(KilledCache, HasEveryCommandThatWasAnsweredAndItsCounts) {
    kill_in_pool<redo>(level::process);
    kill_in_pool<redo>(level::power);
    kill_in_pool<undo>(level::process);
    kill_in_pool<softwrap>(level::power);
}

}  // namespace
}  // namespace holdfast::workload::test
