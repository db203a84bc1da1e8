// Memory runs out in one thread, at each allocation of a transaction in turn: the transaction happens or does not,
// others go on, and the pool is as sound as before.
#include <holdfast/base/test_failing_memory.hpp>
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/handle/wrap.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

constexpr std::size_t cell_count = 1500;

enum class outcome { committed, rolled_back };
/// What a transaction of the test does beside storing to all cells.
enum class work { cells, blocks, large_blocks };
/// From when on memory runs out.
enum class since { call, commit };

template <class Engine>
class FailingMemory : public ::testing::Test {
protected:
    template <class T>
    using field = typename Engine::template field<T>;
    /// Every other word: the record has an entry for each, and is cut into parts.
    struct cell {
        field<std::uint64_t> value, unused;
    };
    struct data {
        cell cells[cell_count];
        field<std::byte*> block;
        field<std::uint64_t> others;
    };

    void open(const pool_setup& setup) {
        pool_.emplace(setup);
        look();
        ASSERT_TRUE((*pool_)->atomically([&] {
            for (cell& each : data_->cells) each.value = 0;
        }));
    }
    void look() { data_ = (*pool_)->template root<data>("data").value(); }

    /// All cells become `stamp`; a few of them twice.
    void store(std::uint64_t stamp, work what, std::size_t cells) {
        for (std::size_t i = 0; i < cells; ++i) data_->cells[i].value = stamp;
        if (what == work::cells) return;
        const std::size_t bytes = what == work::blocks ? 40 + stamp % 7 * 100 : (48 << 10) + stamp % 3 * 4096;
        Engine::deallocate(data_->block.get());
        std::byte* const block = Engine::allocate(bytes);
        data_->block = block;
        for (std::size_t at = 0; at + 8 <= bytes; at += 512)
            store_value(current_transaction<Engine>(), block + at, stamp);
    }

    std::uint64_t expect_whole(std::size_t cells) {
        const std::uint64_t value = data_->cells[0].value;
        for (std::size_t i = 0; i < cells; ++i) EXPECT_EQ(data_->cells[i].value, value) << "cell " << i;
        return value;
    }

    /// One call in a thread of its own, in which all allocations but the first `allocations` fail. nullopt: none did.
    std::optional<outcome> call(std::uint64_t stamp, std::int64_t allocations, work what, since when,
                                std::size_t cells, bool once) {
        std::optional<outcome> done = outcome::rolled_back;
        std::thread([&] {
            std::optional<failing_memory> scarce;
            if (when == since::call) scarce.emplace(allocations, once);
            try {
                auto returned = (*pool_)->atomically(lock_, [&] {
                    store(stamp, what, cells);
                    if (when == since::commit) scarce.emplace(allocations, once);
                });
                if (returned) done = outcome::committed;
            } catch (const std::bad_alloc&) {
            }
            const bool was_needed = failing_memory::was_needed();
            scarce.reset();
            if (!was_needed) done.reset();
            EXPECT_FALSE(Engine::in_transaction());
            // With memory the thread is as good as new.
            EXPECT_TRUE((*pool_)->atomically(lock_, [&] { data_->others += 1; }));
        }).join();
        return done;
    }

