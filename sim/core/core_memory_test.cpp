// Laws of the store queue and of total store order.
#include <sim/core/core_test_support.hpp>

namespace holdfast::sim::test {
namespace {

constexpr std::uint64_t here = persistent_data + 128;

TEST(CoreMemory, ALoadSeesTheYoungestOlderStore) {
    small_cores cores;
    cores.store(here, 1);
    cores.store(here, 2);
    cores.store(here + 8, 3);
    ASSERT_EQ(cores.in_caches(here), 0u) << "nothing has drained yet";
    EXPECT_EQ(cores.load(here), 2u);
    EXPECT_EQ(cores.below.counters().forwarded_loads, 1u);
}

TEST(CoreMemory, ALoadOfAPartOfAStoreIsAnsweredByTheQueue) {
    small_cores cores;
    cores.store(here, 0x8877'6655'4433'2211);
    std::uint64_t value = 0;
    ASSERT_TRUE(cores.below.load<2>(cores.hart_at(0), here + 3, value));
    EXPECT_EQ(value, 0x5544u);
    ASSERT_TRUE(cores.below.load<1>(cores.hart_at(0), here + 7, value));
    EXPECT_EQ(value, 0x88u);
}

TEST(CoreMemory, ALoadOfMoreThanAStoreWaitsUntilThatHasDrained) {
    small_cores cores;
    cores.store(here, 0x1111'1111'1111'1111);
    cores.store<2>(here + 2, 0x2222);
    EXPECT_EQ(cores.load(here), 0x1111'1111'2222'1111u);
    EXPECT_EQ(cores.below.counters().partial_overlaps, 1u);
    EXPECT_EQ(cores.in_caches(here), 0x1111'1111'2222'1111u);
    EXPECT_GT(cores.refusals, 0u);
}

TEST(CoreMemory, OtherHartsDoNotSeeAStoreBeforeItDrains) {
    small_cores cores({}, 2);
    cores.store(here, 7, 0);
    EXPECT_EQ(cores.load(here, 0), 7u);
    EXPECT_EQ(cores.load(here, 1), 0u);
    cores.below.drain_everything();
    EXPECT_EQ(cores.load(here, 1), 7u);
}

/// What the store-commit port is told.
class watch final : public port::store_commit {
public:
    time commit(const port::store_event& event) override {
        addresses.push_back(event.where.value);
        times.push_back(event.at);
        transactions.push_back(event.transaction.value);
        in_transaction.push_back(event.in_transaction);
        return event.at + delay;
    }
    std::vector<std::uint64_t> addresses{};
    std::vector<time> times{};
    std::vector<std::uint16_t> transactions{};
    std::vector<bool> in_transaction{};
    time delay{};
};

TEST(CoreMemory, AStoreTakesEffectWhenItDrainsAndNoEarlierThanItCommits) {
    small_cores cores;
    watch seen;
    cores.attached.on_store = &seen;
    cores.load(here);  // a miss, behind which the store has to wait
    const cycle loaded = cores.board.last_commit({0});
    cores.store(here, 1);
    EXPECT_EQ(cores.in_caches(here), 0u);
    for (int i = 0; i < 2000; ++i) cores.execute(operation_class::integer, 6);
    EXPECT_EQ(cores.in_caches(here), 1u);
    ASSERT_EQ(seen.times.size(), 1u);
    EXPECT_GE(seen.times[0], cores.below.clock().time_of(loaded));
}

TEST(CoreMemory, StoresDrainInProgramOrderAlsoBehindAMiss) {
    small_cores cores;
    cores.load(here);
    watch seen;
    cores.attached.on_store = &seen;
    cores.store(here + 4096, 1);
    cores.store(here, 2);
    cores.store(here + 8192, 3);
    cores.below.drain_everything();
    EXPECT_EQ(seen.addresses, (std::vector<std::uint64_t>{here + 4096, here, here + 8192}));
    EXPECT_TRUE(std::is_sorted(seen.times.begin(), seen.times.end()));
}

TEST(CoreMemory, ADelayOfTheStoreCommitPortStallsTheDrainByAsMuch) {
    const auto end_with = [](time delay) {
        small_cores cores;
        cores.load(here);
        watch seen;
        seen.delay = delay;
        cores.attached.on_store = &seen;
        for (std::uint64_t i = 0; i < 4; ++i) cores.store(here + 8 * i, i);
        return cores.below.drain_everything();
    };
    EXPECT_EQ(end_with(ns(40)) - end_with(ns(0)), 4 * 100u);
}

/// When the last of three stores that miss in different banks has taken effect.
cycle end_of_three_misses(bool prefetch) {
    core_config config;
    config.store_prefetch = prefetch;
    small_cores cores(config);
    for (std::uint64_t bank = 0; bank < 3; ++bank) cores.store(here + 2048 * bank, bank);
    return cores.below.drain_everything();
}

TEST(CoreMemory, PrefetchedStoreMissesOverlapAndOthersFollowEachOther) {
    const cycle read_conflict = 250;
    EXPECT_GT(end_of_three_misses(false), 1000 + 3 * read_conflict);
    EXPECT_LT(end_of_three_misses(true), 1000 + 3 * read_conflict / 2);
}

TEST(CoreMemory, AStorePrefetchGetsTheLineAndStoresNothing) {
    small_cores cores;
    watch seen;
    cores.attached.on_store = &seen;
    cores.store(here, 5);
    const cache_array& l1 = cores.caches.data_cache(0);
    const cache_array::place place = l1.find(address{here}.line());
    ASSERT_NE(place, cache_array::nowhere);
    EXPECT_TRUE(l1.state(place).writable);
    EXPECT_FALSE(l1.state(place).dirty);
    EXPECT_TRUE(seen.times.empty());
    EXPECT_EQ(cores.in_caches(here), 0u);
    EXPECT_EQ(cores.below.counters().store_prefetches, 1u);
    cores.store(here + 8, 6);
    EXPECT_EQ(cores.below.counters().store_prefetches, 1u) << "the line is already its own";
    cores.below.drain_everything();
    EXPECT_EQ(cores.in_caches(here), 5u);
    EXPECT_EQ(cores.in_caches(here + 8), 6u);
}

TEST(CoreMemory, AFullStoreQueueRefusesUntilTheOldestHasDrained) {
    core_config config;
    config.store_queue = 4;
    small_cores cores(config);
    cores.load(here);
    for (std::uint64_t i = 0; i < 4; ++i) cores.store(here + 8 * i, i);
    EXPECT_EQ(cores.refusals, 0u);
    const cycle before = cores.hart_at(0).local_time;
    cores.store(here + 64, 5);
    EXPECT_GT(cores.refusals, 0u);
    EXPECT_GT(cores.hart_at(0).local_time, before + 100);
}

TEST(CoreMemory, AnAtomicDrainsTheQueue) {
    small_cores cores;
    cores.store(here + 64, 5);
    cores.store(here, 6);
    EXPECT_EQ(cores.add_atomically(here, 1), 6u);
    EXPECT_EQ(cores.in_caches(here), 7u);
    EXPECT_EQ(cores.in_caches(here + 64), 5u);
    EXPECT_EQ(cores.below.queued({0}), 0u);
}

TEST(CoreMemory, OnlyAFenceOfStoresBeforeLoadsDrainsTheQueue) {
    small_cores cores;
    cores.store(here, 5);
    cores.again(0, [&] { return cores.below.fence(cores.hart_at(0), fence_order::all_but_load_after_store); });
    EXPECT_EQ(cores.below.queued({0}), 1u);
    cores.again(0, [&] { return cores.below.fence(cores.hart_at(0), fence_order::all); });
    EXPECT_EQ(cores.below.queued({0}), 0u);
    EXPECT_EQ(cores.in_caches(here), 5u);
}

TEST(CoreMemory, AReservationIsBrokenByAnotherHartsStoreWhenThatDrains) {
    for (const bool drains : {false, true}) {
        small_cores cores({}, 2);
        std::uint64_t value = 0;
        bool done = false;
        ASSERT_TRUE(cores.below.load_reserved<8>(cores.hart_at(0), here, value));
        cores.store(here + 8, 1, 1);
        if (drains) cores.below.drain_everything();
        cores.again(0, [&] { return cores.below.store_conditional<8>(cores.hart_at(0), here, 9, done); });
        EXPECT_EQ(done, !drains);
        EXPECT_EQ(cores.in_caches(here), drains ? 0u : 9u);
    }
}

TEST(CoreMemory, AStoreHasTheTransactionInWhichItWasExecuted) {
    small_cores cores;
    watch seen;
    cores.attached.on_store = &seen;
    cores.operate(custom_operation::transaction_begin, 3);
    cores.store(here, 1);
    cores.operate(custom_operation::transaction_commit);
    cores.operate(custom_operation::transaction_begin, 4);
    cores.store(here, 2);
    cores.operate(custom_operation::transaction_commit);
    cores.below.drain_everything();
    EXPECT_EQ(seen.transactions, (std::vector<std::uint16_t>{3, 4}));
    EXPECT_FALSE(cores.registers.in_transaction({0}));
}

/// What the log port is told, and when the answers are.
class log_watch final : public port::log_control {
public:
    time create(hart_id, const port::log_region& region, time at) override { return heard("create", region, at); }
    time truncate(hart_id, time at) override { return heard("truncate", {}, at); }
    time grow(hart_id, const port::log_region& region, time at) override { return heard("grow", region, at); }

    std::vector<std::string> calls{};
    std::vector<std::uint64_t> stores_before{};  ///< how many stores had drained
    const core_memory_counters* counters = nullptr;
    time delay{};

private:
    time heard(const char* what, const port::log_region& region, time at) {
        calls.push_back(std::string(what) + " " + std::to_string(region.begin.value) + " " +
                        std::to_string(region.bytes));
        stores_before.push_back(counters->drained_stores);
        return at + delay;
    }
};

TEST(CoreMemory, OperationsOfTheLogReachTheirPortInOrderWithTheStoresAndDelayTheDrain) {
    const auto run = [](log_watch& seen, time delay) {
        small_cores cores;
        seen.counters = &cores.below.counters();
        seen.delay = delay;
        cores.attached.on_log = &seen;
        cores.load(here);
        cores.operate(custom_operation::log_create, persistent_data, 4096);
        cores.store(here, 1);
        cores.operate(custom_operation::log_grow, persistent_data + 8192, 64);
        cores.store(here, 2);
        cores.operate(custom_operation::log_truncate);
        return cores.below.drain_everything();
    };
    log_watch seen, slower;
    EXPECT_EQ(run(slower, ns(80)) - run(seen, ns(40)), 3 * 100u);
    const std::string begin = std::to_string(persistent_data), further = std::to_string(persistent_data + 8192);
    EXPECT_EQ(seen.calls,
              (std::vector<std::string>{"create " + begin + " 4096", "grow " + further + " 64", "truncate 0 0"}));
    EXPECT_EQ(seen.stores_before, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(CoreMemory, AMachineWithoutALogKeepsTheRegionsAndTheHeadAtTheTail) {
    small_cores cores;
    const port::control_registers& registers = cores.registers;
    cores.operate(custom_operation::log_create, persistent_data, 4096);
    cores.operate(custom_operation::log_grow, persistent_data + 8192, 64);
    EXPECT_TRUE(registers.log_regions.empty()) << "not before they drain";
    cores.below.drain_everything();
    ASSERT_EQ(registers.log_regions.size(), 2u);
    EXPECT_EQ(registers.log_regions[0].begin.value, persistent_data);
    EXPECT_EQ(registers.log_regions[0].bytes, 4096u);
    EXPECT_EQ(registers.log_regions[1].begin.value, persistent_data + 8192);
    EXPECT_EQ(registers.log_regions[1].bytes, 64u);
    EXPECT_EQ(registers.log_head.value, persistent_data);
    cores.registers.log_tail = {persistent_data + 64};
    cores.operate(custom_operation::log_truncate);
    cores.below.drain_everything();
    EXPECT_EQ(registers.log_head, registers.log_tail);
    cores.operate(custom_operation::log_create, persistent_data + 4096, 128);
    cores.below.drain_everything();
    EXPECT_EQ(registers.log_regions.size(), 1u) << "a new log has no other regions";
    EXPECT_EQ(registers.log_tail.value, persistent_data + 4096);
}

TEST(CoreMemory, WhatWasWrittenBackIsInNvramBehindThePersistFence) {
    small_cores cores;
    cores.store(here, 42);
    cores.operate(custom_operation::line_write_back, here);
    cores.operate(custom_operation::persist_fence);
    cores.operate(custom_operation::transaction_begin, 1);
    const cycle end = cores.below.drain_everything();
    const memory_image left = cores.memory.nvram().crash(cores.below.clock().time_of(end));
    std::uint64_t value = 0;
    left.read_bytes({here}, std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_EQ(value, 42u);
}

TEST(CoreMemory, AnAccessToAPageThatIsNotThereIsAFault) {
    small_cores cores;
    std::uint64_t value = 0;
    EXPECT_FALSE(cores.below.load<8>(cores.hart_at(0), 0x5000'0000, value));
    EXPECT_EQ(cores.hart_at(0).stop, hart_stop::fault);
    EXPECT_NE(cores.hart_at(0).reason.text().find("0x50000000"), std::string::npos);
}

constexpr std::uint64_t saved = volatile_data + 4096;  ///< registers of threads that do not run

TEST(CoreMemory, ATransactionRegisterIsSavedWhenWhatWasBeforeHasDrainedAndRestoredForWhatIsBehind) {
    small_cores cores;
    watch seen;
    cores.attached.on_store = &seen;
    cores.operate(custom_operation::transaction_begin, 5);
    cores.store(here, 1);
    cores.operate(custom_operation::transaction_save, saved);
    cores.operate(custom_operation::transaction_begin, 6);
    cores.store(here, 2);
    cores.operate(custom_operation::transaction_commit);
    cores.operate(custom_operation::transaction_restore, cores.load(saved));
    EXPECT_TRUE(cores.registers.in_transaction({0}));
    cores.store(here, 3);
    cores.below.drain_everything();
    EXPECT_EQ(seen.transactions, (std::vector<std::uint16_t>{5, 5, 6, 5})) << "the second one is the register itself";
    EXPECT_EQ(seen.in_transaction, (std::vector<bool>{true, false, true, true}));
}

TEST(CoreMemory, RestoringWhatWasNotSavedStopsTheHart) {
    small_cores cores;
    EXPECT_FALSE(cores.below.custom(cores.hart_at(0), custom_operation::transaction_restore, 77, 0));
    EXPECT_EQ(cores.hart_at(0).stop, hart_stop::fault);
    EXPECT_NE(cores.hart_at(0).reason.text().find("transaction_restore refused"), std::string::npos);
}

/// As many transactions as hardware can tell apart, all of them on threads that do not run.
void begin_256(small_cores& cores) {
    for (std::uint64_t id = 0; id < transaction_registers::active_most; ++id) {
        cores.operate(custom_operation::transaction_begin, id);
        cores.operate(custom_operation::transaction_save, saved + 8 * id);
    }
}

TEST(CoreMemory, The257thTransactionBeginsWhenAnotherOneHasCommitted) {
    small_cores cores({}, 2);
    begin_256(cores);
    cores.hart_at(1).local_time = cores.hart_at(0).local_time;
    cores.operate(custom_operation::transaction_begin, 300, 0, 1);
    cores.store(here, 4, 1);
    cores.hart_at(1).local_time += 5000;
    for (int i = 0; i < 100; ++i) cores.execute(cores.instruction(operation_class::integer, 5), 1);
    EXPECT_FALSE(cores.registers.in_transaction({1}));
    EXPECT_EQ(cores.in_caches(here), 0u) << "what is behind it waits, too";

    cores.operate(custom_operation::transaction_restore, cores.load(saved + 8 * 9));
    cores.operate(custom_operation::transaction_commit);
    cores.below.drain_everything();
    EXPECT_TRUE(cores.registers.in_transaction({1}));
    EXPECT_EQ(cores.registers.active_number({1}), 9u);
    EXPECT_EQ(cores.in_caches(here), 4u);
    EXPECT_FALSE(cores.below.is_stuck());
}

TEST(CoreMemory, ATransactionThatWaitsForOneThatNeverCommitsIsFoundOut) {
    small_cores cores;
    begin_256(cores);
    cores.operate(custom_operation::transaction_begin, 300);
    cores.below.drain_everything();
    EXPECT_TRUE(cores.below.is_stuck());
}

}  // namespace
}  // namespace holdfast::sim::test
