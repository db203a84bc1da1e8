// Recovery over records laid out by hand.
#include <holdfast/log/log_test_support.hpp>

#include <functional>

namespace holdfast {
namespace {

using namespace holdfast::test;
using format::record_kind;

TEST(Replay, AnEmptyLogChangesNothing) {
    log_in_memory pool;
    const auto before = pool.bytes();
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->records + found->applied + found->last_sequence, 0u);
    EXPECT_EQ(pool.bytes(), before);
}

TEST(Replay, RedoIsAppliedInOrderOfSequenceOverAllLanes) {
    log_in_memory pool;
    const auto first = pool.offset(0);
    std::uint64_t at = pool.put(4, 64, 11, 1, run(first, {1, 1, 1}));
    pool.put(4, at, 11, 4, run(first + 16, {4}));
    at = pool.put(2, 64, 12, 2, run(first, {2, 2}));
    pool.put(2, at, 12, 6, run(first + 24, {6}));
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->applied, 4u) << "3 and 5 are missing: commits that nobody was told of";
    EXPECT_EQ(found->last_sequence, 6u);
    EXPECT_EQ(pool.word(0), 2u);
    EXPECT_EQ(pool.word(1), 2u);
    EXPECT_EQ(pool.word(2), 4u);
    EXPECT_EQ(pool.word(3), 6u);
}

TEST(Replay, TheNextCommitIsNumberedAboveATornOne) {
    log_in_memory pool;
    const std::uint64_t second = pool.put(0, 64, 11, 206, run(pool.offset(0), {6}));
    pool.put(0, second, 11, 208, run(pool.offset(1), {7}));
    pool.segment(0)[second + sizeof(format::record_header)] ^= std::byte{1};
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->applied, 1u);
    EXPECT_EQ(found->last_sequence, 208u);

    // The next lap's header and the sum of its first record are lost: behind what is left of it stands the torn one.
    pool.put_truncation(0, found->last_sequence);
    pool.put(0, 64, 12, found->last_sequence + 1, run(pool.offset(0), {8}));
    std::memset(pool.segment(0), 0, sizeof(format::segment_header));
    pool.segment(0)[64 + sizeof(format::record_header)] ^= std::byte{1};
    const auto again = pool.recover();
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->applied, 0u);
}

TEST(Replay, ANumberThatNoTornRecordCanHaveIsNotFollowed) {
    log_in_memory pool;
    const std::uint64_t second = pool.put(0, 64, 11, 1, run(pool.offset(0), {6}));
    pool.put(0, second, 12, std::uint64_t{1} << 60, run(pool.offset(1), {7}));
    pool.put_header(0, 11);
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->last_sequence, 1u);
}

TEST(Replay, WhatIsAtOrBelowTheTruncationPointStaysAway) {
    log_in_memory pool;
    pool.put_truncation(1, 5);
    std::uint64_t at = pool.put(0, 64, 11, 5, run(pool.offset(0), {5}));
    pool.put(0, at, 11, 6, run(pool.offset(1), {6}));
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->records, 1u);
    EXPECT_EQ(pool.word(0), 0u);
    EXPECT_EQ(pool.word(1), 6u);
}

TEST(Replay, MaskedEntriesTouchTheirBytesOnly) {
    log_in_memory pool;
    pool.word(0) = 0x1111111111111111;
    pool.put(0, 64, 11, 1, {format::masked_tag(pool.offset(0), 0x81), 0xAA000000000000BB});
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(0), 0xAA111111111111BBu);
}

TEST(Replay, AnUnfinishedUndoTransactionIsRolledBackNewestFirst) {
    log_in_memory pool;
    pool.word(0) = 30;
    pool.word(1) = 31;
    // The same word logged twice: the older value wins. Its records lie in two segments.
    pool.put(3, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0);
    const auto at = pool.put(1, 64, 12, 7, run(pool.offset(0), {20}), record_kind::undo, 1);
    pool.put(1, at, 12, 7, run(pool.offset(1), {21}), record_kind::undo, 2);
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->applied, 3u);
    EXPECT_EQ(pool.word(0), 10u);
    EXPECT_EQ(pool.word(1), 21u);
}

