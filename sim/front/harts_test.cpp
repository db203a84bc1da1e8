#include <sim/front/front_test_support.hpp>
#include <sim/front/harts.hpp>

namespace holdfast::sim::test {
namespace {

TEST(Harts, TheOneThatIsFurthestBehindRunsUntilItIsAQuantumAhead) {
    harts all(3, 10);
    hart& first = *all.add(hart{});
    hart& second = *all.add(hart{});
    hart& third = *all.add(hart{});
    first.local_time = 100;
    second.local_time = 40;
    third.local_time = 60;
    EXPECT_EQ(all.next().who, &second);
    EXPECT_EQ(all.next().until, 70u);
    second.local_time = 100;
    third.local_time = 100;
    EXPECT_EQ(all.next().who, &first);
    EXPECT_EQ(all.next().until, 110u);
}

TEST(Harts, ThereAreNoMoreThanTheMachineHas) {
    harts all(1, 10);
    hart& first = *all.add(hart{});
    EXPECT_EQ(all.add(first), nullptr);
}

TEST(Harts, OneThatExitedLivesOnAsTheNextAndGoesOnCounting) {
    harts all(2, 10);
    hart& first = *all.add(hart{});
    hart& second = *all.add(first);
    second.retired = 5;
    second.local_time = 70;
    second.stop = hart_stop::exited;
    first.local_time = 30;
    first.retired = 9;
    EXPECT_EQ(all.add(first), &second);
    EXPECT_EQ(second.id, hart_id{1});
    EXPECT_EQ(second.retired, 5u);
    EXPECT_EQ(second.local_time, 70u);
}

TEST(Harts, WhoWaitsLongestIsWokenFirstAndGoesOnWhenTheWakerIs) {
    harts all(3, 10);
    hart& first = *all.add(hart{});
    hart& second = *all.add(hart{});
    hart& third = *all.add(hart{});
    first.local_time = 200;
    second.local_time = 50;
    third.local_time = 60;
    all.wait(third, 0x1000);
    all.wait(second, 0x1000);
    EXPECT_EQ(all.wake(first, 0x2000, 5), 0u);
    EXPECT_EQ(all.wake(first, 0x1000, 1), 1u);
    EXPECT_EQ(third.stop, hart_stop::none);
    EXPECT_EQ(third.local_time, 200u);
    EXPECT_EQ(third.waited, 140u);
    EXPECT_EQ(second.stop, hart_stop::waiting);
    EXPECT_EQ(all.wake(first, 0x1000, 5), 1u);
    EXPECT_EQ(second.waited, 150u);
}

TEST(Harts, NoneRunsWhenAllWait) {
    harts all(1, 10);
    all.wait(*all.add(hart{}), 0x1000);
    EXPECT_EQ(all.next().who, nullptr);
}

/// Two harts at the beginning of the same code.
struct two_harts : small_machine<> {
    explicit two_harts(std::initializer_list<std::uint32_t> words) : small_machine(words) {
        second.pc = first.pc;
        second.id = {1};
        second.registers[a0] = data_base;
    }
    hart second{};
};

TEST(Reservation, EndsWhenAnotherHartStoresToTheLine) {
    two_harts machine({lr_d(a2, a0), sc_d(a3, a1, a0), sd(a1, a0, 56)});
    machine.second.pc = code_base + 8;
    machine.run(machine.first, 1);
    machine.run(machine.second, 1);
    machine.run(machine.first, 1);
    EXPECT_EQ(machine.first.registers[a3], 1u);
}

TEST(Reservation, EndsWhenAnotherHartUpdatesOrStoresConditionally) {
    for (const std::uint32_t word : {amoadd_d(zero, a1, a0), sc_d(zero, a1, a0)}) {
        two_harts machine({lr_d(a2, a0), sc_d(a3, a1, a0), lr_d(a2, a0), word});
        machine.second.pc = code_base + 8;
        machine.run(machine.second, 1);
        machine.run(machine.first, 1);
        machine.run(machine.second, 1);
        machine.run(machine.first, 1);
        EXPECT_EQ(machine.first.registers[a3], 1u);
    }
}

TEST(Reservation, StaysWhenOthersLoadOrStoreElsewhereOrReserveToo) {
    two_harts machine({lr_d(a2, a0), sc_d(a3, a1, a0), ld(a2, a0, 0), sd(a1, a0, 64), lr_d(a2, a0)});
    machine.first.registers[a1] = 5;
    machine.second.pc = code_base + 8;
    machine.run(machine.first, 1);
    machine.run(machine.second, 3);
    machine.run(machine.first, 1);
    EXPECT_EQ(machine.first.registers[a3], 0u);
    EXPECT_EQ(machine.word_at(data_base), 5u);
}

TEST(Reservation, IsGoodForOneStore) {
    small_machine<> machine({lr_d(a2, a0), sc_d(a3, a1, a0), sc_d(a3, a1, a0)});
    machine.run(2);
    EXPECT_EQ(machine.first.registers[a3], 0u);
    machine.run(1);
    EXPECT_EQ(machine.first.registers[a3], 1u);
}

}  // namespace
}  // namespace holdfast::sim::test
