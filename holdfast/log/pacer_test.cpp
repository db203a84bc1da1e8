// The pacer: what a round brings home, how its work is shared, and what the log may pass meanwhile.
#include <holdfast/log/pacer.hpp>

#include <holdfast/log/log_test_support.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

class Pacer : public ::testing::Test {
protected:
    void make(const pacer_options& options) {
        lane_log_options of_log;
        of_log.stores_homes_late = true;
        log_.emplace(pool_.data(), pool_.size(), pool_.geometry(), of_log);
        pacer_.emplace(pool_.data(), pool_.size(), *log_, options);
        log_->follow(*pacer_);
    }
    ~Pacer() override { pacer_.reset(); }

    /// Two words, in one line or two. Notes their lines.
    void commit_number(std::uint64_t number) {
        const std::uint64_t first = number * 37 % 20000;
        ASSERT_TRUE(commit(pool_, *log_, run(pool_.offset(first), {number, number})));
        lines_.insert(pool_.offset(first) / 64);
        lines_.insert(pool_.offset(first + 1) / 64);
    }
    /// As an engine does it, and a step behind it where one is due. Returns what the step asked of the medium.
    persist::counters commit_and_step(std::uint64_t number) {
        commit_number(number);
        const auto before = persist::thread_counters();
        if (pacer_->is_due()) pacer_->step_if_free();
        return persist::thread_counters() - before;
    }

    log_in_memory pool_;
    std::set<std::uint64_t> lines_;
    std::atomic<bool> is_in_flight_{false}, may_end_{false};
    std::optional<lane_log> log_;
    std::optional<pacer> pacer_;
};

/// Of a segment of the test's log.
constexpr std::uint64_t records_of_segment = (4096 - format::segment_header_bytes) / 64;

TEST_F(Pacer, ARoundWritesEachLineBackOnceAndPassesTwoFences) {
    make({});
    for (std::uint64_t number = 1; number <= 200; ++number) commit_number(number);
    const auto before = persist::thread_counters();
    log_->truncate();
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.write_backs, lines_.size() + 1) << "and the truncation point's own";
    EXPECT_EQ(cost.fences, 2u);
    EXPECT_EQ(pacer_->first_not_home(), 201u);
    EXPECT_EQ(log_->truncated(), 200u);
}

TEST_F(Pacer, NothingIsWrittenBackWhileThereIsRoom) {
    make({.percent = 50});
    for (std::uint64_t number = 1; number <= 7 * records_of_segment; ++number)
        ASSERT_EQ(commit_and_step(number).write_backs, 0u) << number;
    EXPECT_EQ(pacer_->steps(), 0u);
}

TEST_F(Pacer, ARoundIsSharedByCommitsAndEndsBeforeTheLogIsFull) {
    make({.percent = 50, .least_share = 1});
    std::uint64_t most = 0, stalls = 0;
    for (std::uint64_t number = 1; number <= 60 * records_of_segment; ++number) {
        const auto before = persist::thread_counters();
        const std::uint64_t in_step = commit_and_step(number).write_backs;
        stalls += (persist::thread_counters() - before).write_backs - in_step;
        most = std::max(most, in_step);
    }
    EXPECT_EQ(stalls, 0u) << "a commit never waited for room";
    EXPECT_GT(pacer_->rounds(), 4u);
    EXPECT_GT(pacer_->steps(), 3 * pacer_->rounds());
    // A round has the records of eight segments, each with another line, and seven are free.
    EXPECT_LT(most, 4 * records_of_segment);
}

TEST_F(Pacer, TheLogPassesNothingBeforeTheRoundHasEnded) {
    make({.percent = 0, .least_share = 1});
    for (std::uint64_t number = 1; number <= 100; ++number) commit_number(number);
    const std::uint64_t truncated = log_->truncated();
    std::uint64_t steps = 0;
    while (pacer_->rounds() == 0) {
        ASSERT_EQ(log_->truncated(), truncated);
        ASSERT_EQ(pacer_->first_not_home(), truncated + 1);
        const auto before = persist::thread_counters();
        pacer_->step_if_free();
        const auto cost = persist::thread_counters() - before;
        EXPECT_TRUE(cost.write_backs == 0 || cost.fences != 0) << "the next step may be another thread's";
        ++steps;
    }
    EXPECT_GT(steps, 3u);
    EXPECT_EQ(log_->truncated(), 100u);
}

