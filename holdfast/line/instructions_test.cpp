// The instructions that one addByte executes, counted by single-stepping a child. x86-64 and g++ only: other
// compilers make other code.
#include <holdfast/line/counted_test.hpp>

#include <gtest/gtest.h>

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace holdfast {
namespace {

using test::add_byte;
using test::bounded_buffer;

template <class Buffer>
[[noreturn]] void be_stepped(std::uint32_t needs) {
    line_medium_state::needs = needs;
    static Buffer buffer;
    // Twice before: what is resolved and touched for the first time is not counted.
    add_byte(buffer, 'a');
    add_byte(buffer, 'b');
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    add_byte(buffer, 'c');
    ::_exit(0);
}

/// From the function's first instruction to its return, inclusive; calls inside count.
template <class Buffer>
int instructions_of_one_add(std::uint32_t needs) {
    void (*const counted)(Buffer&, char) = &add_byte;
    const pid_t child = ::fork();
    if (child == 0) be_stepped<Buffer>(needs);
    int status = 0;
    ::waitpid(child, &status, 0);
    int count = 0;
    std::uint64_t return_to = 0;
    for (;;) {
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        if (return_to == 0 && registers.rip == reinterpret_cast<std::uint64_t>(counted))
            return_to = static_cast<std::uint64_t>(::ptrace(PTRACE_PEEKDATA, child, registers.rsp, nullptr));
        if (return_to != 0 && registers.rip == return_to) break;
        if (return_to != 0) ++count;
        ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        ::waitpid(child, &status, 0);
        if (WIFEXITED(status)) return -1;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return count;
}

/// The two copies of 16 bytes, the list of what the thread has open, the payload, the index; then write-back and fence.
constexpr std::uint32_t at_power = line_medium_state::fences | line_medium_state::write_backs;

TEST(Instructions, OneAddByteExecutesAsManyAsArePinned) {
    EXPECT_EQ(instructions_of_one_add<bounded_buffer>(0), 15) << "a plain object";
    EXPECT_EQ(instructions_of_one_add<line<bounded_buffer>>(0), 57);
}

TEST(Instructions, OneAddByteExecutesAsManyAtPowerAsArePinned) {
    if (persist::chosen_write_back_kind() != persist::write_back_kind::clwb) GTEST_SKIP() << "no clwb here";
    EXPECT_EQ(instructions_of_one_add<line<bounded_buffer>>(at_power), 66);
}

}  // namespace
}  // namespace holdfast
