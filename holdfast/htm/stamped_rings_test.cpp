// The rings by themselves: merge, bound, room, and threads that really run at once.
#include <holdfast/htm/stand_in_test.hpp>
#include <holdfast/htm/stamped_rings.hpp>
#include <holdfast/stm/stm_test_support.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::htm {
namespace {

using namespace holdfast::stm::test;
using test::counted_clock;
using rings = stamped_rings<counted_clock>;

class StampedRings : public ::testing::Test {
protected:
    rings::ring& claim() {
        rings::ring* const made = all.claim();
        if (made == nullptr) throw std::bad_alloc();
        return *made;
    }
    /// A transaction with one store. Its stamp.
    std::uint64_t commit(rings::ring& own, word value = 0) {
        const log_room room = all.make_room(own, [this] { retire(); });
        rings::announce(own);
        return finish(own, room, value);
    }
    std::uint64_t finish(rings::ring& own, const log_room& room, word value = 0) {
        room.first[0] = {&home, value, 0xFF};
        const std::uint64_t stamp = counted_clock::stamp();
        rings::finish(own, {stamp, room.first, 1});
        return stamp;
    }
    std::size_t retire(std::size_t most = 1000) {
        return all.retire(
            most,
            [this](const finished& each) {
                stamps.push_back(each.stamp);
                for (const auto& one : each) stm::detail::store_home(one.home(), one.value, one.mask());
            },
            [this] { ++batches; });
    }
    log_room room_of(rings::ring& own) { return all.make_room(own, [] {}); }