TEST(Replay, AFinishedUndoTransactionIsLeftAlone) {
    log_in_memory pool;
    pool.word(0) = 30;
    pool.word(1) = 31;
    auto at = pool.put(0, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0);
    pool.put(1, 64, 12, 7, {}, record_kind::undo_end);
    pool.put(0, at, 11, 8, run(pool.offset(1), {11}), record_kind::undo, 0);
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->applied, 1u);
    EXPECT_EQ(pool.word(0), 30u);
    EXPECT_EQ(pool.word(1), 11u) << "8 has no end";
}

TEST(Replay, UndoRecordsAreNumberedBeyond16Bits) {
    log_in_memory pool;
    // Number 0x10001 is newer than 2, though its low half is smaller.
    auto at = pool.put(0, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 2, 0);
    pool.put(0, at, 11, 7, run(pool.offset(0), {20}), record_kind::undo, 1, 1);
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(0), 10u);
}

TEST(Replay, TwiceIsOnce) {
    log_in_memory pool;
    pool.put(0, 64, 11, 1, run(pool.offset(0), {1, 2, 3}));
    pool.put(1, 64, 12, 2, {format::masked_tag(pool.offset(1), 0x0F), 0x99});
    pool.put(2, 64, 13, 3, run(pool.offset(8), {7}), record_kind::undo, 0);
    ASSERT_TRUE(pool.recover());
    const auto once = pool.bytes();
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.bytes(), once);
}

TEST(Replay, PartsMustAllBeThereOnceEach) {
    const auto applied = [](const std::vector<std::uint16_t>& parts, std::uint16_t of) {
        log_in_memory pool;
        std::uint32_t segment = 0;
        for (const std::uint16_t part : parts)
            pool.put(segment++, 64, 11, 3, run(pool.offset(part), {9}), record_kind::redo, part, of);
        return pool.recover().value().applied;
    };
    EXPECT_EQ(applied({2, 0, 1}, 3), 3u);
    EXPECT_EQ(applied({0, 1}, 3), 0u);
    EXPECT_EQ(applied({1, 2}, 3), 0u);
    EXPECT_EQ(applied({0, 0, 1}, 3), 0u);
    EXPECT_EQ(applied({0}, 0), 0u) << "no parts at all";
}

TEST(Replay, EntriesOutOfBoundsAreCorruptAndNothingIsChanged) {
    const std::function<std::vector<std::uint64_t>(log_in_memory&)> bad[] = {
        [](log_in_memory&) { return run(0, {1}); },                                         // the superblock
        [](log_in_memory&) { return run(format::log_offset, {1}); },                        // the log
        [](log_in_memory&) { return run(format::log_offset - 8, {1, 2}); },                 // roots into the log
        [](log_in_memory& pool) { return run(pool.offset(0) - 8, {1, 2}); },                // log into the heap
        [](log_in_memory& pool) { return run(pool.size() - 8, {1, 2}); },                   // past the end
        [](log_in_memory& pool) { return run(pool.size(), {1}); },                          // behind the end
        [](log_in_memory&) { return run(format::offset_mask & ~std::uint64_t{7}, {1}); },   // far behind
        [](log_in_memory& pool) { return run(pool.offset(0) + 4, {1}); },                   // unaligned
        [](log_in_memory& pool) { return std::vector{format::run_tag(pool.offset(0), 0)}; },     // no words
        [](log_in_memory& pool) { return std::vector{format::run_tag(pool.offset(0), 5), std::uint64_t{1}}; },
        [](log_in_memory& pool) { return std::vector{format::masked_tag(pool.offset(0), 1)}; },  // no word
    };
    for (std::size_t i = 0; i < std::size(bad); ++i) {
        log_in_memory pool;
        auto payload = run(pool.offset(5), {77});
        const auto wrong = bad[i](pool);
        payload.insert(payload.end(), wrong.begin(), wrong.end());
        pool.put(0, 64, 11, 1, run(pool.offset(4), {76}));
        pool.put(1, 64, 12, 2, payload);
        const auto before = pool.bytes();
        const auto found = pool.recover();
        ASSERT_FALSE(found) << i;
        EXPECT_EQ(found.error().code, errc::corrupt);
        EXPECT_EQ(found.error().offset, pool.geometry().segment_offset(1) + 64 + 24 + 16) << i;
        EXPECT_FALSE(found.error().expected.empty() || found.error().found.empty());
        EXPECT_EQ(pool.bytes(), before) << i;
    }
}

