// The log on byte-addressable media: what an append costs, laps, truncation, parts.
#include <holdfast/log/log_test_support.hpp>
#include <holdfast/log/truncation.hpp>

#include <atomic>
#include <set>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

lane_log_options at_power() { return {}; }
lane_log_options at_process() {
    lane_log_options options;
    options.persists = false;
    return options;
}

lane_log_options undo_at_power() {
    lane_log_options options;
    options.logs_new_values = false;
    return options;
}

/// Appends the undo record with this number, leaving room for the end. False: there is no room.
bool append_undo(lane_log& log, lane_log::lane& lane, const std::vector<std::uint64_t>& payload,
                 std::uint64_t sequence, std::uint32_t number) {
    if (!log.reserve(lane, payload.data(), payload.size(), format::record_bytes(0))) return false;
    std::vector<std::uint64_t> record(format::record_bytes(payload.size()) / 8);
    std::copy(payload.begin(), payload.end(), record.begin() + format::record_header_words);
    log.append(lane, record.data(), payload.size(), sequence, format::record_kind::undo, number);
    return true;
}
void end_undo(lane_log& log, lane_log::lane& lane, std::uint64_t sequence) {
    std::uint64_t record[8] = {};
    log.append(lane, record, 0, sequence, format::record_kind::undo_end);
}

TEST(Lanes, AnAppendStreamsItsLinesAndFencesNothing) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    for (int i = 0; i < 3; ++i) {
        const auto before = persist::thread_counters();
        ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1, 2})));
        const auto cost = persist::thread_counters() - before;
        EXPECT_EQ(cost.fences, 0u) << "the one fence is the caller's";
        EXPECT_EQ(cost.write_backs, 0u);
        EXPECT_EQ(cost.streamed_bytes, i == 0 ? 128u : 64u) << "the salt goes with the first record";
    }
    lane_log quiet(pool.data(), pool.size(), pool.geometry(), at_process());
    const auto before = persist::thread_counters();
    ASSERT_TRUE(commit(pool, quiet, run(pool.offset(0), {1})));
    quiet.truncate();
    EXPECT_TRUE(persist::thread_counters() - before == persist::counters{}) << "a kill needs none of it";
}

TEST(Lanes, SegmentsReservedForARecordThatIsNotSentAreFreeAgain) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_process());
    const std::uint64_t in_parts = 3 * log.segment_payload_words();
    const std::vector<std::uint64_t> payload = run(pool.offset(0), std::vector<std::uint64_t>(in_parts, 1));
    for (int times = 0; times < 100; ++times) {
        lane_log::lane& held = log.acquire();
        ASSERT_TRUE(log.reserve(held, payload.data(), payload.size())) << times;
        log.release_unused(held);
    }
    ASSERT_TRUE(commit(pool, log, payload));
}

TEST(Lanes, TwoCommitsInFlightBelowPowerAreBothReplayed) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_process());
    std::atomic<bool> appended{false};
    std::atomic<bool> recovered{false};
    // A thread that ends gives its lane up: this one lives until both records were looked at.
    std::thread other([&] {
        EXPECT_TRUE(append(log, log.acquire(), run(pool.offset(1), {11})));
        appended = true;
        while (!recovered) std::this_thread::yield();
    });
    while (!appended) std::this_thread::yield();
    EXPECT_TRUE(append(log, log.acquire(), run(pool.offset(2), {22})));
    const auto report = pool.recover();
    recovered = true;
    other.join();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->applied, 2u);
    EXPECT_EQ(pool.word(1), 11u);
    EXPECT_EQ(pool.word(2), 22u);
}

TEST(Lanes, TruncationWritesEachDistinctLineBackOnce) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    std::set<std::uint64_t> lines;
    for (std::uint64_t i = 0; i < 200; ++i) {
        // Four lines, single words and runs across their borders.
        const std::uint64_t first = i * 7 % 30;
        ASSERT_TRUE(commit(pool, log, run(pool.offset(first), {i, i})));
        lines.insert(pool.offset(first) / 64);
        lines.insert(pool.offset(first + 1) / 64);
    }
    ASSERT_EQ(log.truncations(), 0u);
    const auto before = persist::thread_counters();
    log.truncate();
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.write_backs, lines.size() + 1) << "and the truncation point's own";
    EXPECT_EQ(cost.fences, 2u);
    const auto again = persist::thread_counters();
    log.truncate();
    EXPECT_TRUE(persist::thread_counters() - again == persist::counters{}) << "nothing new to bring home";
    lane_log_options inside = at_power();
    inside.lines.write_back_needed = false;
    inside.last_sequence = log.truncated();
    lane_log cached(pool.data(), pool.size(), pool.geometry(), inside);
    ASSERT_TRUE(commit(pool, cached, run(pool.offset(0), {1})));
    const auto fenced = persist::thread_counters();
    cached.truncate();
    EXPECT_EQ((persist::thread_counters() - fenced).write_backs, 0u) << "caches inside the domain: fences only";
    EXPECT_EQ((persist::thread_counters() - fenced).fences, 2u);
}

