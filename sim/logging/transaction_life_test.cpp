// The life of a transaction on the logging hardware: one that is too long, one that is given up, numbers that are used
// again, and threads that share a hart or change it.
#include <sim/logging/logged_machine_test.hpp>

namespace holdfast::sim::test {
namespace {

/// Lines leave their caches all the time, so that what is open is in the NVRAM, too.
struct Life : testing::Test {
    static log_config of_4096_bytes() {
        log_config config;
        config.bytes = 4096;
        config.scan_period = log_config::paper_period;
        return config;
    }
    void begin(hart_id hart, std::uint16_t id) { now = machine.registers.begin(hart, {id}, now); }
    void store(hart_id hart, std::uint64_t number, std::uint64_t value) {
        now = machine.store(hart, number, value, now);
        machine.settle(now);
    }
    void commit(hart_id hart) { now = machine.commit(hart, now); }
    /// 10 and 11 to words of two lines.
    void commit_two_words() {
        begin(first, 1);
        store(first, 0, 10);
        store(first, 8, 11);
        commit(first);
    }
    /// What is stored is home, or would be if the log let it.
    void force_home(std::uint64_t number) {
        now = machine.caches.force_write_back(machine.word(number), now);
        now = machine.memory.nvram().push_out(now);
        machine.settle(now);
    }
    memory_image recovered() {
        machine.settle(now);
        memory_image survives = machine.memory.nvram().crash(now);
        report = recover(survives, machine.hardware.region(), machine.hardware.log().config());
        return survives;
    }
    std::uint64_t ring_records() const { return machine.hardware.log().units(); }