TEST(Replay, RootsMayBeWritten) {
    log_in_memory pool;
    pool.put(0, 64, 11, 1, run(8192, std::vector<std::uint64_t>(400, 3)));
    EXPECT_TRUE(pool.recover());
}

TEST(Replay, OneDamagedTruncationSlotIsNoObstacleTwoAreCorrupt) {
    log_in_memory pool;
    pool.put(0, 64, 11, 1, run(pool.offset(0), {5}));
    std::byte* header = pool.data() + pool.geometry().offset;
    header[0] ^= std::byte{1};
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(0), 5u);
    header[512] ^= std::byte{1};
    const auto before = pool.bytes();
    const auto found = pool.recover();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, errc::corrupt);
    EXPECT_EQ(found.error().offset, pool.geometry().offset);
    EXPECT_EQ(pool.bytes(), before);
}

TEST(Replay, AfterResetNoRecordOfBeforeVerifies) {
    log_in_memory pool;
    for (std::uint32_t i = 0; i < 15; ++i) pool.put(i, 64, 11 + i, i + 1, run(pool.offset(i), {5}));
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    const auto before = persist::thread_counters();
    reset_log(pool.data(), pool.geometry(), found->last_sequence, true, {});
    EXPECT_EQ((persist::thread_counters() - before).fences, 3u) << "two slots, all salts";
    const auto after = pool.recover();
    ASSERT_TRUE(after);
    EXPECT_EQ(after->records, 0u);
    EXPECT_EQ(after->last_sequence, 15u) << "numbers go on from here";
    for (std::uint32_t i = 0; i < 15; ++i) EXPECT_EQ(pool.salt(i), 0u);
}

/// Recovery refuses, names `offset`, and changes nothing.
void expect_damage(log_in_memory& pool, std::uint64_t offset, const char* what) {
    const auto before = pool.bytes();
    const auto found = pool.recover();
    ASSERT_FALSE(found) << what;
    EXPECT_EQ(found.error().code, errc::corrupt);
    EXPECT_EQ(found.error().offset, offset) << found.error().text();
    EXPECT_NE(found.error().text().find(what), std::string::npos) << found.error().text();
    EXPECT_EQ(pool.bytes(), before);
    EXPECT_TRUE(pool.recover(log_reading::torn_anywhere)) << "below power a cut may have done this";
}

/// Records 1 to 3 in segment 3, the second with that byte damaged. Returns where in the pool it stands.
std::uint64_t put_a_bad_record_between_two(log_in_memory& pool, std::uint64_t byte) {
    const auto bad = pool.put(3, 64, 11, 1, run(pool.offset(0), {1}));
    const auto last = pool.put(3, bad, 11, 2, run(pool.offset(1), {2}));
    pool.put(3, last, 11, 3, run(pool.offset(2), {3}));
    pool.segment(3)[bad + byte] ^= std::byte{4};
    return pool.geometry().segment_offset(3) + bad;
}

TEST(Replay, ABadRecordInFrontOfAValidOneIsDamageAndNamesBoth) {
    log_in_memory pool;
    const auto bad = put_a_bad_record_between_two(pool, 32);
    expect_damage(pool, bad, "record 3 at offset");
    expect_damage(pool, bad, "(segment 3)");
}

TEST(Replay, AllThatAPowerCutMayHaveTornIsReadAsFarAsItVerifies) {
    log_in_memory pool;
    put_a_bad_record_between_two(pool, 0);
    ASSERT_TRUE(pool.recover(log_reading::torn_anywhere));
    EXPECT_EQ(pool.word(0), 1u);
    EXPECT_EQ(pool.word(2), 0u);
}

TEST(Replay, ABadRecordThatWasTruncatedIsDamageTooWhenALaterOneIsNeeded) {
    log_in_memory pool;
    pool.put_truncation(1, 1);
    const auto at = pool.put(0, 64, 11, 1, run(pool.offset(0), {1}));
    const auto end = pool.put(0, at, 11, 2, run(pool.offset(1), {2}));
    pool.segment(0)[64 + sizeof(format::record_header)] ^= std::byte{1};
    expect_damage(pool, pool.geometry().segment_offset(0) + 64, "record 2");
    pool.put_truncation(0, 2);
    EXPECT_TRUE(pool.recover()) << "nothing behind it is needed";
    pool.put(0, end, 11, 3, run(pool.offset(2), {3}));
    expect_damage(pool, pool.geometry().segment_offset(0) + 64, "record 3");
}