    void run(const pool_setup& setup, work what, since when, std::size_t cells, bool once) {
        open(setup);
        std::uint64_t stamp = 0, others = 0;
        for (std::int64_t allocations = 0;; ++allocations) {
            ASSERT_LT(allocations, 2000);
            const std::uint64_t before = expect_whole(cells);
            const auto done = call(++stamp, allocations, what, when, cells, once);
            ASSERT_TRUE(lock_.try_lock()) << "the lock is free";
            lock_.unlock();
            const std::uint64_t now = expect_whole(cells);
            EXPECT_EQ(now, done == outcome::rolled_back ? before : stamp) << allocations << " allocations";
            EXPECT_TRUE((*pool_)->atomically(lock_, [&] { data_->others += 1; })) << "another thread goes on";
            others += 2;
            if (!done) break;
            if (this->HasFailure()) return;
        }
        const std::uint64_t last = expect_whole(cells);
        if (Engine::description.recovers) {
            pool_->kill();
            look();
            EXPECT_EQ(expect_whole(cells), last);
        }
        EXPECT_EQ(data_->others, others);
        pool_->reopen();
        look();
        EXPECT_EQ(expect_whole(cells), last);
        EXPECT_EQ(data_->others, others);
        // Nothing leaked: the root, and the block that it names.
        EXPECT_EQ((*pool_)->usage().allocated_blocks, what == work::cells ? 1u : 2u);
        ASSERT_TRUE((*pool_)->close());
        const auto checked = check_pool(pool_->path(), {});
        ASSERT_TRUE(checked);
        EXPECT_TRUE(checked->sound());
    }

    void run_all(const pool_setup& setup) {
        for (const work what : {work::cells, work::blocks, work::large_blocks})
            for (const since when : {since::call, since::commit})
                for (const std::size_t cells : {std::size_t{3}, cell_count}) {
                    SCOPED_TRACE(std::string("work ") + std::to_string(static_cast<int>(what)) + ", from " +
                                 (when == since::call ? "the call on, " : "the commit on, ") + std::to_string(cells) +
                                 " cells");
                    for (const bool once : {false, true}) {
                        run(setup, what, when, cells, once);
                        pool_.reset();
                    }
                    if (this->HasFailure()) return;
                }
    }

    std::optional<test_pool<Engine>> pool_;
    data* data_ = nullptr;
    std::mutex lock_;
};
TYPED_TEST_SUITE(FailingMemory, all_engines);

TYPED_TEST(FailingMemory, LeavesATransactionWholeAtPower) { this->run_all({.log_bytes = 256 << 10}); }

TYPED_TEST(FailingMemory, LeavesATransactionWholeAtProcess) {
    this->run_all({.durability = level::process, .log_bytes = 256 << 10});
}

TYPED_TEST(FailingMemory, LeavesATransactionWholeWhereWhoCommitsBringsHome) {
    if constexpr (!TypeParam::has_shared_aliases) GTEST_SKIP() << "homes do not come late";
    pool_setup setup{.log_bytes = 256 << 10};
    setup.wraps.retires_in_background = false;
    setup.wraps.alias_words = 64;
    this->run_all(setup);
}

TYPED_TEST(FailingMemory, LeavesATransactionWholeAtPowerOnAFile) {
    if constexpr (!TypeParam::description.power_on_files || !TypeParam::description.recovers) {
        GTEST_SKIP() << "the engine refuses it";
    } else {
        // Each commit is a sync: only what makes a record in one part, and one in several, with blocks outside of it.
        for (const since when : {since::call, since::commit})
            for (const work what : {work::cells, work::large_blocks}) {
                const std::size_t cells = what == work::cells ? 3 : cell_count;
                this->run({.log_bytes = 256 << 10, .directory = "."}, what, when, cells, false);
                this->pool_.reset();
            }
    }
}

TYPED_TEST(FailingMemory, LeavesNoHalfOfAnInnerCall) {
    this->open({.log_bytes = 256 << 10});
    for (std::int64_t allocations = 0;; ++allocations) {
        ASSERT_LT(allocations, 100);
        const std::uint64_t before = this->data_->cells[0].value;
        bool was_needed = false;
        const auto done = (*this->pool_)->atomically([&] {
            this->data_->cells[0].value = before + 1;
            const failing_memory scarce(allocations);
            try {
                // An error whose text needs memory; the outer call swallows whatever leaves the inner one.
                ignore((*this->pool_)->atomically([&]() -> result<void> {
                    this->data_->cells[1].value = before + 1;
                    fail(errc::not_found, "a sentence that is too long to stand in the string itself");
                }));
            } catch (const std::bad_alloc&) {
            }
            was_needed = failing_memory::was_needed();
        });
        EXPECT_FALSE(done) << "an error or an exception that leaves the inner call dooms the outer";
        EXPECT_EQ(this->data_->cells[0].value, before);
        EXPECT_EQ(this->data_->cells[1].value, before);
        if (!was_needed) break;
    }
}

