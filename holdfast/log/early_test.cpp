// What wraps ask of the log besides: lines sent before the record is whole, and trimming behind homes that the commits
// themselves wrote back.
#include <holdfast/log/log_test_support.hpp>

#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

lane_log_options at_power() { return {}; }

/// A commit that wrote its homes back, without a fence behind them.
std::uint64_t commit_written_back(log_in_memory& pool, lane_log& log, const std::vector<std::uint64_t>& payload) {
    auto& lane = log.acquire();
    const std::uint64_t sequence = append(log, lane, payload).value();
    pool.word(0) = payload[1];
    log.release_written_back(lane, sequence);
    return sequence;
}

TEST(Trimming, TrimmingStaysBelowTheLastCommitOfEachThread) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    const std::uint64_t first = commit_written_back(pool, log, run(pool.offset(0), {1}));
    log.trim();
    EXPECT_EQ(log.truncated(), first - 1) << "no fence has covered its homes";
    // Another thread's commits; this one's stays the oldest that is not covered.
    std::uint64_t others = 0;
    std::thread([&] {
        for (std::uint64_t i = 0; i < 3; ++i) others = commit_written_back(pool, log, run(pool.offset(0), {i}));
        log.trim();
        EXPECT_EQ(log.truncated(), first - 1);
    }).join();
    const std::uint64_t second = commit_written_back(pool, log, run(pool.offset(0), {9}));
    log.trim();
    EXPECT_EQ(log.truncated(), others - 1) << "the other thread's last";
    const auto before = persist::thread_counters();
    log.truncate();
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(log.truncated(), second) << "truncation sees to what nobody fenced";
    EXPECT_EQ(cost.fences, 2u);
    EXPECT_EQ(cost.write_backs, 1u + 1) << "the one home line above S, and the truncation point";
}

TEST(Trimming, AThreadThatTakesALaneOverDoesNotVouchForTheHomesOfTheOneBefore) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    std::uint64_t first = 0;
    std::thread([&] { first = commit_written_back(pool, log, run(pool.offset(0), {1})); }).join();
    // The first lane is free again, and this thread takes it.
    for (std::uint64_t i = 0; i < 3; ++i) commit_written_back(pool, log, run(pool.offset(0), {i}));
    log.trim();
    EXPECT_EQ(log.truncated(), first - 1);
    log.truncate();
    const std::uint64_t last = commit_written_back(pool, log, run(pool.offset(0), {4}));
    commit_written_back(pool, log, run(pool.offset(0), {5}));
    log.trim();
    EXPECT_EQ(log.truncated(), last);
}

/// A record with these words, of which the whole lines are sent early.
struct early_record {
    explicit early_record(std::vector<std::uint64_t> words_of_payload) : payload(std::move(words_of_payload)) {
        words.assign(format::record_header_words, 0);
        words.insert(words.end(), payload.begin(), payload.end());
        words.resize(format::record_bytes(payload.size()) / 8);
    }
    std::uint64_t size() const { return format::record_header_words + payload.size(); }
    /// Reserves, appends and stores nothing home.
    std::uint64_t close(lane_log& log) {
        auto& lane = log.acquire();
        EXPECT_TRUE(log.reserve(lane, payload.data(), payload.size()));
        const std::uint64_t sequence = log.draw_sequence(lane);
        log.append_early(lane, words.data(), payload.size(), sequence, early);
        log.release(lane);
        return sequence;
    }
    std::vector<std::uint64_t> payload;
    std::vector<std::uint64_t> words;
    early_lines early;
};

TEST(EarlyLines, LinesSentEarlyAreNotSentAgainButForWhatChangedInThem) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    early_record record(run(pool.offset(8), std::vector<std::uint64_t>(40, 5)));
    const auto before = persist::thread_counters();
    ASSERT_TRUE(log.claim_early(record.early));
    ASSERT_TRUE(log.send_early(record.early, record.words.data(), record.size()));
    const auto between = persist::thread_counters();
    EXPECT_EQ((between - before).streamed_bytes, 4u * 64) << "of 44 words five lines are whole; not the first";
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(8), 0u) << "nothing leads to them";
    record.words[20] = 6;
    record.early.note_change(20);
    record.early.note_change(3);
    record.close(log);
    EXPECT_EQ((persist::thread_counters() - between).streamed_bytes, 3u * 64) << "first, changed, and last";
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(8), 5u);
    EXPECT_EQ(pool.word(8 + 20 - 4), 6u);
    EXPECT_EQ(pool.word(8 + 39), 5u);
}

TEST(EarlyLines, ARecordThatTakesThePlaceOfEarlyLinesIsNotHarmed) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    early_record slow(run(pool.offset(100), std::vector<std::uint64_t>(60, 7)));
    early_record other(run(pool.offset(200), std::vector<std::uint64_t>(60, 8)));
    ASSERT_TRUE(log.claim_early(slow.early));
    ASSERT_TRUE(log.send_early(slow.early, slow.words.data(), 40));
    EXPECT_FALSE(log.claim_early(other.early)) << "one at a time";
    ASSERT_TRUE(commit(pool, log, run(pool.offset(1), {2})));
    EXPECT_FALSE(log.send_early(slow.early, slow.words.data(), slow.size())) << "the place is taken";
    ASSERT_TRUE(log.claim_early(other.early));
    ASSERT_TRUE(log.send_early(other.early, other.words.data(), other.size()));
    slow.close(log);
    other.close(log);
    ASSERT_TRUE(pool.recover());
    EXPECT_EQ(pool.word(1), 2u);
    for (std::uint64_t i = 0; i < 60; ++i) {
        ASSERT_EQ(pool.word(100 + i), 7u);
        ASSERT_EQ(pool.word(200 + i), 8u);
    }
}

TEST(EarlyLines, ARecordThatOutgrowsItsSegmentGoesToAnotherWhole) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), std::vector<std::uint64_t>(300, 1))));
    for (const std::uint64_t words : {400u, 1000u}) {
        early_record large(run(pool.offset(1000), std::vector<std::uint64_t>(words, words)));
        ASSERT_TRUE(log.claim_early(large.early));
        ASSERT_TRUE(log.send_early(large.early, large.words.data(), 100));
        EXPECT_FALSE(log.send_early(large.early, large.words.data(), large.size()));
        large.close(log);
        ASSERT_TRUE(pool.recover());
        for (std::uint64_t i = 0; i < words; ++i) ASSERT_EQ(pool.word(1000 + i), words);
        ASSERT_TRUE(commit(pool, log, run(pool.offset(0), std::vector<std::uint64_t>(100, 1))));
    }
}

TEST(EarlyLines, WhatAnAbandonedRecordLeftIsWrittenOver) {
    log_in_memory pool;
    lane_log log(pool.data(), pool.size(), pool.geometry(), at_power());
    ASSERT_TRUE(commit(pool, log, run(pool.offset(0), {1})));
    early_record abandoned(run(pool.offset(8), std::vector<std::uint64_t>(60, 5)));
    ASSERT_TRUE(log.claim_early(abandoned.early));
    ASSERT_TRUE(log.send_early(abandoned.early, abandoned.words.data(), abandoned.size()));
    log.give_up_early(abandoned.early);
    EXPECT_EQ(abandoned.early.sent(), 0u);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(commit(pool, log, run(pool.offset(i), {i})));
        ASSERT_TRUE(pool.recover());
        EXPECT_EQ(pool.word(i), i);
    }
    EXPECT_EQ(pool.word(8 + 40), 0u);
}

}  // namespace
}  // namespace holdfast