TEST(Replay, WhatAnEarlierLapLeftBehindTheTailIsNoDamage) {
    log_in_memory pool;
    auto at = pool.put(0, 64, 11, 7, run(pool.offset(0), {1}));
    for (std::uint64_t sequence = 8; sequence < 30; ++sequence)
        at = pool.put(0, at, 11, sequence, run(pool.offset(0), {sequence}));
    at = pool.put(0, 64, 12, 40, run(pool.offset(0), {40}));
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->records, 1u);
}

TEST(Replay, ATornUndoRecordInFrontOfOthersOfItsOpenTransactionIsATornTail) {
    log_in_memory pool;
    auto at = pool.put(0, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0, 0);
    const auto torn = at;
    at = pool.put(0, at, 11, 7, run(pool.offset(1), {11}), record_kind::undo, 1, 0);
    at = pool.put(0, at, 11, 7, run(pool.offset(2), {12}), record_kind::undo, 2, 0);
    pool.segment(0)[torn] ^= std::byte{1};
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->applied, 1u) << "nothing was stored that relied on those behind the tear";
    EXPECT_EQ(pool.word(0), 10u);
    // An end behind it says that there was a fence.
    pool.put(0, at, 11, 7, {}, record_kind::undo_end);
    expect_damage(pool, pool.geometry().segment_offset(0) + torn, "record 7");
}

TEST(Replay, ABadUndoRecordInFrontOfALaterTransactionIsDamage) {
    log_in_memory pool;
    auto at = pool.put(0, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0, 0);
    const auto end = at;
    at = pool.put(0, at, 11, 7, {}, record_kind::undo_end);
    pool.put(0, at, 11, 8, run(pool.offset(1), {11}), record_kind::undo, 0, 0);
    pool.segment(0)[end] ^= std::byte{1};
    expect_damage(pool, pool.geometry().segment_offset(0) + end, "record 8");
    pool.segment(0)[end] ^= std::byte{1};
    // The first place of the segment: the record behind it is the first of its transaction.
    pool.segment(0)[64 + sizeof(format::record_header)] ^= std::byte{1};
    pool.segment(0)[end] ^= std::byte{1};
    expect_damage(pool, pool.geometry().segment_offset(0) + 64, "record 8");
}

TEST(Replay, WhatAnUndoRecordCallsFencedMustBeThereWhileItsTransactionIsOpen) {
    log_in_memory pool;
    pool.put(0, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0, 0);
    pool.put(1, 64, 12, 7, run(pool.offset(1), {11}), record_kind::undo, 1, 0);
    const auto at = pool.put(2, 64, 13, 7, run(pool.offset(2), {12}), record_kind::undo_fenced, 2, 0);
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(2), 12u);
    pool.segment(1)[64] ^= std::byte{1};
    expect_damage(pool, pool.geometry().segment_offset(2) + 64, "record 1 of transaction 7");
    pool.put(2, at, 13, 7, {}, record_kind::undo_end);
    EXPECT_TRUE(pool.recover()) << "nobody asks for it any more";
}

TEST(Replay, ABrokenHeaderIsReadByEitherOfItsSaltsAndIsDamageBehindAnAcknowledgedRecord) {
    for (const std::uint64_t byte : {0u, 3u, 8u, 17u, 24u, 31u}) {
        log_in_memory pool;
        const auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
        pool.segment(2)[byte] ^= std::byte{0x10};
        const auto found = pool.recover();
        ASSERT_TRUE(found) << "torn with its only record it may be: " << found.error().text();
        EXPECT_EQ(pool.word(0), 1u) << byte;
        pool.segment(2)[byte] ^= std::byte{0x10};
        pool.put(2, at, 11, 2, run(pool.offset(1), {2}));
        ASSERT_TRUE(pool.recover());
        pool.segment(2)[byte] ^= std::byte{0x10};
        expect_damage(pool, pool.geometry().segment_offset(2), "header is damaged");
    }
}

