// The caches alone, over a memory that takes 100 ns for everything.
#include <sim/cache/hierarchy.hpp>
#include <sim/cache/mock_memory_test.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

constexpr time l1 = ps(1600), l2 = ps(4400), memory = ns(100), intervention = ps(1600);
constexpr std::uint64_t l1_way = 32 * 1024 / 8, l2_way = 8 * 1024 * 1024 / 16;

class Hierarchy : public testing::Test {
protected:
    access load(std::uint32_t core, std::uint64_t where, time at) { return caches_.load(core, {where}, 8, at).how; }
    std::uint64_t value(std::uint32_t core, std::uint64_t where, std::uint32_t size = 8) {
        return caches_.load(core, {where}, size, now_).value;
    }
    access store(std::uint32_t core, std::uint64_t where, std::uint64_t stored, time at) {
        std::array<std::byte, 8> bytes;
        std::memcpy(bytes.data(), &stored, 8);
        return caches_.store({core, hart_id{core}, {}}, {where}, bytes, at);
    }
    time write_back(std::uint32_t core, std::uint64_t where, time at) {
        return caches_.write_back({core, hart_id{core}, {}}, {where}, at);
    }
    const line_state& state(std::uint32_t core, std::uint64_t where) {
        return caches_.data_cache(core).state(caches_.data_cache(core).find(address{where}));
    }
    bool has(std::uint32_t core, std::uint64_t where) {
        return caches_.data_cache(core).find(address{where}) != cache_array::nowhere;
    }
    std::uint64_t in_memory(std::uint64_t where) {
        std::uint64_t found = 0;
        std::memcpy(&found, memory_.lines[address{where}.line()].data() + address{where}.offset_in_line(), 8);
        return found;
    }