    logged_machine machine{design::fwb, of_4096_bytes()};
    time now = ns(100);
    recovery_report report{};
    const hart_id first{0}, second{1};
};

TEST_F(Life, ThatHoldsAllOfTheLogHurriesNoScanThatWouldFreeNothing) {
    begin(second, 6);
    store(second, 512, 1);
    while (machine.hardware.log().room() > ring_records() / 16) commit_two_words();
    const auto computes = [this] {
        for (int telling = 0; telling < 400; ++telling, now = now + ns(25)) machine.settle(now);
        return machine.hardware.scans_until(now).hurried;
    };
    const std::uint64_t hurried = computes();
    EXPECT_EQ(computes(), hurried);
    EXPECT_LT(machine.hardware.log().room(), ring_records() / 4);
    commit(second);
    EXPECT_GT(computes(), hurried);
    EXPECT_GT(machine.hardware.log().room(), ring_records() / 2);
}

TEST_F(Life, OfATransactionThatIsLongerThanTheLogEndsBeforeARecordIsOverwritten) {
    begin(second, 6);
    store(second, 512, 1);
    commit(second);
    begin(first, 7);
    const std::uint64_t room = machine.hardware.log().room();
    ASSERT_GT(room, 100u);
    for (std::uint64_t value = 1; value <= room; ++value) {
        store(first, value % 64, value);
        ASSERT_FALSE(machine.hardware.log().failure()) << value;
    }
    // Scans have freed the other one's records; what is left has the long one.
    for (std::uint64_t value = 1; !machine.hardware.log().failure(); ++value) {
        ASSERT_LT(value, 10u);
        store(first, value, value);
    }
    const problem why = *machine.hardware.log().failure();
    EXPECT_EQ(why.what, "a transaction is longer than the log");
    EXPECT_EQ(why.where, "transaction 7");
    EXPECT_NE(why.expected.find("the ring of 4032 bytes"), std::string::npos) << why.text();
    EXPECT_NE(why.found.find("4064 bytes of its own"), std::string::npos) << why.text();
    store(first, 3, 9999);
    force_home(3);
    const memory_image survives = recovered();
    EXPECT_EQ(report.records, ring_records());
    EXPECT_EQ(word_in(survives, machine.word(512)), 1u);
    for (std::uint64_t number = 0; number < 64; ++number) EXPECT_EQ(word_in(survives, machine.word(number)), 0u);
}

TEST_F(Life, OfALongTransactionGoesOnInALogThatGrewInTime) {
    for (const bool commits : {false, true}) {
        logged_machine other(design::fwb, of_4096_bytes());
        time at = other.begin(first, ns(100));
        const std::uint64_t before = other.hardware.log().units();
        for (std::uint64_t value = 1; value <= 2 * before; ++value) {
            at = other.store(first, value % 64, value, at);
            other.settle(at);
            if (value == before - 1) at = other.registers.grow_log(first, other.spare_region(0, 8192), at);
        }
        ASSERT_FALSE(other.hardware.log().failure());
        EXPECT_EQ(other.hardware.log().units(), before + 254);
        EXPECT_EQ(other.registers.active_log_region, 1u);
        if (commits) at = other.commit(first, at);
        other.settle(at);
        memory_image survives = other.memory.nvram().crash(at);
        const recovery_report found = recover(survives, other.hardware.region(), of_4096_bytes());
        EXPECT_EQ(found.committed, commits ? 1u : 0u);
        for (std::uint64_t number = 0; number < 64; ++number)
            EXPECT_EQ(word_in(survives, other.word(number)) != 0, commits) << number;
    }
}

TEST_F(Life, OfALogThatGrowsByWhatIsNoRegionIsAnErrorThatNamesIt) {
    const port::log_region bad[] = {{machine.spare_region(0, 4096).begin + 8, 4096},
                                    machine.spare_region(0, 128),
                                    {address{64}, 4096}};
    for (const port::log_region& each : bad) {
        logged_machine other(design::fwb, of_4096_bytes());
        other.registers.grow_log(first, each, ns(100));
        ASSERT_TRUE(other.hardware.log().failure());
        EXPECT_EQ(other.hardware.log().failure()->what, "a region is no log");
        EXPECT_EQ(other.hardware.log().units(), ring_records());
    }
}

TEST_F(Life, OfATransactionThatIsGivenUpIsStoresOfTheOldValuesAndACommit) {
    commit_two_words();
    begin(first, 1);
    store(first, 0, 20);
    store(first, 0, 21);
    store(first, 8, 22);
    force_home(0);
    // Newest first, as a program's own undo list has them.
    store(first, 8, 11);
    store(first, 0, 20);
    store(first, 0, 10);
    commit(first);
    const memory_image survives = recovered();
    EXPECT_EQ(report.committed, 2u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 10u);
    EXPECT_EQ(word_in(survives, machine.word(8)), 11u);
}

TEST_F(Life, OfATransactionThatIsCutWhileItIsGivenUpEndsWithTheOldValues) {
    commit_two_words();
    begin(first, 1);
    store(first, 0, 20);
    store(first, 8, 22);
    store(first, 8, 11);
    force_home(0);
    force_home(8);
    const memory_image survives = recovered();
    EXPECT_EQ(report.undone, 3u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 10u);
    EXPECT_EQ(word_in(survives, machine.word(8)), 11u);
}

TEST_F(Life, OfAnIdThatIsUsedAgainAtOnceIsToldByCommitRecords) {
    begin(first, 9);
    store(first, 0, 1);
    commit(first);
    begin(first, 9);
    store(first, 0, 2);
    begin(second, 9);  // a program may name two at the same time alike
    store(second, 64, 3);
    commit(second);
    force_home(0);
    const memory_image survives = recovered();
    EXPECT_EQ(report.committed, 2u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 1u);
    EXPECT_EQ(word_in(survives, machine.word(64)), 3u);
}

TEST_F(Life, OfTwoThreadsOnAHartStaysApartByTheSavedRegister) {
    begin(first, 1);
    store(first, 0, 1);
    const std::uint64_t saved = machine.registers.save(first);
    EXPECT_FALSE(machine.registers.in_transaction(first));
    begin(first, 2);
    store(first, 64, 2);
    commit(first);
    ASSERT_TRUE(machine.registers.restore(first, saved));
    store(first, 8, 3);
    force_home(0);
    force_home(8);
    const memory_image survives = recovered();
    EXPECT_EQ(report.committed, 1u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 0u);
    EXPECT_EQ(word_in(survives, machine.word(8)), 0u);
    EXPECT_EQ(word_in(survives, machine.word(64)), 2u);
}

TEST_F(Life, OfAThreadThatChangesItsHartIsOneTransaction) {
    begin(first, 1);
    store(first, 0, 1);
    const std::uint64_t saved = machine.registers.save(first);
    ASSERT_TRUE(machine.registers.restore(second, saved));
    begin(first, 2);
    store(first, 64, 2);
    store(second, 8, 3);
    commit(second);
    force_home(64);
    const memory_image survives = recovered();
    EXPECT_EQ(report.committed, 1u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 1u);
    EXPECT_EQ(word_in(survives, machine.word(8)), 3u);
    EXPECT_EQ(word_in(survives, machine.word(64)), 0u);
}

TEST(LifeInLogsOfHarts, OfAThreadThatChangesItsHartIsInTheLogOfTheHartThatItBeganOn) {
    log_config config;
    config.place = log_place::hart;
    logged_machine machine(design::fwb, config);
    const hart_id first{0}, second{1};
    time now = machine.store(first, 0, 1, machine.begin(first, ns(100)));
    const std::uint64_t saved = machine.registers.save(first);
    ASSERT_TRUE(machine.registers.restore(second, saved));
    // This one depends on nothing, and takes up the hart that the thread has left.
    now = machine.store(first, 64, 2, machine.begin(first, now));
    now = machine.commit(second, machine.store(second, 8, 3, now));
    machine.settle(now);
    memory_image survives = machine.memory.nvram().crash(now);
    const recovery_report report = recover(survives, machine.hardware.region(), config);
    EXPECT_EQ(report.committed, 1u);
    EXPECT_EQ(word_in(survives, machine.word(0)), 1u);
    EXPECT_EQ(word_in(survives, machine.word(8)), 3u);
    EXPECT_EQ(word_in(survives, machine.word(64)), 0u);
}

TEST(TransactionRegisters, Have256NumbersAndGiveTheLowestThatIsFree) {
    transaction_registers registers(2);
    const hart_id hart{0}, other{1};
    std::vector<std::uint64_t> saved;
    for (std::uint16_t id = 0; id < 256; ++id) {
        ASSERT_TRUE(registers.may_begin(hart));
        registers.begin(hart, {id});
        EXPECT_EQ(registers.of(hart).active, id);
        saved.push_back(registers.save(hart));
    }
    EXPECT_FALSE(registers.may_begin(hart)) << "the 257th waits";
    EXPECT_FALSE(registers.may_begin(other));
    ASSERT_TRUE(registers.restore(other, saved[77]));
    EXPECT_EQ(registers.of(other).id.value, 77u);
    registers.commit(other);
    ASSERT_TRUE(registers.may_begin(hart));
    registers.begin(hart, {1000});
    EXPECT_EQ(registers.of(hart).active, 77u);
}

TEST(TransactionRegisters, RestoreNothingButWhatWasSavedAndWaits) {
    transaction_registers registers(2);
    const hart_id hart{0}, other{1};
    EXPECT_FALSE(registers.restore(hart, 12345));
    EXPECT_FALSE(registers.restore(hart, std::uint64_t{1} << 32 | 5u << 16));
    registers.begin(hart, {3});
    EXPECT_FALSE(registers.restore(hart, 0)) << "its own transaction would be left";
    const std::uint64_t saved = registers.save(hart);
    EXPECT_TRUE(registers.restore(hart, 0));
    EXPECT_TRUE(registers.restore(other, saved));
    EXPECT_FALSE(registers.restore(hart, saved)) << "it is on the other hart";
    registers.commit(other);
    EXPECT_FALSE(registers.restore(hart, saved)) << "it has committed";
}

}  // namespace
}  // namespace holdfast::sim::test