TEST(Replay, AHeaderInAnotherSegmentsPlaceIsDamage) {
    log_in_memory pool;
    const auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
    pool.put(2, at, 11, 2, run(pool.offset(1), {2}));
    std::memcpy(pool.segment(5), pool.segment(2), 4096);
    std::memset(pool.segment(2), 0, 4096);
    expect_damage(pool, pool.geometry().segment_offset(5), "header is damaged");
}

TEST(Replay, AZeroedHeaderInFrontOfRecordsIsDamageAndAnEmptiedOneIsNot) {
    log_in_memory pool;
    auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
    std::memset(pool.segment(2), 0, 64);
    ASSERT_TRUE(pool.recover()) << "one record that nobody was told of";
    pool.put(2, at, 11, 2, run(pool.offset(1), {2}));
    std::memset(pool.segment(2), 0, 64);
    expect_damage(pool, pool.geometry().segment_offset(2), "header is lost");
    pool.put_header(2, 0);
    EXPECT_TRUE(pool.recover());
}

TEST(Replay, ATornRecordOverAnOlderOneInFrontOfNoHeaderIsNoDamage) {
    log_in_memory pool;
    const auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
    // Of the second record's header the first word is the older one's, and the next is a word of the newer payload.
    pool.put(2, at, 11, format::run_tag(pool.offset(0), 1), run(pool.offset(1), {2}));
    std::memset(pool.segment(2), 0, 64);
    EXPECT_TRUE(pool.recover());
}

TEST(Replay, ATornRecordInASegmentThatRecoveryEmptiedIsNoDamageWhateverItsWords) {
    log_in_memory pool;
    auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
    at = pool.put(2, at, 11, 2, run(pool.offset(1), {2}));
    pool.put(2, at, 11, 3, run(pool.offset(2), {3}));
    reset_log(pool.data(), pool.geometry(), pool.recover().value().last_sequence, true, {});
    const auto before = pool.bytes();
    // Its tenth word is a number that a commit could have, and stands where the second record had its own.
    pool.put(2, 64, 12, 4, run(pool.offset(0), {4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4}));
    const auto after = pool.bytes();
    const std::uint64_t first = pool.geometry().segment_offset(2);
    for (unsigned torn = 0; torn < 1u << 16; ++torn) {
        if ((torn & 0xF0F8) != 0) continue;  // some words of either line are enough
        for (unsigned word = 0; word < 16; ++word) {
            const auto& from = (torn >> word & 1) != 0 ? after : before;
            std::memcpy(pool.data() + first + 64 + word * 8, from.data() + first + 64 + word * 8, 8);
        }
        std::memset(pool.segment(2), 0, 64);
        const auto found = pool.recover();
        EXPECT_TRUE(found) << torn << ": " << found.error().text();
    }
}

TEST(Replay, AnUndoHeaderHalfWayToEmptiedIsNoDamage) {
    for (const unsigned word : {0u, 3u}) {
        log_in_memory pool;
        pool.word(0) = 5;
        auto at = pool.put(2, 64, 11, 7, run(pool.offset(0), {10}), record_kind::undo, 0, 0);
        pool.put(2, at, 11, 7, {}, record_kind::undo_end);
        const auto emptied = make_segment_header(pool.geometry(), 2, 0, 0, 0);
        std::memcpy(pool.segment(2) + word * 8, reinterpret_cast<const std::byte*>(&emptied) + word * 8, 8);
        const auto found = pool.recover();
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_EQ(found->applied, 0u);
    }
}

