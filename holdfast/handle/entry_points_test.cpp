// Every public function in every state that a program may be in: it works, or it is misuse.
#include <holdfast/handle/entry_lines_test.hpp>
#include <holdfast/handle/entry_points_test.hpp>

namespace holdfast::test {
namespace {

using persist::test::emulated;

template <class World>
class EntryPoints : public testing::Test {};

#ifdef HOLDFAST_FEW_PLACES
using worlds = testing::Types<pool_world<redo, true>, pool_world<undo, false>, pool_world<softwrap, false>>;
#else
using worlds = testing::Types<pool_world<redo, false>, pool_world<redo, true>, pool_world<undo, false>,
                              pool_world<softwrap, false>, pool_world<softwrap_lat, false>, pool_world<softwrap, true>,
                              pool_world<volatile_only, false>>;
#endif
TYPED_TEST_SUITE(EntryPoints, worlds);

TYPED_TEST(EntryPoints, OfAPoolWorkOrAreMisuseInEveryState) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    expect_works_or_misuse(pool_entry_points<TypeParam>(), all_states);
    expect_works_or_misuse(more_pool_entry_points<TypeParam>(), all_states);
}

TYPED_TEST(EntryPoints, OfAnEngineAndItsFieldsWorkOrAreMisuseInEveryState) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    expect_works_or_misuse(engine_entry_points<TypeParam>(), all_states);
}

TYPED_TEST(EntryPoints, OfAWrapWorkOrAreMisuseInEveryState) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    if constexpr (!TypeParam::has_wraps && !TypeParam::engine::has_shared_aliases)
        GTEST_SKIP() << "the engine opens no wraps";
    if constexpr (TypeParam::has_wraps) expect_works_or_misuse(wrap_entry_points<TypeParam>(), all_states);
    if constexpr (TypeParam::engine::has_shared_aliases)
        expect_works_or_misuse(shared_load_entry_points<TypeParam>(), all_states);
}

TYPED_TEST(EntryPoints, AChildForkedInsideATransactionLosesItAndTheParentCommitsIt) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    TypeParam world;
    pid_t process = -1;
    const auto done = world.pool->atomically([&] {
        world.object->other = 5;
        process = ::fork();
    });
    if (process == 0) {
        const bool is_misuse = !done && done.error().code == errc::misuse;
        world.drop();
        bool is_intact = false;
        {
            TypeParam own;
            own.use();
            is_intact = own.is_intact();
        }
        ::_exit(is_misuse && is_intact ? 0 : 1);
    }
    EXPECT_EQ(said_by(process), 0);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(world.object->other, 5);
    EXPECT_TRUE(world.is_intact());
}

TYPED_TEST(EntryPoints, ExitInsideATransactionRollsItBack) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    TypeParam world;
    const std::string path = world.path();
    const create_options options = world.options;
    world.pool->abandon();
    const int said = said_by_process([&] {
        static auto pool = basic_pool<typename TypeParam::engine>::open(path, [&] {
            create_options accepting = options;
            accepting.accept_not_durable = true;
            return accepting;
        }()).value();
        static_cast<void>(pool.atomically([&] {
            world.object->value = -1;
            std::exit(0);
        }));
        return 1;
    });
    EXPECT_EQ(said, 0);
    EXPECT_TRUE(world.is_intact());
}

template <class World>
class CheckpointingEntryPoints : public testing::Test {};
using checkpointing_worlds = testing::Types<pool_world<cc_htm, false>, pool_world<cc_htm, true>>;
TYPED_TEST_SUITE(CheckpointingEntryPoints, checkpointing_worlds);

TYPED_TEST(CheckpointingEntryPoints, WorkOrAreMisuseInEveryState) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    expect_works_or_misuse(checkpointing_entry_points<TypeParam>(), all_states);
}

template <class World>
class LineEntryPoints : public testing::Test {};
using line_worlds = testing::Types<line_world<false>, line_world<true>>;
TYPED_TEST_SUITE(LineEntryPoints, line_worlds);

TYPED_TEST(LineEntryPoints, WorkOrAreMisuseInEveryState) {
    if (emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    expect_works_or_misuse(line_pool_entry_points<TypeParam>(), all_states);
    expect_works_or_misuse(line_entry_points<TypeParam>(), all_states);
}

}  // namespace
}  // namespace holdfast::test
