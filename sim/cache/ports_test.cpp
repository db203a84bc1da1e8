// The ports of caches and memory: what each tells, and that its delays arrive where they should.
#include <sim/cache/mock_memory_test.hpp>
#include <sim/cache/tag_walker.hpp>
#include <sim/memory/memory_system.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

constexpr time l1 = ps(1600), l2 = ps(4400);

struct seen_store {
    hart_id hart{};
    transaction_id transaction{};
    address where{};
    std::vector<std::byte> old_bytes{}, new_bytes{};
    time at{};
    bool hit = false;
    bool in_transaction = false;
};

class store_recorder : public port::store_commit {
public:
    time commit(const port::store_event& event) override {
        seen.push_back({event.hart, event.transaction, event.where,
                        {event.old_bytes.begin(), event.old_bytes.end()},
                        {event.new_bytes.begin(), event.new_bytes.end()}, event.at, event.hit, event.in_transaction});
        return event.at + refuse_for;
    }
    std::vector<seen_store> seen;
    time refuse_for{};
};

class write_back_recorder : public port::write_back {
public:
    struct seen_event {
        port::level from{};
        std::uint32_t cache = 0;
        address line{};
        std::byte first{};
        port::reason why{};
    };
    port::permission leave(const port::write_back_event& event) override {
        seen.push_back({event.from, event.cache, event.line, event.bytes[0], event.why});
        if (event.from != hold_at) return {event.at, false};
        return {event.at + hold_for, until_released};
    }
    time press(address, time at) override {
        ++pressed;
        return at + ns(1000);
    }
    std::vector<seen_event> seen;
    port::level hold_at = port::level::l1;
    time hold_for{};
    bool until_released = false;
    int pressed = 0;
};

class Ports : public testing::Test {
protected:
    access store(std::uint32_t core, std::uint64_t where, std::uint64_t stored, time at,
                 std::uint16_t transaction = 1) {
        std::array<std::byte, 8> bytes;
        std::memcpy(bytes.data(), &stored, 8);
        return caches_.store({core, hart_id{core}, {transaction}}, {arena_ + where}, bytes, at);
    }
    time write_back(std::uint64_t where, time at) {
        return caches_.write_back({0, hart_id{0}, {}}, {arena_ + where}, at);
    }
    std::uint64_t in_image(const memory_image& image, std::uint64_t where) {
        std::uint64_t found = 0;
        image.read_bytes(address{arena_ + where}, std::as_writable_bytes(std::span(&found, 1)));
        return found;
    }

    const std::uint64_t arena_ = memory_map{}.nvram_begin.value;
    port::ports attached_;
    memory_system memory_{memory_config{}, attached_};
    hierarchy caches_{hierarchy_config{}, memory_, attached_};
    store_recorder stores_;
    write_back_recorder write_backs_;
};

TEST_F(Ports, AStoreCommitTellsHartTransactionAddressAndBothValues) {
    attached_.on_store = &stores_;
    store(2, 8, 0x11, ns(0), 7);
    store(2, 8, 0x22, ns(1000), 8);
    ASSERT_EQ(stores_.seen.size(), 2u);
    EXPECT_FALSE(stores_.seen[0].hit);
    EXPECT_TRUE(stores_.seen[1].hit);
    EXPECT_EQ(stores_.seen[1].hart, hart_id{2});
    EXPECT_EQ(stores_.seen[1].transaction, transaction_id{8});
    EXPECT_EQ(stores_.seen[1].where, address{arena_ + 8});
    EXPECT_EQ(stores_.seen[1].old_bytes.at(0), std::byte{0x11});
    EXPECT_EQ(stores_.seen[1].new_bytes.at(0), std::byte{0x22});
    EXPECT_EQ(stores_.seen[1].new_bytes.size(), 8u);
    EXPECT_EQ(stores_.seen[1].at, ns(1000) + l1);
}

TEST_F(Ports, OldMemoryCanBeRebuiltFromTheStoreCommits) {
    attached_.on_store = &stores_;
    for (std::uint64_t each = 0; each < 200; ++each) {
        store(static_cast<std::uint32_t>(each % 4), each * each % 96 * 8, each + 1, ns(each * 200));
    }
    for (auto seen = stores_.seen.rbegin(); seen != stores_.seen.rend(); ++seen) {
        caches_.poke(seen->where, seen->old_bytes);
    }
    std::array<std::byte, 96 * 8> found;
    caches_.peek({arena_}, found);
    for (const std::byte byte : found) ASSERT_EQ(byte, std::byte{0});
}

