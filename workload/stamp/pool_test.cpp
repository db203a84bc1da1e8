// STAMP programs in pools: what was killed in the middle is sound when it is opened again, and can finish.
#include <workload/stamp/killed_test.hpp>

#include <holdfast/engine/access.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/test_pool.hpp>

#include <gtest/gtest.h>

#include <mutex>

namespace holdfast::workload::test {
namespace {

/// An access to a pool whose engine does not isolate, with one lock for all threads.
template <class Engine>
class locked_access : public pool_access<Engine> {
public:
    locked_access(open_pool& pool, std::mutex& lock) : pool_access<Engine>(pool), lock_(&lock) {}
    template <class F>
    bool atomically(F&& f) const {
        return pool_access<Engine>::atomically(*lock_, f);
    }

private:
    std::mutex* lock_;
};

/// Room for a kept_run on lines: roots are aligned as their types usually are.
struct kept_bytes {
    unsigned char bytes[sizeof(kept_run) + alignof(kept_run)];
    kept_run* run() noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes);
        return reinterpret_cast<kept_run*>((address + alignof(kept_run) - 1) & ~(alignof(kept_run) - 1));
    }
};

/// A program that is killed in pools of an engine. Nothing of it may be left in the heap after its end.
template <class Engine, class Parameters>
void kill_in_pool(const Parameters& given, std::uint64_t threads, std::uint64_t seed) {
    holdfast::test::test_pool<Engine> files(
        {.durability = level::process, .bytes = 32 << 20, .log_bytes = 4 << 20});
    ASSERT_TRUE((*files).template plain_root<kept_bytes>("run"));
    ASSERT_TRUE((*files).close());
    stamp_children children([&](told_transactions& told) -> const char* {
        files.kill();
        std::mutex lock;
        const told_access<locked_access<Engine>> memory(locked_access<Engine>((*files).core(), lock), told);
        const char* const problem =
            live(memory, (*files).template plain_root<kept_bytes>("run").value()->run(), given, threads);
        return problem != nullptr || (*files).close() ? problem : "the pool could not be closed";
    });
    kill_at_points(children, seed);
    files.kill();
    EXPECT_TRUE(files.audit());
}

template <class Engine>
class KilledStamp : public ::testing::Test {};
using engines = ::testing::Types<redo, undo>;
TYPED_TEST_SUITE(KilledStamp, engines);

TYPED_TEST(KilledStamp, IsSoundWhenItIsOpenedAgainAndFinishesWithARightResult) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    each_killed([&](const char* name, const auto& given) {
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, name);
        std::printf("%s\n", name);
        kill_in_pool<TypeParam>(given, 2, seed);
    });
}

}  // namespace
}  // namespace holdfast::workload::test
