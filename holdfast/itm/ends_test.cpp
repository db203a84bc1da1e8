// The laws of ends and of variables at each level of optimization, over the algorithm that this program is linked with.
#include <holdfast/itm/laws_test.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::itm {

namespace {

template <int level>
void expect_laws() {
    for (const auto& laws : {laws_of_ends<level>(), laws_of_variables<level>()})
        for (const law& each : laws) EXPECT_STREQ(each.broken(), nullptr) << each.sentence << ", -O" << level;
}

TEST(Ends, AreAsPromisedAtEachLevelOfOptimization) {
    expect_laws<0>();
    expect_laws<1>();
    expect_laws<2>();
    expect_laws<3>();
}

/// Whether the kernel knew at the program's start that this process asks other threads for a fence.
const bool was_registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;

TEST(Ends, TheProcessIsRegisteredWithTheKernelBeforeItHasThreads) {
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) <= 0) GTEST_SKIP() << "no membarrier here";
    EXPECT_TRUE(was_registered) << "the first block would make all threads wait for the kernel";
}

}  // namespace
}  // namespace holdfast::itm