template <class Engine>
class FailingMemoryOfWraps : public ::testing::Test {};
TYPED_TEST_SUITE(FailingMemoryOfWraps, wrapping_engines);

TYPED_TEST(FailingMemoryOfWraps, LeavesAWrapClosedOrAborted) {
    test_pool<TypeParam> pool({.log_bytes = 256 << 10});
    using numbers = typename TypeParam::template field<std::uint64_t>;
    struct block {
        numbers all[600];
    };
    auto* const data = pool->template root<block>("data").value();
    std::uint64_t now = 0;
    for (std::int64_t allocations = 0;; ++allocations) {
        ASSERT_LT(allocations, 2000);
        bool was_needed = false;
        std::thread([&] {
            std::optional<failing_memory> scarce(allocations);
            try {
                wrap<TypeParam> id(*pool);
                for (numbers& each : data->all) id.store(reinterpret_cast<std::uint64_t*>(&each), now + 1);
                // What was sent changes once more.
                id.store(reinterpret_cast<std::uint64_t*>(&data->all[100]), now + 1);
                if (id.close()) ++now;
            } catch (const std::bad_alloc&) {
            }
            was_needed = failing_memory::was_needed();
            scarce.reset();
        }).join();
        for (const numbers& each : data->all) ASSERT_EQ(each.get(), now) << allocations << " allocations";
        if (!was_needed) break;
    }
    pool.kill();
    for (const numbers& each : data->all) ASSERT_EQ(each.get(), now);
}

TEST(FailingMemoryOfLines, LeavesALineOnAFileAsItWasOrAsItIsToBe) {
    const persist::test::scratch_directory directory(".");
    create_options options;
    options.bytes = 1 << 20;
    options.reserved_bytes = std::uint64_t{1} << 30;
    options.base = HOLDFAST_TEST_BASE_ADDRESS;
    line_pool pool = line_pool::create(directory.file("lines"), options).value();
    auto* object = pool.root<line<std::uint64_t>>("line").value();
    std::uint64_t now = 0;
    for (std::int64_t allocations = 0;; ++allocations) {
        ASSERT_LT(allocations, 100);
        bool was_needed = false;
        std::thread([&] {
            const failing_memory scarce(allocations);
            try {
                object->transact([&](std::uint64_t& active) { active = now + 1; });
                ++now;
            } catch (const std::bad_alloc&) {
            }
            was_needed = failing_memory::was_needed();
        }).join();
        EXPECT_EQ(object->get(), now) << allocations << " allocations";
        object->transact([&](std::uint64_t& active) { active = ++now; });
        if (!was_needed) break;
    }
    pool.abandon();
    pool = line_pool::open(directory.file("lines"), options).value();
    EXPECT_EQ(pool.root<line<std::uint64_t>>("line").value()->get(), now);
}

TEST(FailingMemoryOfErrors, LeavesTheCode) {
    const error reason{.code = errc::outcome_unknown, .what = std::string(100, 'x'), .path = std::string(100, 'y')};
    for (std::int64_t allocations = 0;; ++allocations) {
        error copy = reason;
        std::optional<failing_memory> scarce(allocations);
        const result<int> failed(std::move(copy));
        errc thrown = errc::io;
        try {
            ignore(failed.value());
        } catch (const failure& told) {
            thrown = told.reason().code;
            EXPECT_NE(told.what(), nullptr);
        }
        const bool was_needed = failing_memory::was_needed();
        scarce.reset();
        EXPECT_EQ(failed.error().code, errc::outcome_unknown);
        EXPECT_EQ(thrown, errc::outcome_unknown);
        if (was_needed) continue;
        EXPECT_EQ(failed.error().what, reason.what);
        break;
    }
}

}  // namespace
}  // namespace holdfast
