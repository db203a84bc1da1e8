#include <sim/front/front_test_support.hpp>

#include <workload/random.hpp>

namespace holdfast::sim::test {
namespace {

TEST(Interpreter, ExecutesUpToTheInstructionThatItIsGivenTimeFor) {
    small_machine<> machine({addi(a1, zero, 1), addi(a1, a1, 1), addi(a1, a1, 1), addi(a1, a1, 1)});
    machine.run(3);
    EXPECT_EQ(machine.first.registers[a1], 3u);
    EXPECT_EQ(machine.first.pc, code_base + 12);
    EXPECT_EQ(machine.first.retired, 3u);
    EXPECT_EQ(machine.first.local_time, 3u);
    EXPECT_EQ(machine.first.stop, hart_stop::none);
}

TEST(Interpreter, AStoreIsSeenByALoad) {
    small_machine<> machine({addi(a1, zero, -7), sd(a1, a0, 16), ld(a2, a0, 16)});
    machine.run(3);
    EXPECT_EQ(machine.first.registers[a2], static_cast<std::uint64_t>(-7));
    EXPECT_EQ(machine.word_at(data_base + 16), static_cast<std::uint64_t>(-7));
}

TEST(Interpreter, ASystemCallCountsAndLeavesTheHartBehindIt) {
    small_machine<> machine({addi(a7, zero, 64), ecall_word, addi(a1, zero, 1)});
    machine.run(100);
    EXPECT_EQ(machine.first.stop, hart_stop::system_call);
    EXPECT_EQ(machine.first.pc, code_base + 8);
    EXPECT_EQ(machine.first.retired, 2u);
}

TEST(Interpreter, TheCountersCountWhatCameBeforeThem) {
    small_machine<> machine({addi(zero, zero, 0), i_form(0x73, 2, a1, 0, 0xc02 - 0x1000), addi(zero, zero, 0),
                             i_form(0x73, 2, a2, 0, 0xc00 - 0x1000)});  // rdinstret a1, rdcycle a2
    machine.run(4);
    EXPECT_EQ(machine.first.registers[a1], 1u);
    EXPECT_EQ(machine.first.registers[a2], 3u);
}


TEST(Interpreter, WhatCannotBeDoneStopsTheHartAtTheInstructionAndSaysWhy) {
    const auto expect = [](std::initializer_list<std::uint32_t> words, const std::string& text) {
        small_machine<> machine(words);
        machine.run(100);
        EXPECT_EQ(machine.first.stop, hart_stop::fault);
        EXPECT_EQ(machine.first.pc, code_base + 4) << text;
        EXPECT_EQ(machine.first.retired, 1u) << text;
        EXPECT_EQ(machine.first.reason.text(), text);
    };
    expect({addi(a1, zero, 0), ld(a2, a1, 8)}, "load: 0x8: found nothing mapped");
    expect({addi(a1, zero, -8), sd(a2, a1, 0)}, "store: 0xfffffffffffffff8: found nothing mapped");
    expect({addi(a1, zero, 0), 0xffffffff}, "bad instruction: 0x10004: expected one of RV64GC, found 0xffffffff");
    expect({addi(a1, zero, 2), i_form(0x67, 0, 0, a1, 0)}, "jump to an address without code: 0x10004: found 0x2");
    expect({addi(a1, zero, 0), beq(zero, zero, 64)}, "jump to an address without code: 0x10004: found 0x10044");
    expect({addi(a1, zero, 0)}, "ran off the end of the code: 0x10004");
    expect({addi(a0, a0, 4), amoadd_d(a1, a1, a0)}, "atomic operation: 0x40004: expected a multiple of 8");
    expect({addi(a1, zero, 0), i_form(0x73, 1, 0, a1, 0xc00 - 0x1000)},
           "bad field in the instruction csrrw: 0x10004: expected fflags, frm, fcsr, or a read-only counter, "
           "found register 0xc00");
}

TEST(Interpreter, CodeCannotBeChangedWhileItRuns) {
    small_machine<> machine({r_form(0x33, 0, 0, a0, a2, 0), sd(a1, a0, 0)});
    machine.first.registers[a2] = code_base;
    machine.run(100);
    EXPECT_EQ(machine.first.reason.text(), "store: 0x10000: found code, which may not change while it runs");
}

TEST(Interpreter, AnAccessThatCrossesIntoAPageThatIsNotThereIsRefused) {
    small_machine<> machine({ld(a1, a0, 0)});
    machine.first.registers[a0] = data_base + address_space::page_bytes - 4;
    machine.run(1);
    EXPECT_EQ(machine.first.stop, hart_stop::fault);
}

TEST(Interpreter, SpinningIsCountedBetweenItsMarks) {
    small_machine<> machine({custom_word(custom_operation::spin_begin, 0), addi(a1, a1, 1), addi(a1, a1, 1),
                             custom_word(custom_operation::spin_end, 0), addi(a1, a1, 1)});
    machine.run(5);
    EXPECT_EQ(machine.first.spun, 3u);
    EXPECT_EQ(machine.first.retired, 5u);
}

TEST(Interpreter, ExecutesAnyWordsOrSaysWhyNot) {
    const address_space space = small_space();
    functional_memory memory(space);
    no_observer nobody;
    workload::random numbers(1);
    std::uint64_t executed = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::byte> bytes(256);
        for (std::byte& each : bytes) each = static_cast<std::byte>(numbers.next());
        const code words(code_base, bytes);
        interpreter<functional_memory> loop(words, memory, nobody);
        hart at;
        for (std::uint64_t& value : at.registers) value = data_base + numbers.below(8192);
        at.registers[0] = 0;
        // Each place in turn is where it begins, so that what stops one does not hide what is behind it.
        for (at.pc = code_base; at.pc < code_base + bytes.size(); at.pc += 2) {
            at.stop = hart_stop::none;
            const std::uint64_t place = at.pc;
            loop.run(at, at.local_time + 20);
            EXPECT_TRUE(at.stop != hart_stop::fault || !at.reason.what.empty());
            at.pc = place;
        }
        EXPECT_EQ(at.registers[0], 0u);
        executed += at.retired;
    }
    EXPECT_GT(executed, 100000u);
}

/// Keeps what it is told; every instruction takes 10.
struct recording_observer {
    void retired(hart& at, const retired_instruction& record) {
        records.push_back(record);
        at.local_time += 10;
    }
    std::vector<retired_instruction> records{};
};

TEST(Observer, IsToldOfEachInstructionWithItsRegistersAndItsAddress) {
    small_machine<recording_observer> machine(
        {addi(a1, zero, 5), sd(a1, a0, 8), beq(zero, zero, 8), addi(a1, zero, 6), lr_d(a2, a0), ecall_word});
    machine.run(1000);
    const auto& records = machine.observer.records;
    ASSERT_EQ(records.size(), 5u);
    EXPECT_EQ(records[0].group, operation_class::integer);
    EXPECT_EQ(records[0].destination, a1);
    EXPECT_EQ(records[0].memory_bytes, 0);
    EXPECT_EQ(records[1].group, operation_class::store);
    EXPECT_EQ(records[1].source1, a0);
    EXPECT_EQ(records[1].source2, a1);
    EXPECT_EQ(records[1].destination, sink_register);
    EXPECT_EQ(records[1].address, data_base + 8);
    EXPECT_EQ(records[1].memory_bytes, 8);
    EXPECT_EQ(records[2].group, operation_class::branch);
    EXPECT_TRUE(records[2].taken);
    EXPECT_EQ(records[2].pc, code_base + 8);
    EXPECT_EQ(records[2].next_pc, code_base + 16);
    EXPECT_EQ(records[3].group, operation_class::atomic);
    EXPECT_EQ(records[3].address, data_base);
    EXPECT_EQ(records[4].group, operation_class::system);
    EXPECT_EQ(machine.first.retired, 5u);
    EXPECT_EQ(machine.first.local_time, 50u);
}

TEST(Observer, DecidesWhenTheHartHasHadItsTime) {
    small_machine<recording_observer> machine({addi(a1, a1, 1), addi(a1, a1, 1), addi(a1, a1, 1)});
    machine.run(11);
    EXPECT_EQ(machine.first.registers[a1], 2u);
    EXPECT_EQ(machine.first.local_time, 20u);
}

}  // namespace
}  // namespace holdfast::sim::test
