// Programs of a few instructions, with system calls: how runs end, and how one machine takes over from another.
#include <sim/front/front_test_support.hpp>
#include <sim/front/machine.hpp>

namespace holdfast::sim::test {
namespace {

/// A process whose code is the words.
struct small_process {
    explicit small_process(std::initializer_list<std::uint32_t> words, process_options options = {})
        : loaded{code(code_base, bytes_of(words)), code_base},
          running(loaded, space, [this](int file, std::string_view text) {
              output += std::to_string(file) + ":" + std::string(text);
          }, options) {
        EXPECT_TRUE(running.start({"name", "argument"}));
        first().registers[a0] = data_base;
    }
    hart& first() { return running.harts().all().front(); }
    auto run() { return machine<functional_memory>(running, memory, nobody).run(); }

    address_space space = small_space();
    functional_memory memory{space};
    no_observer nobody{};
    program loaded;
    std::string output{};
    process running;
};

/// Two instructions: the system call with that number.
#define CALL(number) addi(a7, zero, number), ecall_word

TEST(Process, TheExitOfTheLastThreadEndsTheProgramWithItsStatus) {
    small_process alone{addi(a0, zero, 7), CALL(93)};
    const auto status = alone.run();
    ASSERT_TRUE(status) << status.problem().text();
    EXPECT_EQ(*status, 7);
}

TEST(Process, EndsWithTheStatusThatItGives) {
    small_process guest({addi(a0, zero, 7), CALL(94)});
    const auto status = guest.run();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 7);
}

TEST(Process, FindsItsArgumentsWhereLinuxPutsThem) {
    small_process guest({ld(a1, sp, 0), ld(a2, sp, 16), i_form(0x03, 0, a3, a2, 7), addi(a0, zero, 0), CALL(94)});
    EXPECT_EQ(guest.first().registers[sp] % 16, 0u);
    ASSERT_TRUE(guest.run());
    EXPECT_EQ(guest.first().registers[a1], 2u);
    EXPECT_EQ(guest.first().registers[a3], static_cast<std::uint64_t>('t'));
}

TEST(Process, WritesToItsTwoFilesAndNoOther) {
    small_process guest({addi(a1, a0, 0), addi(a2, zero, 2), addi(a0, zero, 2), CALL(64), addi(a0, zero, 3), CALL(64),
                         addi(a3, a0, 0), CALL(94)});
    std::memcpy(guest.space.find<2>(data_base, writable), "hi", 2);
    ASSERT_TRUE(guest.run());
    EXPECT_EQ(guest.output, "2:hi");
    EXPECT_EQ(guest.first().registers[a3], static_cast<std::uint64_t>(-9));
}

TEST(Process, ThatAsksForWhatTheMachineDoesNotHaveIsStoppedWithTheNumber) {
    small_process guest({CALL(57)});
    const auto status = guest.run();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.problem().text(),
              "no such system call: 0x10008 (hart 0 at 0x10008): expected one that the machine has, found 57");
}

TEST(Process, ThatWaitsForNobodyIsToldWhere) {
    small_process guest({addi(a1, zero, 0), addi(a2, zero, 0), addi(a3, zero, 0), CALL(98)});
    const auto status = guest.run();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.problem().text(),
              "every hart waits, and none is left to wake another: found hart 0 waiting at 0x40000");
}

TEST(Process, DoesNotSleepWhenTheWordHasChangedAlready) {
    small_process guest({addi(a1, zero, 0), addi(a2, zero, 1), addi(a3, zero, 0), CALL(98), CALL(94)});
    const auto status = guest.run();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, -11 & 0xff);
}

TEST(Process, GetsZeroedMemoryWhereItWantsItOnce) {
    // mmap(a0, 65536, read and write, private | anonymous | fixed, but not over what is there)
    const std::uint32_t lui_a3 = 0x00100037 | a3 << 7;
    const auto words = {addi(a1, zero, 1), addi(a2, zero, 3), lui_a3, addi(a3, a3, 0x22), CALL(222), ld(a2, a0, 8),
                        CALL(94)};
    small_process guest(words);
    guest.first().registers[a0] = 0x50000;
    ASSERT_TRUE(guest.run());
    EXPECT_EQ(guest.first().registers[a0], 0x50000u);
    EXPECT_EQ(guest.first().registers[a2], 0u);
    small_process again(words);
    again.first().registers[a0] = data_base;
    EXPECT_FALSE(again.run());  // it loads from where the error number says
}

TEST(Process, PausesBehindAnOperationAndGoesOnInAnotherMachine) {
    small_process guest({addi(a1, zero, 1), custom_word(custom_operation::region_of_interest_begin, 0),
                         addi(a1, a1, 1), addi(a0, zero, 0), CALL(94)});
    guest.memory.pause_behind(custom_operation::region_of_interest_begin);
    const auto paused = guest.run();
    ASSERT_TRUE(paused);
    EXPECT_FALSE(paused->has_value());
    EXPECT_EQ(guest.first().retired, 2u);
    EXPECT_EQ(guest.first().pc, code_base + 8);

    struct every_instruction_takes_5 {
        void retired(hart& at, const retired_instruction&) { at.local_time += 5; }
    } clock;
    guest.first().local_time = 0;
    functional_memory detailed(guest.space);
    const auto status = machine<functional_memory, every_instruction_takes_5>(guest.running, detailed, clock).run();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 0);
    EXPECT_EQ(guest.first().registers[a1], 2u);
    EXPECT_EQ(guest.first().retired, 6u);
    EXPECT_EQ(guest.first().local_time, 20u);
}

TEST(Process, PausesWhenItsObserverSaysSo) {
    struct three_at_a_time {
        void retired(hart& at, const retired_instruction&) {
            if (++at.local_time % 3 == 0) at.stop = hart_stop::paused;
        }
    } clock;
    small_process guest({addi(a1, a1, 1), addi(a1, a1, 1), addi(a1, a1, 1), addi(a1, a1, 1), addi(a1, a1, 1),
                         addi(a1, a1, 1)});
    machine<functional_memory, three_at_a_time> simulated(guest.running, guest.memory, clock);
    for (const std::uint64_t expected : {3u, 6u}) {
        const auto paused = simulated.run();
        ASSERT_TRUE(paused);
        EXPECT_EQ(guest.first().registers[a1], expected);
        EXPECT_EQ(guest.first().retired, expected);
    }
}

}  // namespace
}  // namespace holdfast::sim::test