TEST(Lanes, TheLogGoesRoundAndEachLapOfASegmentHasItsOwnSalt) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    std::set<std::uint64_t> salts;
    std::uint64_t told = 0;
    log.on_truncated = [&](std::uint64_t sequence) {
        EXPECT_GT(sequence, told);
        told = sequence;
    };
    std::uint64_t last_salt = 0;
    for (std::uint64_t i = 1; i <= 20000; ++i) {
        const auto sequence = commit(pool, log, run(pool.offset(i % 1000), {i}));
        ASSERT_TRUE(sequence);
        ASSERT_EQ(*sequence, i);
        if (pool.salt(2) != last_salt) {
            last_salt = pool.salt(2);
            ASSERT_TRUE(salts.insert(last_salt).second) << "a salt came back";
        }
    }
    EXPECT_GT(salts.size(), 10u);
    EXPECT_EQ(told, log.truncated());
    const auto bytes = pool.bytes();
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->last_sequence, 20000u);
    EXPECT_EQ(found->records, 20000 - log.truncated()) << "of earlier laps nothing comes back";
    EXPECT_EQ(pool.bytes(), bytes) << "homes hold it already";
}

TEST(Lanes, ARecordOfAnEarlierLapBehindATornOneIsNotReplayed) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    // Fill segment 0 to the end, come home, and begin it anew with records of the same size.
    std::uint32_t laps = 0;
    std::uint64_t salt = 0;
    std::uint64_t i = 0;
    while (laps < 2) {
        ++i;
        ASSERT_TRUE(commit(pool, log, run(pool.offset(i % 500), {i})));
        if (pool.salt(0) != salt) ++laps, salt = pool.salt(0);
    }
    ASSERT_TRUE(commit(pool, log, run(pool.offset(501), {7})));
    // Newest record of the lap, at the second place: torn. Behind it stand whole ones of the lap before.
    const std::uint64_t torn = 0;
    std::memcpy(pool.segment(0) + 64 + 64 + 32, &torn, sizeof torn);
    const auto replay = log_replay::read({pool.data(), pool.size()}, pool.geometry());
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->report().records, i - log.truncated());
}

TEST(Lanes, UserBytesThatLookLikeARecordAreNotReplayed) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    // A record in user data, sealed with the salt that stands there, at a place where one may begin.
    std::uint64_t fake[8] = {};
    fake[3] = format::run_tag(pool.offset(9), 1);
    fake[4] = 666;
    seal_record(fake, 2, 1000, 0, 1, format::record_kind::redo, seed_of_salt(pool.salt(0)));
    std::vector<std::uint64_t> words(4, 0);  // header and tag are four words: the next line begins here
    words.insert(words.end(), fake, fake + 8);
    const auto sequence = commit(pool, log, run(pool.offset(20), words));
    ASSERT_TRUE(sequence);
    // The outer record torn: what stands inside it counts as damage at most, never as a commit.
    pool.segment(0)[128] ^= std::byte{1};
    const auto found = pool.recover();
    EXPECT_EQ(found ? errc::corrupt : found.error().code, errc::corrupt);
    EXPECT_NE(pool.word(9), 666u);
}

TEST(Lanes, ALargeRecordIsReplayedWithAllItsPartsOrNotAtAll) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    std::vector<std::uint64_t> words(1800);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = i + 1;
    auto& lane = log.acquire();
    ASSERT_TRUE(append(log, lane, run(pool.offset(0), words)));
    const auto sound = pool.bytes();
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->applied, 4u) << "501 words fit into one";
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(pool.word(i), words[i]);
    for (std::uint32_t missing = 0; missing < 4; ++missing) {
        std::memcpy(pool.data(), sound.data(), sound.size());
        pool.segment(missing)[64 + 100] ^= std::byte{4};
        const auto partly = pool.recover();
        ASSERT_TRUE(partly);
        EXPECT_EQ(partly->applied, 0u) << missing;
        for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(pool.word(i), 0u);
    }
    log.release(lane);
}