TEST(Replay, ATornHeaderThatIsEmptiedByHalvesLeadsToNoRecordThatWasNotSeen) {
    constexpr unsigned subsets = 1u << 4;  // of a header's words
    const auto copy_words = [](std::byte* to, const std::byte* from, unsigned which) {
        for (unsigned word = 0; word < 4; ++word)
            if ((which >> word & 1u) != 0) std::memcpy(to + word * 8, from + word * 8, 8);
    };
    unsigned unseen = 0;
    for (unsigned stale = 0; stale < subsets; ++stale) {
        log_in_memory torn;
        for (const unsigned slot : {0u, 1u}) torn.put_truncation(slot, 9);
        torn.put(2, 64, 12, 10, run(torn.offset(0), {1}));
        torn.put_header(2, 12, 0, 9);
        const auto earlier_lap = make_segment_header(torn.geometry(), 2, 11, 5, 7);
        copy_words(torn.segment(2), reinterpret_cast<const std::byte*>(&earlier_lap), stale);

        log_in_memory recovered = torn;
        const std::span<std::byte> bytes(recovered.data(), recovered.size());
        auto replay = log_replay::read(bytes, recovered.geometry());
        ASSERT_TRUE(replay) << replay.error().text();
        finish_in_place(*replay, bytes, recovered.geometry(), {});
        if (recovered.word(0) == 0) ++unseen;
        for (unsigned not_emptied = 0; not_emptied < subsets; ++not_emptied) {
            log_in_memory again = recovered;
            copy_words(again.segment(2), torn.segment(2), not_emptied);
            ASSERT_TRUE(again.recover());
            EXPECT_EQ(again.word(0), recovered.word(0)) << "stale " << stale << ", not emptied " << not_emptied;
        }
    }
    EXPECT_GT(unseen, 4u);
    EXPECT_LT(unseen, subsets);
}

TEST(Replay, ACommitThatALaterLapNamesMustBeThereUntilItIsTruncated) {
    log_in_memory pool;
    auto at = pool.put(0, 64, 11, 1, run(pool.offset(0), {1}));
    pool.put(0, at, 11, 2, run(pool.offset(1), {2}));
    pool.put(1, 64, 12, 3, run(pool.offset(2), {3}));
    pool.put_header(1, 12, 2);
    ASSERT_TRUE(pool.recover());
    std::memset(pool.segment(0), 0, 4096);
    expect_damage(pool, pool.geometry().segment_offset(1), "record 2");
    pool.put_header(1, 12, 2, 2);
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->truncated, 2u) << "the header knows it, whatever the slots say";
}

TEST(Replay, AnUndoLapNamesTheTransactionBeforeItUntilItsOwnHasEnded) {
    log_in_memory pool;
    auto at = pool.put(0, 64, 11, 1, run(pool.offset(0), {1}), record_kind::undo, 0, 0);
    const auto end_at = at;
    pool.put(0, at, 11, 1, {}, record_kind::undo_end);
    at = pool.put(1, 64, 12, 2, run(pool.offset(2), {3}), record_kind::undo, 0, 0);
    pool.put_header(1, 12, 1);
    ASSERT_TRUE(pool.recover());
    pool.segment(0)[end_at] ^= std::byte{1};
    expect_damage(pool, pool.geometry().segment_offset(1), "record 1");
    pool.put(1, at, 12, 2, {}, record_kind::undo_end);
    pool.put_header(1, 12, 1);
    std::memset(pool.segment(0), 0, 4096);
    EXPECT_TRUE(pool.recover()) << "emptied when transaction 2 had ended";
}

TEST(Replay, SalvagedIsWhatVerifiesAndTheDamageIsListed) {
    log_in_memory pool;
    put_a_bad_record_between_two(pool, 0);
    const auto replay = log_replay::read({pool.data(), pool.size()}, pool.geometry(), log_reading::salvage);
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->damage().size(), 1u);
    EXPECT_EQ(replay->records().size(), 2u);
    ASSERT_TRUE(pool.recover(log_reading::salvage));
    EXPECT_EQ(pool.word(1), 0u);
    EXPECT_EQ(pool.word(2), 3u);
}

TEST(Replay, ALogWithoutSealedHeadersIsReadByItsSaltsAlone) {
    log_in_memory pool;
    auto old = pool.geometry();
    old.sealed_segments = false;
    const auto at = pool.put(2, 64, 11, 1, run(pool.offset(0), {1}));
    pool.put(2, at, 11, 2, run(pool.offset(1), {2}));
    std::memset(pool.segment(2) + 8, 0, 56);
    const auto replay = log_replay::read({pool.data(), pool.size()}, old);
    ASSERT_TRUE(replay) << replay.error().text();
    EXPECT_EQ(replay->records().size(), 2u);
    EXPECT_FALSE(log_replay::read({pool.data(), pool.size()}, pool.geometry()));
}

}  // namespace
}  // namespace holdfast