TEST_F(Ports, ARefusedStoreCommitStallsTheDrainByExactlyTheRefusedTime) {
    store(0, 0, 1, ns(0));
    attached_.on_store = &stores_;
    EXPECT_EQ(store(0, 0, 2, ns(1000)).done, ns(1000) + l1);
    stores_.refuse_for = ns(123);
    EXPECT_EQ(store(0, 0, 3, ns(2000)).done, ns(2000) + l1 + ns(123));
}

TEST_F(Ports, AnAtomicCommitsLikeAStore) {
    attached_.on_store = &stores_;
    const auto nine = [](std::uint64_t) { return std::optional<std::uint64_t>(9); };
    caches_.update({0, hart_id{0}, {3}}, {arena_}, 4, ns(0), nine);
    ASSERT_EQ(stores_.seen.size(), 1u);
    EXPECT_EQ(stores_.seen[0].new_bytes.size(), 4u);
}

TEST_F(Ports, ADirtyLineIsAnnouncedAtEveryLevelOnItsWayToMemory) {
    attached_.on_write_back = &write_backs_;
    store(3, 0, 0x55, ns(0));
    write_back(0, ns(1000));
    ASSERT_EQ(write_backs_.seen.size(), 3u);
    EXPECT_EQ(write_backs_.seen[0].from, port::level::l1);
    EXPECT_EQ(write_backs_.seen[0].cache, 3u);
    EXPECT_EQ(write_backs_.seen[1].from, port::level::l2);
    EXPECT_EQ(write_backs_.seen[2].from, port::level::controller);
    for (const auto& event : write_backs_.seen) {
        EXPECT_EQ(event.line, address{arena_});
        EXPECT_EQ(event.first, std::byte{0x55});
        EXPECT_EQ(event.why, port::reason::instruction);
    }
}

