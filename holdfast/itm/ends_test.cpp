// The laws of ends and of variables at each level of optimization, over the algorithm that this program is linked with.
#include <holdfast/itm/laws_test.hpp>
#include <holdfast/itm/with_barriers_test.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::itm {

namespace {

void expect_each_holds(const std::vector<law>& laws, int level) {
    for (const law& each : laws) EXPECT_STREQ(each.broken(), nullptr) << each.sentence << ", level " << level;
}
template <int level>
void expect_laws_of_variables() {
    expect_each_holds(laws_of_variables<level>(), level);
}
template <int level>
void expect_laws() {
    expect_each_holds(laws_of_ends<level>(), level);
    expect_laws_of_variables<level>();
}

void expect_all_laws() {
    expect_laws<0>();
    expect_laws<1>();
    expect_laws<2>();
    expect_laws<3>();
    expect_laws_of_variables<4>();
}

// First in this program: as long as a thread is the only one with blocks it keeps no reads, and stores home at once.
TEST(EndsAndVariables, AreAsPromisedAtEachLevelOfOptimizationForTheOnlyThread) { expect_all_laws(); }
TEST(EndsAndVariables, AreAsPromisedAtEachLevelOfOptimizationForASecondThread) { std::thread(expect_all_laws).join(); }

/// Whether the kernel knew at the program's start that this process asks other threads for a fence.
const bool was_registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;

TEST(Ends, TheProcessIsRegisteredWithTheKernelBeforeItHasThreads) {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) <= 0) GTEST_SKIP() << "no membarrier here";
    EXPECT_TRUE(was_registered) << "the first block would make all threads wait for the kernel";
}

}  // namespace
}  // namespace holdfast::itm