TEST_F(Pacer, WhatCommitsDuringARoundWaitsForTheNext) {
    make({.percent = 0, .least_share = 1});
    for (std::uint64_t number = 1; number <= 100; ++number) commit_number(number);
    pacer_->step_if_free();
    ASSERT_EQ(pacer_->rounds(), 0u);
    for (std::uint64_t number = 101; number <= 110; ++number) commit_number(number);
    while (pacer_->rounds() == 0) pacer_->step_if_free();
    EXPECT_EQ(log_->truncated(), 100u);
    while (pacer_->rounds() == 1) pacer_->step_if_free();
    EXPECT_EQ(log_->truncated(), 110u);
}

TEST_F(Pacer, ACommitInFlightHoldsARoundBack) {
    make({.percent = 0});
    commit_number(1);
    std::thread other([&] {
        auto& lane = log_->acquire();
        ASSERT_TRUE(append(*log_, lane, run(pool_.offset(3), {1})));
        is_in_flight_.store(true);
        while (!may_end_.load()) std::this_thread::yield();
        log_->release(lane);
    });
    while (!is_in_flight_.load()) std::this_thread::yield();
    commit_number(3);
    pacer_->step_if_free();
    EXPECT_EQ(log_->truncated(), 1u);
    may_end_ = true;
    other.join();
    pacer_->step_if_free();
    EXPECT_EQ(log_->truncated(), 3u);
}

/// What other threads see where a record was streamed, until its lane has fenced it: the bytes of an earlier lap.
class hidden_record {
public:
    hidden_record(std::byte* place, const std::vector<std::byte>& earlier)
        : place_(place), sent_(place, place + earlier.size()) {
        std::copy(earlier.begin(), earlier.end(), place_);
    }
    ~hidden_record() { std::copy(sent_.begin(), sent_.end(), place_); }
    hidden_record(const hidden_record&) = delete;
    hidden_record& operator=(const hidden_record&) = delete;

private:
    std::byte* place_;
    std::vector<std::byte> sent_;
};

TEST_F(Pacer, ReadsNoRecordThatItsLaneHasNotFenced) {
    make({.percent = 0});
    commit_number(1);
    std::byte* const second = pool_.segment(0) + format::segment_header_bytes + 64;
    // As long as the segment, under a sequence that is below all.
    std::vector<std::uint64_t> earlier(8);
    seal_record(earlier.data(), 3, 1, 0, 1, format::record_kind::redo, 0);
    const auto* const first = reinterpret_cast<const std::byte*>(earlier.data());
    auto& lane = log_->acquire();
    ASSERT_TRUE(append(*log_, lane, run(pool_.offset(9), {5, 5})));
    {
        const hidden_record hidden(second, {first, first + 64});
        std::thread([&] { pacer_->step_if_free(); }).join();
    }
    EXPECT_EQ(log_->truncated(), 1u);
    log_->release(lane);
    const auto before = persist::thread_counters();
    pacer_->step_if_free();
    EXPECT_EQ((persist::thread_counters() - before).write_backs, 2u) << "its line, and the truncation point";
    EXPECT_EQ(log_->truncated(), 2u);
}

TEST_F(Pacer, WhoFindsTheLogFullBringsARoundHome) {
    make({.percent = 100});
    for (std::uint64_t number = 1; number <= 40 * records_of_segment; ++number) commit_number(number);
    EXPECT_GE(pacer_->rounds(), 2u);
    const auto recovered = pool_.recover();
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->truncated, log_->truncated());
    EXPECT_GT(recovered->truncated, 0u);
}

TEST_F(Pacer, ATransactionOfSeveralSegmentsComesHome) {
    make({.percent = 50});
    const std::uint64_t in_parts = 3 * log_->segment_payload_words();
    for (std::uint64_t times = 0; times < 20; ++times) {
        ASSERT_TRUE(commit(pool_, *log_, run(pool_.offset(0), std::vector<std::uint64_t>(in_parts, times))));
        if (pacer_->is_due()) pacer_->step_if_free();
    }
    EXPECT_GT(pacer_->rounds(), 2u);
}

TEST_F(Pacer, ItsThreadLeavesNothingToCommits) {
    make({.percent = 50, .in_background = true});
    const auto before = persist::thread_counters();
    for (std::uint64_t number = 1; number <= 6 * records_of_segment; ++number) commit_number(number);
    // The thread has all the time that it needs.
    for (std::uint64_t number = 1; pacer_->rounds() < 3; ++number) {
        EXPECT_FALSE(pacer_->is_due());
        if (log_->room().free > 2) commit_number(number);
    }
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.write_backs, 0u);
    EXPECT_EQ(cost.fences, 0u) << "those of commits are their engine's";
}

}  // namespace
}  // namespace holdfast
