// Blocks of the only thread: each law of a program with one thread, in a process of its own where that thread runs code
// without barriers.
#include <holdfast/itm/alone_blocks.hpp>
#include <holdfast/itm/laws_test.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace holdfast::itm {
namespace {

/// What was not as it should be in a child that has one thread.
std::string broken_alone(const law& each) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        alarm(2);
        holdfast_itm_runs_alone = true;
        const char* const broken = each.broken();
        if (broken != nullptr) static_cast<void>(!write(ends[1], broken, std::string(broken).size()));
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char some[256];
    for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) said.append(some, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) said += " ended with status " + std::to_string(status);
    return said;
}

void expect_each_holds(const std::vector<law>& laws) {
    for (const law& each : laws) {
        if (each.needs_barriers) continue;
        EXPECT_EQ(broken_alone(each), "") << each.sentence;
    }
}

/// What this one says of a block does not hold alone: so it is known that blocks ran so.
TEST(LawsAlone, AreThoseOfBlocksThatAreIrrevocable) {
    int found = 0;
    for (const law& each : laws_of_blocks()) {
        if (!std::string(each.sentence).starts_with("a relaxed block becomes")) continue;
        EXPECT_EQ(broken_alone(each), "state_inside == 1");
        ++found;
    }
    EXPECT_EQ(found, 1);
}

TEST(LawsAlone, HoldForBarriers) { expect_each_holds(laws_of_barriers()); }
TEST(LawsAlone, HoldForMemory) { expect_each_holds(laws_of_memory()); }
TEST(LawsAlone, HoldForBlocks) { expect_each_holds(laws_of_blocks()); }

template <int level>
void expect_ends_and_variables() {
    expect_each_holds(laws_of_ends<level>());
    expect_each_holds(laws_of_variables<level>());
}
TEST(LawsAlone, HoldForEndsAndVariablesAtEachLevelOfOptimization) {
    expect_ends_and_variables<0>();
    expect_ends_and_variables<1>();
    expect_ends_and_variables<2>();
    expect_ends_and_variables<3>();
    expect_each_holds(laws_of_variables<4>());
}

}  // namespace
}  // namespace holdfast::itm
