// A function that fails inside a transaction which goes on leaves its container as it was, or dooms the transaction.
#include <holdfast/container/operations_test.hpp>
#include <holdfast/container/places_test.hpp>

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

template <class Base>
class Failure : public ::testing::Test {
public:
    using engine = failing<Base>;
    using root_type = everything<engine>;

protected:
    void TearDown() override { faults::now() = {}; }

    basic_pool<engine>& pool() { return files.pool(); }
    root_type& root() { return *pool().template root<root_type>("everything").value(); }

    /// The state before the operation, in all as it is written.
    std::string prepare(const operation<engine>& each) {
        root_type& all = root();
        pool().atomically([&] { all.clear(); }).value();
        pool().atomically([&] { each.prepare(all); }).value();
        return written(all);
    }
    /// Runs the operation in a transaction that goes on, with one fault. False when the fault was not met.
    bool fails_whole_or_dooms(const operation<engine>& each, long faults::*kind, long k, bool must_be_whole);
    /// The same in a transaction of its own.
    void fails_alone(const operation<engine>& each, long faults::*kind, long k);
    void all_operations_fail(long faults::*kind, bool must_be_whole);
    void expect_sound() {
        // Where homes come late, audits look at them.
        pool().checkpoint().value();
        const auto checked = root().check();
        ASSERT_TRUE(checked.has_value()) << checked.error().text();
        ASSERT_TRUE(files.audit(root()));
    }

    test_pool<engine> files{pool_setup{level::power, 8 << 20, 1 << 20, 0}};
};
#ifdef HOLDFAST_FEW_PLACES
using engines = ::testing::Types<redo, undo>;
#else
// undo_paper differs from undo in fences alone.
using engines = ::testing::Types<redo, softwrap_lat, softwrap, undo, volatile_only>;
#endif
struct engine_names {
    template <class Engine>
    static std::string GetName(int) {
        return std::string(Engine::description.name);
    }
};
TYPED_TEST_SUITE(Failure, engines, engine_names);

/// Runs f with the fault; whether it failed.
template <class F>
bool fails(long faults::*kind, long k, F&& f) {
    faults::now().*kind = k;
    bool failed = false;
    try {
        f();
    } catch (const failure&) {
        failed = true;
    } catch (const refused&) {
        failed = true;
    }
    faults::now() = {};
    return failed;
}

template <class Base>
bool Failure<Base>::fails_whole_or_dooms(const operation<engine>& each, long faults::*kind, long k,
                                         bool must_be_whole) {
    const std::string before = prepare(each);
    root_type& all = root();
    const std::uint64_t turn = all.turn.get() + 1;
    bool failed = false;
    bool doomed = false;
    std::string meanwhile;
    const auto done = pool().atomically([&] {
        failed = fails(kind, k, [&] { each.run(all); });
        doomed = open_transaction->is_doomed();
        meanwhile = doomed ? before : written(all);
        all.turn = turn;
    });
    EXPECT_EQ(done.has_value(), !doomed) << (done ? "" : done.error().text());
    EXPECT_FALSE(doomed && !failed);
    EXPECT_FALSE(doomed && must_be_whole && !each.may_doom) << "the guide calls this function strong";
    if (failed) {
        EXPECT_EQ(meanwhile, before);
        EXPECT_EQ(written(all), before);
    }
    EXPECT_EQ(all.turn.get(), doomed ? turn - 1 : turn);
    expect_sound();
    return failed;
}

template <class Base>
void Failure<Base>::fails_alone(const operation<engine>& each, long faults::*kind, long k) {
    const std::string before = prepare(each);
    ASSERT_TRUE(fails(kind, k, [&] { pool().atomically([&] { each.run(root()); }).value(); }));
    ASSERT_EQ(written(root()), before);
    expect_sound();
}

template <class Base>
void Failure<Base>::all_operations_fail(long faults::*kind, bool must_be_whole) {
    long met = 0;
    for (const operation<engine>& each : all_operations<engine>()) {
        // Clearing frees hundreds of blocks, one like the other.
        for (long k = 0;; k = k < 8 ? k + 1 : 3 * k) {
            SCOPED_TRACE(std::string(each.name) + ", call " + std::to_string(k));
            if (!fails_whole_or_dooms(each, kind, k, must_be_whole)) break;
            fails_alone(each, kind, k);
            ++met;
            if (this->HasFailure()) return;
        }
        files.reopen();
        expect_sound();
        if (this->HasFailure()) return;
    }
    EXPECT_GT(met, 50);
}

TYPED_TEST(Failure, OfAnAllocationLeavesTheContainerAsItWas) {
    this->all_operations_fail(&faults::allocation, true);
}

TYPED_TEST(Failure, OfAnElementsConstructorLeavesTheContainerAsItWas) {
    this->all_operations_fail(&faults::construction, true);
}

TYPED_TEST(Failure, OfAFreeLeavesTheContainerAsItWasOrDoomsTheTransaction) {
    this->all_operations_fail(&faults::deallocation, false);
}

/// Allocates until there is no block of any size.
template <class Engine>
void fill(basic_pool<Engine>& pool) {
    const auto until_full = [](std::size_t bytes) {
        try {
            for (;;) Engine::allocate(bytes);
        } catch (const failure& reason) {
            ASSERT_EQ(reason.reason().code, errc::out_of_space);
        }
    };
    pool.atomically([&] {
        for (std::size_t bytes = 1 << 16; bytes > 4096; bytes /= 2) until_full(bytes);
        for (std::size_t bytes = 4096; bytes != 0; bytes -= 16) until_full(bytes);
    }).value();
}

TYPED_TEST(Failure, ForWantOfSpaceIsOverOnceThePoolHasGrownInsideTheTransaction) {
    using tested = typename TestFixture::engine;
    using state = typename TestFixture::root_type;
    int grown = 0;
    for (const operation<tested>& each : all_operations<tested>()) {
        SCOPED_TRACE(each.name);
        if (each.may_doom) continue;
        static_cast<void>(this->prepare(each));
        const auto run = [&] { this->pool().atomically([&] { each.run(this->root()); }).value(); };
        if (!fails(&faults::allocation, 0, run)) continue;
        run();
        const std::string expected = written(this->root());

        test_pool<tested> full{pool_setup{level::power, 2 << 20, 1 << 20, 1}};
        auto& pool = full.pool();
        state& all = *pool.template root<state>("everything").value();
        pool.atomically([&] { each.prepare(all); }).value();
        const std::string before = written(all);
        fill(pool);
        pool.atomically([&] {
            try {
                each.run(all);
                FAIL() << "the heap was not full";
            } catch (const failure& reason) {
                ASSERT_EQ(reason.reason().code, errc::out_of_space);
            }
            ASSERT_EQ(written(all), before);
            pool.grow(pool.info().bytes + (1 << 20)).value();
            each.run(all);
        }).value();
        full.reopen();
        const state& found = *pool.template root<state>("everything").value();
        ASSERT_EQ(written(found), expected);
        ASSERT_TRUE(found.check().has_value());
        ++grown;
    }
    EXPECT_GT(grown, 50);
}

}  // namespace
}  // namespace holdfast::test