    mock_memory memory_;
    port::ports attached_;
    hierarchy caches_{hierarchy_config{}, memory_, attached_};
    time now_ = ns(10'000);
};

TEST_F(Hierarchy, AHitInL1CostsItsLatencyAndAMissThoseOfAllLevelsAboveTheAnswer) {
    EXPECT_EQ(load(0, 0, ns(0)).done, l1 + l2 + memory);
    EXPECT_EQ(load(0, 8, ns(1000)).done, ns(1000) + l1);
    EXPECT_EQ(load(1, 8, ns(2000)).done, ns(2000) + l1 + l2 + intervention);
    EXPECT_EQ(load(2, 8, ns(3000)).done, ns(3000) + l1 + l2);
    EXPECT_EQ(load(2, 8, ns(4000)).by, answered_by::l1);
}

TEST_F(Hierarchy, AMissOfALineInFlightWaitsForTheFirstOneAndAsksMemoryOnce) {
    const time first = load(0, 0, ns(0)).done;
    EXPECT_EQ(load(0, 8, ns(20)).done, first);
    EXPECT_EQ(load(0, 16, ns(20)).by, answered_by::in_flight);
    EXPECT_EQ(memory_.reads.size(), 1u);
}

TEST_F(Hierarchy, AMissOfAnotherCoreMergesInL2) {
    load(0, 0, ns(0));
    const access second = load(1, 0, ns(20));
    EXPECT_EQ(memory_.reads.size(), 1u);
    EXPECT_EQ(second.done, l1 + l2 + memory + intervention);
}

TEST_F(Hierarchy, TheEarlierOfTwoMissesIsTheFirstThoughItWasComputedLast) {
    const time late = load(0, 0, ns(500)).done;
    EXPECT_EQ(late, ns(500) + l1 + l2 + memory);
    EXPECT_EQ(load(0, 0, ns(100)).done, ns(100) + l1 + l2 + memory);
    EXPECT_EQ(load(0, 0, ns(500)).done, ns(500) + l1);
}

TEST_F(Hierarchy, TheLeastRecentlyUsedLineOfASetIsReplaced) {
    for (std::uint64_t way = 0; way < 8; ++way) load(0, way * l1_way, ns(0));
    load(0, 0, ns(1000));
    load(0, 8 * l1_way, ns(2000));
    EXPECT_TRUE(has(0, 0));
    EXPECT_FALSE(has(0, 1 * l1_way));
    EXPECT_TRUE(has(0, 2 * l1_way));
}

TEST_F(Hierarchy, AStoreAllocatesItsLineAndLeavesTheBytesAroundIt) {
    memory_.lines[address{0}].fill(std::byte{0x11});
    store(0, 8, 0x2222222222222222, ns(0));
    EXPECT_EQ(value(0, 0), 0x1111111111111111u);
    EXPECT_EQ(value(0, 8), 0x2222222222222222u);
    EXPECT_EQ(in_memory(8), 0x1111111111111111u) << "write-back, not write-through";
}

TEST_F(Hierarchy, ALoadOverTheEndOfALineIsPutTogetherFromBoth) {
    store(0, 56, 0x1122334455667788, ns(0));
    store(0, 64, 0x99aabbccddeeff00, ns(0));
    EXPECT_EQ(value(0, 60), 0xddeeff0011223344u);
    EXPECT_EQ(value(0, 62, 4), 0xff001122u);
}

TEST_F(Hierarchy, AStoreOverTheEndOfALineChangesBoth) {
    store(0, 60, 0x1122334455667788, ns(0));
    EXPECT_EQ(value(0, 56), 0x5566778800000000u);
    EXPECT_EQ(value(0, 64), 0x11223344u);
}

TEST_F(Hierarchy, ALineThatOneCoreHasAloneIsWrittenWithoutAskingL2) {
    load(0, 0, ns(0));
    EXPECT_EQ(store(0, 0, 1, ns(1000)).done, ns(1000) + l1);
    EXPECT_EQ(caches_.counters(0).data.upgrades, 0u);
}

TEST_F(Hierarchy, ASharedLineIsWrittenAfterL2HasTakenItFromTheOthers) {
    load(0, 0, ns(0));
    load(1, 0, ns(1000));
    EXPECT_EQ(store(0, 0, 1, ns(2000)).done, ns(2000) + l1 + l2);
    EXPECT_EQ(caches_.counters(0).data.upgrades, 1u);
    EXPECT_FALSE(has(1, 0));
}

TEST_F(Hierarchy, AStoreToALineThatAnotherCoreHoldsDirtyGetsThatCoresBytes) {
    store(0, 0, 1, ns(0));
    EXPECT_EQ(store(1, 8, 2, ns(1000)).by, answered_by::other_l1);
    EXPECT_FALSE(has(0, 0));
    EXPECT_EQ(value(1, 0), 1u);
    EXPECT_EQ(value(1, 8), 2u);
    EXPECT_TRUE(memory_.writes.empty());
}

TEST_F(Hierarchy, ALoadOfALineThatAnotherCoreHoldsDirtyLeavesBothWithItUnwritable) {
    store(0, 0, 1, ns(0));
    EXPECT_EQ(value(1, 0), 1u);
    EXPECT_FALSE(state(0, 0).dirty);
    EXPECT_FALSE(state(0, 0).writable);
    EXPECT_FALSE(state(1, 0).writable);
    EXPECT_TRUE(caches_.l2().state(caches_.l2().find(address{0})).dirty);
}

TEST_F(Hierarchy, AStoreTakesTheLineFromTheInstructionCaches) {
    caches_.fetch(1, {0}, ns(0));
    store(0, 0, 1, ns(1000));
    EXPECT_EQ(caches_.fetch(1, {0}, ns(2000)).by, answered_by::other_l1);
    EXPECT_EQ(caches_.counters(1).instructions.recalled, 1u);
}

TEST_F(Hierarchy, ADirtyLineThatLeavesL1IsFoundInL2) {
    store(0, 0, 7, ns(0));
    for (std::uint64_t way = 1; way <= 8; ++way) load(0, way * l1_way, ns(1000 * way));
    EXPECT_FALSE(has(0, 0));
    EXPECT_EQ(caches_.counters(0).data.write_backs, 1u);
    const load_result again = caches_.load(0, {0}, 8, ns(20'000));
    EXPECT_EQ(again.value, 7u);
    EXPECT_EQ(again.how.by, answered_by::l2);
}

TEST_F(Hierarchy, ALineThatLeavesL2TakesTheL1sBytesAlong) {
    store(0, 0, 7, ns(0));
    // Every one also maps to set 0 of the L1; the store keeps its line recent there, but not in L2.
    for (std::uint64_t way = 1; way <= 16; ++way) {
        store(0, 0, 7 + way, ns(1000 * way));
        load(1, way * l2_way, ns(1000 * way));
    }
    EXPECT_FALSE(has(0, 0));
    ASSERT_EQ(memory_.writes.size(), 1u);
    EXPECT_EQ(memory_.writes[0].why, port::reason::eviction);
    EXPECT_EQ(in_memory(0), 7u + 16);
}

TEST_F(Hierarchy, ACleanLineLeavesWithoutAWrite) {
    for (std::uint64_t way = 0; way <= 16; ++way) load(0, way * l2_way, ns(1000 * way));
    EXPECT_EQ(caches_.l2_counters().evictions, 1u);
    EXPECT_TRUE(memory_.writes.empty());
}

TEST_F(Hierarchy, AFullQueueBelowDelaysTheMissThatNeedsThePlace) {
    for (std::uint64_t way = 0; way < 16; ++way) store(0, way * l2_way, 1, ns(1000 * way));
    memory_.accept_delay = ns(5000);
    // The line had been handed to L2 by then, or its L1 is asked for it first.
    EXPECT_GE(load(1, 16 * l2_way, ns(20'000)).done, ns(25'000));
}

TEST_F(Hierarchy, AWrittenBackLineStaysAndIsCleanAndWritable) {
    store(0, 0, 5, ns(0));
    EXPECT_GE(write_back(0, 0, ns(1000)), ns(1000) + l1 + l2);
    EXPECT_EQ(in_memory(0), 5u);
    EXPECT_FALSE(state(0, 0).dirty);
    EXPECT_TRUE(state(0, 0).writable);
    EXPECT_EQ(store(0, 0, 6, ns(2000)).by, answered_by::l1);
    EXPECT_EQ(memory_.writes[0].why, port::reason::instruction);
    EXPECT_EQ(memory_.awaited.back(), address{0});
}

TEST_F(Hierarchy, ALineWriteBackReachesTheCoreThatHoldsTheLineDirty) {
    store(1, 0, 5, ns(0));
    write_back(0, 0, ns(1000));
    EXPECT_EQ(in_memory(0), 5u);
}

TEST_F(Hierarchy, ACleanLineIsNotWrittenAgainButWhatIsOnItsWayIsAwaited) {
    load(0, 0, ns(0));
    write_back(0, 0, ns(1000));
    write_back(0, 4096, ns(1000));
    EXPECT_TRUE(memory_.writes.empty());
    EXPECT_EQ(memory_.awaited.size(), 2u);
}

TEST_F(Hierarchy, AStreamedLineIsInNoCacheAndAfterTheBytesThatWereThere) {
    store(0, 0, 5, ns(0));
    const std::array<std::byte, 8> bytes{std::byte{9}};
    caches_.stream({1, hart_id{1}, {}}, {8}, bytes, ns(1000));
    EXPECT_FALSE(has(0, 0));
    EXPECT_EQ(memory_.writes.at(0).why, port::reason::taken);
    EXPECT_EQ(value(0, 0), 5u);
    EXPECT_EQ(value(0, 8), 9u);
}

TEST_F(Hierarchy, AnAtomicSeesWhatTheLastOneStored) {
    const auto add_one = [](std::uint64_t old) { return std::optional(old + 1); };
    for (std::uint32_t core = 0; core < 4; ++core) {
        EXPECT_EQ(caches_.update({core, hart_id{core}, {}}, {0}, 8, ns(1000), add_one).value, core);
    }
    EXPECT_EQ(value(0, 0), 4u);
}

TEST_F(Hierarchy, AnAtomicWhoseComparisonFailsStoresNothing) {
    const auto refuse = [](std::uint64_t) { return std::optional<std::uint64_t>{}; };
    caches_.update({0, hart_id{0}, {}}, {0}, 4, ns(0), refuse);
    EXPECT_FALSE(state(0, 0).dirty);
}

TEST_F(Hierarchy, PokedBytesAreSeenByAllAndMakeNoLineDirty) {
    load(0, 0, ns(0));
    load(1, 0, ns(0));
    const std::array<std::byte, 8> bytes{std::byte{3}};
    caches_.poke({0}, bytes);
    EXPECT_EQ(value(0, 0), 3u);
    EXPECT_EQ(value(1, 0), 3u);
    EXPECT_EQ(in_memory(0), 3u);
    EXPECT_FALSE(state(0, 0).dirty);
}

TEST_F(Hierarchy, AllSetsAreFullOnceAsManyLinesAsThereArePlacesWereRead) {
    EXPECT_EQ(caches_.l2().full_sets(), 0u);
    for (std::uint64_t line = 0; line < 8 * 1024 * 1024 / 64; ++line) load(0, line * 64, ns(0));
    EXPECT_EQ(caches_.l2().full_sets(), caches_.l2().sets());
}

TEST(CacheArray, TheOrderOfUseIsThatOfAListWhateverTheNumberOfWays) {
    for (const std::uint32_t ways : {1u, 2u, 3u, 8u, 15u, 16u}) {
        cache_array cache({ways * 64, ways, ns(1), ns(1)});
        std::vector<cache_array::place> order;
        for (std::uint32_t way = ways; way-- > 0;) {
            const cache_array::place place = cache.victim(address{0});
            order.insert(order.begin(), place);
            cache.put(place, address{std::uint64_t{way} * 64});
        }
        std::uint64_t seed = 7;
        for (int each = 0; each < 1000; ++each) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const cache_array::place place = order[(seed >> 33) % ways];
            std::erase(order, place);
            if (seed >> 60 == 0) {
                cache.remove(place);
                order.push_back(place);
                ASSERT_EQ(cache.victim(address{0}), place);
                cache.put(place, address{(seed >> 40) * 64});
                std::erase(order, place);
            } else {
                cache.touch(place);
            }
            order.insert(order.begin(), place);
            ASSERT_EQ(cache.victim(address{0}), order.back()) << ways << " ways, step " << each;
        }
    }
}

}  // namespace
}  // namespace holdfast::sim
