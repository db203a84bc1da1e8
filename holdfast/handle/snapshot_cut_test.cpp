// A snapshot that ends at any call of the seam: the pool is what it was, and the copy is whole or not there.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/test_observer.hpp>

#include <string>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::cutter;

template <class Engine>
struct pair {
    typename Engine::template field<std::uint64_t> left, right;
};

template <class Engine>
void cut_at_every_call(const pool_setup& setup) {
    using root = pair<Engine>;
    bool was_cut = true;
    for (std::uint64_t call = 1; was_cut; ++call) {
        test_pool<Engine> pool(setup);
        auto* both = pool->template root<root>("both").value();
        ASSERT_TRUE(pool->atomically([&] { both->left = both->right = call; }));
        {
            cutter crash(call);
            try {
                const auto copied = pool->snapshot(pool.file("copy"));
                EXPECT_TRUE(copied) << copied.error().text();
            } catch (const persist::simulated_crash&) {
            }
            was_cut = crash.has_cut();
        }
        const bool copied = std::filesystem::exists(pool.file("copy"));
        EXPECT_TRUE(copied || was_cut);
        for (const auto& each : std::filesystem::directory_iterator(std::filesystem::path(pool.path()).parent_path()))
            EXPECT_TRUE(each.path() == pool.path() || each.path() == pool.file("copy")) << each.path();
        pool.kill();
        EXPECT_EQ(both->left, call);
        EXPECT_EQ(both->right, call);
        if (!copied) continue;
        pool.replace_by(pool.file("copy"));
        EXPECT_EQ(both->left, call);
        EXPECT_EQ(both->right, call);
        EXPECT_EQ(pool->core().recovery().records, 0u);
    }
}

TEST(SnapshotCut, LeavesTheCopyWholeOrAbsent) {
    cut_at_every_call<redo>({.bytes = 256 << 10});
    cut_at_every_call<undo>({.bytes = 256 << 10});
    cut_at_every_call<redo>({.bytes = 256 << 10, .directory = "."});
}

}  // namespace
}  // namespace holdfast