TEST_F(Ports, AHeldEvictionDelaysTheMissThatNeedsItsPlace) {
    for (std::uint64_t way = 0; way < 8; ++way) store(0, way * 4096, 1, ns(1000 * way));
    attached_.on_write_back = &write_backs_;
    write_backs_.hold_for = ns(5000);
    EXPECT_EQ(store(0, 8 * 4096, 1, ns(20'000)).done, ns(20'000) + l1 + ns(5000));
}

TEST_F(Ports, ACacheAsksAtOnceHowLongItIsToHoldALine) {
    for (std::uint64_t way = 0; way < 8; ++way) store(0, way * 4096, 1, ns(1000 * way));
    attached_.on_write_back = &write_backs_;
    write_backs_.until_released = true;
    EXPECT_EQ(store(0, 8 * 4096, 1, ns(20'000)).done, ns(20'000) + l1 + ns(1000));
    EXPECT_EQ(write_backs_.pressed, 1);
}

TEST_F(Ports, AWriteBackHeldAtTheControllerStaysOutOfTheArrayUntilReleased) {
    attached_.on_write_back = &write_backs_;
    write_backs_.hold_at = port::level::controller;
    write_backs_.until_released = true;
    store(0, 0, 5, ns(0));
    caches_.force_write_back({arena_}, ns(1000));
    memory_.settle(ns(50'000));
    EXPECT_EQ(in_image(memory_.nvram().image(), 0), 0u);
    memory_.nvram().release({arena_}, ns(60'000));
    EXPECT_EQ(memory_.nvram().waiting(), 1u);
    // The miss of the store had opened the row.
    EXPECT_EQ(memory_.nvram().finish(ns(60'000)), ns(60'000) + ns(36));
    EXPECT_EQ(in_image(memory_.nvram().image(), 0), 5u);
    EXPECT_EQ(write_backs_.pressed, 0);
}

TEST_F(Ports, AWriteBackDelayedAtTheControllerDelaysTheNextOneOfItsLine) {
    attached_.on_write_back = &write_backs_;
    write_backs_.hold_at = port::level::controller;
    write_backs_.hold_for = ns(5000);
    store(0, 0, 5, ns(0));
    write_back(0, ns(1000));
    write_backs_.hold_for = time{};
    store(0, 0, 6, ns(2000));
    write_back(0, ns(3000));
    // The older one takes the row hit at 6006 ns at the earliest.
    EXPECT_EQ(caches_.fence(hart_id{0}, ns(3010)), ns(1000) + l1 + l2 + ns(5000) + ns(2 * 36));
    EXPECT_EQ(in_image(memory_.nvram().crash(ns(10'000)), 0), 6u);
}

TEST_F(Ports, AFencePressesForTheWriteBackThatIsHeld) {
    attached_.on_write_back = &write_backs_;
    write_backs_.hold_at = port::level::controller;
    write_backs_.until_released = true;
    store(0, 0, 5, ns(0));
    write_back(0, ns(1000));
    EXPECT_EQ(caches_.fence(hart_id{0}, ns(2000)), ns(2000) + ns(1000) + ns(36));
    EXPECT_EQ(write_backs_.pressed, 1);
}

TEST_F(Ports, AFullQueueOfHeldWritesIsPressedForRoom) {
    attached_.on_write_back = &write_backs_;
    write_backs_.hold_at = port::level::controller;
    write_backs_.until_released = true;
    for (std::uint64_t line = 0; line < 65; ++line) {
        store(0, line * 64, 1, ns(10'000 + line));
        caches_.force_write_back({arena_ + line * 64}, ns(20'000));
    }
    EXPECT_EQ(write_backs_.pressed, 1);
    EXPECT_EQ(memory_.nvram().counters().writes_refused, 1u);
}

TEST_F(Ports, TheTagWalkerReadsAndSetsStateBitsSetBySet) {
    store(0, 64, 1, ns(0));
    caches_.load(0, {arena_ + 64 + 4096}, 8, ns(1000));
    tag_walker walker(caches_);
    int dirty = 0, clean = 0;
    const auto mark = [&](walked_line& line) {
        (line.dirty ? dirty : clean) += 1;
        line.spare = line.dirty ? 1 : 0;
        return false;
    };
    for (std::uint64_t set = 0; set < walker.data_sets(); ++set) walker.walk_data(0, set, ns(2000), mark);
    EXPECT_EQ(dirty, 1);
    EXPECT_EQ(clean, 1);
    const auto count_marked = [&](walked_line& line) { return dirty += line.spare, false; };
    walker.walk_data(0, 1, ns(3000), count_marked);
    EXPECT_EQ(dirty, 2);
    EXPECT_EQ(caches_.counters(0).data.sets_walked, 65u);
}

TEST_F(Ports, AForcedLineIsCleanAfterwardsInBothLevelsAndItsBitsAreReset) {
    attached_.on_write_back = &write_backs_;
    store(0, 64, 6, ns(0));
    tag_walker walker(caches_);
    const auto mark = [](walked_line& line) { return line.spare = 1, false; };
    const auto force = [](walked_line& line) { return line.dirty && line.spare == 1; };
    walker.walk_data(0, 1, ns(1000), mark);
    EXPECT_EQ(walker.walk_data(0, 1, ns(2000), force).forced, 1u);
    int left = 0;
    const auto look = [&](walked_line& line) { return left += line.dirty + line.spare, false; };
    walker.walk_data(0, 1, ns(3000), look);
    walker.walk_l2(1, ns(3000), look);
    EXPECT_EQ(left, 0);
    EXPECT_EQ(write_backs_.seen.back().why, port::reason::forced);
    memory_.nvram().finish(ns(4000));
    EXPECT_EQ(in_image(memory_.nvram().image(), 64), 6u);
}

TEST_F(Ports, AWalkKeepsTheTagsFromALoadForTheConfiguredTime) {
    caches_.load(0, {arena_}, 8, ns(0));
    tag_walker walker(caches_);
    const auto look = [](walked_line&) { return false; };
    EXPECT_EQ(walker.walk_data(0, 0, ns(1000), look).tags_done, ns(1000) + ps(400));
    EXPECT_EQ(caches_.load(0, {arena_}, 8, ns(1000) + ps(100)).how.done, ns(1000) + ps(400) + l1);
    EXPECT_EQ(caches_.load(0, {arena_}, 8, ns(1000) + ps(400)).how.done, ns(1000) + ps(400) + l1);
    EXPECT_EQ(caches_.load(0, {arena_}, 8, ns(900)).how.done, ns(900) + l1);
    walker.walk_l2(0, ns(2000), look);
    EXPECT_EQ(caches_.load(1, {arena_}, 8, ns(2000) - l1).how.done, ns(2000) + l2 + l2 + ps(1600));
}

TEST_F(Ports, EverySpanOfAWalkCountsAndNotTheLatestAlone) {
    caches_.load(0, {arena_}, 8, ns(0));
    tag_walker walker(caches_);
    const auto look = [](walked_line&) { return false; };
    for (std::uint64_t set = 0; set < 8; ++set) walker.walk_data(0, set, ns(1000) + ps(400) * set, look);
    for (std::uint64_t set = 0; set < 8; ++set) {
        const time into = ns(1000) + ps(400) * set + ps(100);
        EXPECT_EQ(caches_.load(0, {arena_}, 8, into).how.done, into + ps(300) + l1) << "behind one set, not behind all";
    }
    caches_.settle(ns(1000) + ps(400) * 4);
    EXPECT_EQ(caches_.load(0, {arena_}, 8, ns(1000) + ps(100)).how.done, ns(1000) + ps(100) + l1) << "settled";
    EXPECT_EQ(caches_.load(0, {arena_}, 8, ns(1000) + ps(1700)).how.done, ns(1000) + ps(2000) + l1) << "still kept";
}

TEST_F(Ports, AWalkerWaitsUntilMemoryHasAcceptedALineBeforeItForcesTheNext) {
    constexpr std::uint64_t lines = 3488;
    for (std::uint64_t line = 0; line < lines; ++line) store(0, line * 64, line + 1, ns(10 * line));
    tag_walker walker(caches_);
    const auto force = [](walked_line& line) { return line.dirty; };
    time accepted{};
    // Whoever drives it asks for all at the same time.
    for (std::uint64_t set = 0; set < walker.l2_sets(); ++set) {
        const walked_set walked = walker.walk_l2(set, ns(100'000), force);
        EXPECT_GE(walked.accepted, accepted);
        accepted = walked.accepted;
    }
    for (std::uint64_t set = 0; set < walker.data_sets(); ++set) walker.walk_data(0, set, ns(100'000), force);
    EXPECT_FALSE(memory_.nvram().has_overflowed());
    EXPECT_EQ(memory_.nvram().counters().writes, lines);
    EXPECT_LT(memory_.nvram().counters().refused_time, ns(310) * lines) << "it waits for one place at a time";
}

TEST_F(Ports, StreamedBytesAndTheLogShareTheCombiningBuffer) {
    const std::array<std::byte, 8> bytes{std::byte{1}};
    for (std::uint64_t line = 0; line < 6; ++line) {
        caches_.stream({0, hart_id{0}, {}}, {arena_ + line * 64}, bytes, ns(0));
    }
    EXPECT_EQ(memory_.nvram().counters().writes, 0u);
    memory_.nvram().append({arena_ + 4096}, bytes, ns(10));
    EXPECT_EQ(memory_.nvram().counters().writes, 1u);
}

TEST_F(Ports, WhatWasNotWrittenBackIsLostAtACrash) {
    store(0, 0, 1, ns(0));
    store(0, 64, 2, ns(0));
    write_back(0, ns(1000));
    const time durable = caches_.fence(hart_id{0}, ns(1000));
    const memory_image survives = memory_.nvram().crash(durable);
    EXPECT_EQ(in_image(survives, 0), 1u);
    EXPECT_EQ(in_image(survives, 64), 0u);
}

TEST_F(Ports, RegistersTellTheTransactionThatAStoreIsToCaptureAndAnnounceItsEnds) {
    class clock : public port::transactions {
    public:
        time begin(hart_id, transaction_id, time at) override { return at + ns(1); }
        time commit(hart_id, transaction_id transaction, time at) override {
            return at + ns(transaction.value);
        }
    } delays;
    attached_.on_transaction = &delays;
    port::control_registers registers(8, attached_);
    EXPECT_FALSE(registers.in_transaction(hart_id{5}));
    EXPECT_EQ(registers.begin(hart_id{5}, {42}, ns(10)), ns(11));
    EXPECT_EQ(registers.transaction(hart_id{5}), transaction_id{42});
    EXPECT_TRUE(registers.in_transaction(hart_id{5}));
    EXPECT_EQ(registers.commit(hart_id{5}, ns(20)), ns(62));
    EXPECT_FALSE(registers.in_transaction(hart_id{5}));
}

}  // namespace
}  // namespace holdfast::sim