TEST(Lanes, MoreThanTheLogHoldsIsRefusedAndNothingIsChanged) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {5})));
    const auto before = pool.bytes();
    const auto refused = commit(pool, log, run(pool.offset(0), std::vector<std::uint64_t>(15 * 512)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::transaction_too_large);
    EXPECT_EQ(refused.error().found, std::to_string((15 * 512 + 1) * 8) + " bytes");
    EXPECT_EQ(pool.word(0), 5u);
    EXPECT_EQ(std::memcmp(pool.segment(0), before.data() + pool.geometry().segment_offset(0), 4096), 0);
    for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {i})));
    // And what is said to fit does.
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), std::vector<std::uint64_t>(13 * 500, 3))));
}

TEST(Lanes, TheSlackForALastRecordIsKeptWhenAReservationFails) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), undo_at_power());
    auto& lane = log.acquire();
    const std::uint64_t sequence = log.draw_sequence(lane);
    const auto payload = run(pool.offset(0), std::vector<std::uint64_t>(40, 7));
    std::uint32_t number = 0;
    while (append_undo(log, lane, payload, sequence, number)) ASSERT_LT(++number, 1000u);
    EXPECT_GT(number, 100u) << "most of the log was used";
    end_undo(log, lane, sequence);
    const auto replay = pool.recover();
    ASSERT_TRUE(replay) << replay.error().text();
    EXPECT_EQ(replay->records, number + 1);
    EXPECT_EQ(replay->applied, 0u) << "its end was found";
    log.release(lane);
    auto& next = log.acquire();
    EXPECT_TRUE(log.reserve(next, payload.data(), payload.size())) << "the log is free again";
    log.release(next);
}

TEST(Lanes, AnOpenUndoTransactionPinsItsOwnSegmentsOnly) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), undo_at_power());
    auto& open = log.acquire();
    ASSERT_TRUE(append_undo(log, open, run(pool.offset(0), {7}), log.draw_sequence(open), 0));
    std::thread([&] {
        for (std::uint64_t i = 0; i < 3000; ++i) {
            auto& lane = log.acquire();
            const std::uint64_t sequence = log.draw_sequence(lane);
            const auto payload = run(pool.offset(1), std::vector<std::uint64_t>(40, i));
            ASSERT_TRUE(append_undo(log, lane, payload, sequence, 0)) << i;
            end_undo(log, lane, sequence);
            log.release(lane);
        }
    }).join();
    EXPECT_GT(log.truncations(), 100u) << "many laps";
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->applied, 1u) << "the open one's; of the others every end was found";
    EXPECT_EQ(pool.word(0), 7u);
    log.release(open);
}

TEST(Lanes, SegmentsThatAnUndoTransactionFilledAreEmptiedUnderOneFenceBeforeTheyGoFree) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), undo_at_power());
    auto& lane = log.acquire();
    const auto payload = run(pool.offset(0), std::vector<std::uint64_t>(200, 7));
    const std::uint64_t sequence = log.draw_sequence(lane);
    for (std::uint32_t number = 0; number < 5; ++number)
        ASSERT_TRUE(append_undo(log, lane, payload, sequence, number));
    ASSERT_NE(pool.salt(0), 0u);
    ASSERT_NE(pool.salt(2), 0u) << "two fit into one";
    end_undo(log, lane, sequence);
    const auto before = persist::thread_counters();
    log.release(lane);
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.write_backs, 2u);
    EXPECT_EQ(cost.fences, 1u);
    EXPECT_EQ(pool.salt(0), 0u);
    EXPECT_EQ(pool.salt(1), 0u);
    EXPECT_NE(pool.salt(2), 0u) << "it holds the end, and has room for the next";
}

