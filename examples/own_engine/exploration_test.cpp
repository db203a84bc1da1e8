// Recovery on every state that a crash may leave of a structure in a pool of the force engine: all are right, and with
// a fence forgotten some are not.
#include <crash/exploration.hpp>
#include <examples/own_engine/force.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/container/hash_map.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

/// Two numbers on lines of their own, which a cut could separate.
struct accounts {
    force::field<long> left;
    force::field<long> unused[15];
    force::field<long> right;
};

crash::exploration_outcome explore_transfers() {
    crash::exploration<force, accounts> explore;
    explore.prepare([](accounts& all) { all.left = 100; });
    explore.operation("transfer", [](accounts& all) {
        all.left -= 1;
        all.right += 1;
    });
    explore.invariant("the total is 100", [](const accounts& all) { return all.left + all.right == 100; });
    return explore.run(3);
}

#ifndef FORCE_FORGETS_A_FENCE
TEST(OwnEngine, NoCrashTearsATransaction) {
    const auto found = explore_transfers();
    EXPECT_TRUE(found.clean()) << found.text();
}

TEST(OwnEngine, NoCrashTearsAContainer) {
    using map = hash_map<std::uint64_t, std::uint64_t, force>;
    crash::exploration<force, map> explore;
    explore.operation("assign", [](map& all) { all.insert_or_assign(all.size(), 1); });
    explore.operation("erase", [](map& all) { all.erase(0); });
    const auto found = explore.run(2);
    EXPECT_TRUE(found.clean()) << found.text();
}
#else
TEST(OwnEngine, TheExplorerFindsTheForgottenFence) {
    // The engine's own assertion would find it first.
    detail::assertions_may_fail = true;
    const auto found = explore_transfers();
    detail::assertions_may_fail = false;
    EXPECT_FALSE(found.clean());
    EXPECT_NE(found.text().find("the total is 100"), std::string::npos) << found.text();
}
#endif

}  // namespace
}  // namespace holdfast