    const std::unique_ptr<rings> owner = std::make_unique<rings>();
    rings& all = *owner;
    word home = 0;
    std::vector<std::uint64_t> stamps;
    int batches = 0;
};

TEST_F(StampedRings, RingsAreMergedByStamp) {
    rings::ring& one = claim();
    rings::ring& other = claim();
    std::vector<std::uint64_t> expected;
    for (int i = 0; i < 20; ++i) expected.push_back(commit(i % 3 == 0 ? one : other, static_cast<word>(i)));
    EXPECT_EQ(all.waiting(), 20u);
    EXPECT_EQ(retire(7), 7u);
    EXPECT_EQ(all.retired_until(), expected[6]);
    EXPECT_EQ(retire(), 13u);
    EXPECT_EQ(stamps, expected);
    EXPECT_EQ(home, 19u);
    EXPECT_EQ(all.waiting(), 0u);
    EXPECT_EQ(batches, 2);
    EXPECT_EQ(retire(), 0u);
    EXPECT_EQ(batches, 2) << "no batch without a transaction";
}

TEST_F(StampedRings, AThreadInTheMiddleOfATransactionHoldsBackWhatIsYounger) {
    rings::ring& one = claim();
    rings::ring& other = claim();
    const std::uint64_t before = commit(one);
    const log_room room = room_of(other);
    rings::announce(other);
    const std::uint64_t younger = commit(one);
    EXPECT_EQ(retire(), 1u);
    EXPECT_EQ(stamps.back(), before);
    EXPECT_LT(all.retired_until(), younger);
    EXPECT_EQ(retire(), 0u);
    const std::uint64_t last = finish(other, room);
    EXPECT_EQ(retire(), 2u);
    EXPECT_EQ(stamps, (std::vector{before, younger, last}));
    EXPECT_GE(all.retired_until(), last);
}

TEST_F(StampedRings, AStartThatCameToNothingHoldsNobodyBack) {
    rings::ring& one = claim();
    rings::ring& other = claim();
    rings::announce(other);
    commit(one);
    EXPECT_EQ(retire(), 0u);
    rings::withdraw(other);
    EXPECT_EQ(retire(), 1u);
}

TEST_F(StampedRings, WhoFindsNoPlaceRetiresUntilThereIsOne) {
    rings::ring& one = claim();
    using entry = stm::write_log::entry;
    // Each takes a place and no page.
    for (std::size_t i = 0; i < rings::places; ++i) {
        auto* const own = static_cast<entry*>(std::malloc(sizeof(entry)));
        ASSERT_NE(own, nullptr);
        own[0] = {&home, i, 0xFF};
        all.make_room(one, [this] { retire(); });
        rings::announce(one);
        rings::finish(one, {counted_clock::stamp(), own, 1}, own);
    }
    EXPECT_TRUE(stamps.empty());
    commit(one);
    EXPECT_EQ(stamps.size(), rings::places);
}

/// Write sets of the largest size.
TEST_F(StampedRings, PagesAreUsedAgainOnlyBehindRetirement) {
    rings::ring& one = claim();
    std::vector<word> homes(rings::pages_of_one * rings::page_entries);
    word value = 0;
    int waits = 0;
    for (std::size_t round = 0; round < 3 * rings::pages / rings::pages_of_one; ++round) {
        const log_room room = all.make_room(one, [&] {
            ++waits;
            retire(1);
        });
        ASSERT_EQ(static_cast<std::size_t>(room.end - room.first), homes.size());
        ++value;
        for (std::size_t i = 0; i < homes.size(); ++i) room.first[i] = {&homes[i], value, 0xFF};
        rings::announce(one);
        rings::finish(one, {counted_clock::stamp(), room.first, homes.size()});
        const auto retired = static_cast<word>(stamps.size());
        for (const word each : homes) ASSERT_EQ(each, retired) << "each write set was whole when it was retired";
    }
    EXPECT_GT(waits, 0);
    EXPECT_EQ(all.waiting(), rings::pages / rings::pages_of_one);
}

TEST_F(StampedRings, AWriteSetWithoutRoomIsMemoryOfItsOwn) {
    rings::ring& one = claim();
    constexpr std::size_t many = 3 * rings::pages_of_one * rings::page_entries;
    std::vector<word> homes(many);
    using entry = stm::write_log::entry;
    for (int i = 0; i < 2; ++i) {
        room_of(one);
        auto* const own = static_cast<entry*>(std::malloc(many * sizeof(entry)));
        ASSERT_NE(own, nullptr);
        for (std::size_t at = 0; at < many; ++at) own[at] = {&homes[at], at, 0xFF};
        rings::announce(one);
        rings::finish(one, {counted_clock::stamp(), own, many}, own);
        // The second is freed with the rings.
        if (i == 0) {
            EXPECT_EQ(retire(), 1u);
        }
    }
    for (std::size_t at = 0; at < many; ++at) ASSERT_EQ(homes[at], at);
}

TEST_F(StampedRings, TheNextThreadGoesOnWithWhatARingStillHolds) {
    rings::ring& one = claim();
    const std::uint64_t left = commit(one);
    rings::release(one);
    rings::ring& again = claim();
    EXPECT_EQ(&again, &one);
    const std::uint64_t next = commit(again);
    EXPECT_EQ(retire(), 2u);
    EXPECT_EQ(stamps, (std::vector{left, next}));
}

TEST_F(StampedRings, ThereAreSoManyRingsAndNoMore) {
    rings::ring* last = nullptr;
    for (unsigned i = 0; i < rings::most_threads; ++i) {
        last = all.claim();
        ASSERT_NE(last, nullptr);
    }
    EXPECT_EQ(all.claim(), nullptr);
    rings::release(*last);
    EXPECT_EQ(all.claim(), last);
}

/// A lock stands for the hardware: under it, memory is stored to and the stamp is drawn.
TEST_F(StampedRings, HomesEqualMemoryWhereThreadsCommitAndRetireAtOnce) {
    constexpr unsigned words = 16;
    constexpr int threads = 3;
    const int times = at_full_length() ? 200'000 : 5'000;
    word memory[words] = {};
    word homes[words] = {};
    std::mutex hardware_lock;
    const auto retire_some = [&] {
        all.retire(
            32,
            [&](const finished& each) {
                for (const stm::write_log::entry& one : each) homes[one.home() - memory] = one.value;
            },
            [] {});
    };
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            rings::ring& own = *all.claim();
            for (int i = 0; i < times; ++i) {
                const log_room room = all.make_room(own, retire_some);
                rings::announce(own);
                std::uint64_t stamp = 0;
                {
                    const std::lock_guard guard(hardware_lock);
                    for (int k = 0; k < 3; ++k) {
                        word* const at = &memory[(i * 7 + t + k * 5) % static_cast<int>(words)];
                        *at = *at * 3 + static_cast<word>(t);
                        room.first[k] = {at, *at, 0xFF};
                    }
                    stamp = counted_clock::stamp();
                }
                rings::finish(own, {stamp, room.first, 3});
                if (i % 16 == 0) retire_some();
            }
            rings::release(own);
        });
    for (std::thread& each : running) each.join();
    while (all.waiting() != 0) retire_some();
    for (unsigned i = 0; i < words; ++i) EXPECT_EQ(homes[i], memory[i]) << i;
}

TEST(StampedRingsPlanted, AWriteSetThatIsOverwrittenEarlyIsSeen) {
    planted_now = fault::page_reused_early;
    const auto all = std::make_unique<rings>();
    rings::ring& own = *all->claim();
    word homes[2] = {};
    const stm::write_log::entry* first = nullptr;
    bool reused = false;
    for (std::size_t i = 0; i <= rings::pages && !reused; ++i) {
        const log_room room = all->make_room(own, [] {});
        if (i == 0) first = room.first;
        reused = i != 0 && room.first == first;
        room.first[0] = {&homes[0], i, 0xFF};
        rings::announce(own);
        rings::finish(own, {counted_clock::stamp(), room.first, rings::pages_of_one * rings::page_entries});
    }
    planted_now = fault::nothing;
    EXPECT_TRUE(reused);
}

}  // namespace
}  // namespace holdfast::htm