TEST(Lanes, TruncationStaysBelowACommitInFlight) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    auto& slow = log.acquire();
    const auto in_flight = append(log, slow, run(pool.offset(1), {2}));
    ASSERT_TRUE(in_flight);
    // By another thread: one has one commit in flight.
    std::thread([&] {
        for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(commit(pool, log, run(pool.offset(2), {i})));
        log.truncate();
    }).join();
    EXPECT_EQ(log.truncated(), *in_flight - 1);
    // Its home is not stored yet; a kill now must find the record.
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(1), 2u);
    log.release(slow);
    log.truncate();
    EXPECT_EQ(log.truncated(), *in_flight + 100);
}

TEST(Lanes, ACommitThatEndsWhileRoomIsMadeIsWaitedFor) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    auto& slow = log.acquire();
    ASSERT_TRUE(append(log, slow, run(pool.offset(1), {2})));
    // It keeps the log's first truncation below everything that fills the log, and ends before it is asked
    // what keeps the log full.
    bool ended = false;
    log.on_truncated = [&](std::uint64_t) {
        if (!ended) log.release(slow);
        ended = true;
    };
    std::thread([&] {
        for (std::uint64_t i = 0; log.truncations() < 3; ++i) {
            ASSERT_LT(i, 10000u);
            ASSERT_TRUE(commit(pool, log, run(pool.offset(2), {i}))) << "commit " << i;
        }
    }).join();
    EXPECT_TRUE(ended);
}

TEST(Lanes, TruncationIsGlobal) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    // An older record of the word in one lane, the newest in another.
    std::thread([&] { ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1}))); }).join();
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {2})));
    log.truncate();
    const auto found = pool.recover();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->records, 0u);
    EXPECT_EQ(pool.word(0), 2u);
}

TEST(Lanes, WhatFollowsACleanCloseUsesTheOtherTruncationSlot) {
    log_in_memory pool;
    std::uint64_t last = 0;
    for (int session = 0; session < 4; ++session) {
        lane_log_options options = at_power();
        options.last_sequence = last;
        lane_log log(pool.data(), pool.size(), pool.geometry(), options);
        const auto before = read_truncation_point(pool.data() + pool.geometry().offset);
        ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
        log.truncate();
        const auto after = read_truncation_point(pool.data() + pool.geometry().offset);
        ASSERT_TRUE(before && after);
        EXPECT_EQ(after->sequence, ++last);
        if (session > 0) {
            EXPECT_NE(after->slot, before->slot) << "a torn write would leave neither";
        }
    }
}

TEST(Lanes, AtProcessACommitIsInTheLogUntilItsHomesAreStored) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_process());
    for (std::uint64_t i = 1; i <= 5000; ++i) {
        auto& lane = log.acquire();
        // Long and short in turn: what a longer one left behind must not follow a shorter.
        const std::vector<std::uint64_t> words(i % 3 == 0 ? 1000 : i % 3 == 1 ? 30 : 1, i);
        ASSERT_TRUE(append(log, lane, run(pool.offset(0), words)));
        if (i % 50 == 0) {
            const auto found = pool.recover();
            ASSERT_TRUE(found);
            ASSERT_EQ(pool.word(0), i);
            ASSERT_EQ(pool.word(words.size() - 1), i);
        }
        log.release(lane);
        if (i % 50 == 0) {
            pool.word(0) = 0;
            const auto found = pool.recover();
            ASSERT_TRUE(found);
            ASSERT_EQ(found->applied, 0u) << "taken back";
        }
    }
}

TEST(Lanes, ThreadsAppendAndTruncateTogether) {
    for (const bool persists : {true, false}) {
        log_in_memory pool;
        lane_log_options options;
        options.persists = persists;
        lane_log log(pool.data(), pool.size(), pool.geometry(), options);
        std::vector<std::thread> threads;
        for (std::uint64_t index = 0; index < 4; ++index)
            threads.emplace_back([&, index] {
                for (std::uint64_t i = 1; i <= 2000; ++i)
                    ASSERT_TRUE(commit(pool, log, run(pool.offset(index * 100), {i, i * 2, i * 3})));
            });
        for (auto& each : threads) each.join();
        const auto before = pool.bytes();
        const auto found = pool.recover();
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_EQ(pool.bytes(), before) << "the newest of each thread is home and stays";
        if (persists) {
            EXPECT_EQ(found->last_sequence, 8000u);
            EXPECT_GT(log.truncations(), 3u);
        }
        for (std::uint64_t index = 0; index < 4; ++index) EXPECT_EQ(pool.word(index * 100 + 2), 6000u);
    }
}

}  // namespace
}  // namespace holdfast
