// The queue of commits that are not home yet: their order, its bound, and what may be truncated.
#include <holdfast/log/retirement.hpp>

#include <holdfast/log/log_test_support.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using test::run;

class Retirement : public ::testing::Test {
protected:
    void make(std::uint32_t backlog, bool in_background = false) {
        retirement_options options;
        options.persists = false;
        options.backlog = backlog;
        options.in_background = in_background;
        lane_log_options of_log;
        of_log.persists = false;
        of_log.stores_homes_late = true;
        log_.emplace(pool_.data(), pool_.size(), pool_.geometry(), of_log);
        queue_.emplace(pool_.data(), pool_.size(), *log_, options);
        log_->follow(*queue_);
    }
    ~Retirement() override { queue_.reset(); }

    std::uint64_t draw() {
        log_lane& lane = log_->acquire();
        queue_->admit();
        const std::uint64_t number = log_->draw_sequence(lane);
        log_->release(lane);
        return number;
    }
    void finish(std::uint64_t number, const std::vector<std::uint64_t>& payload) {
        record_buffer record;
        record.make_room(payload.size());
        std::copy(payload.begin(), payload.end(), record.payload());
        record.payload_words = payload.size();
        queue_->finished(number, record);
    }

    test::log_in_memory pool_;
    std::optional<lane_log> log_;
    std::optional<retirement> queue_;
};

TEST_F(Retirement, KnowsNoHomeBeforeAllEarlierNumbersAreFinished) {
    make(64);
    const std::uint64_t first = draw(), second = draw();
    finish(second, run(pool_.offset(3), {22}));
    queue_->wait(0);
    EXPECT_EQ(queue_->first_not_home(), first);
    EXPECT_EQ(pool_.word(3), 0u);
    finish(first, run(pool_.offset(3), {11}));
    queue_->wait(second);
    EXPECT_EQ(queue_->prefix(), second);
    queue_->bring_home();
    EXPECT_EQ(queue_->first_not_home(), second + 1);
    EXPECT_EQ(pool_.word(3), 22u);
    EXPECT_EQ(queue_->pages_stored(), 1u);
    queue_->forget_pages();
    EXPECT_EQ(queue_->pages_stored(), 0u);
}

TEST_F(Retirement, TruncationStaysBelowWhatIsNotHome) {
    make(64);
    const std::uint64_t first = draw();
    std::thread finishes([&] { finish(first, run(pool_.offset(0), {1})); });
    // Brings home what was drawn, so it waits for the other thread.
    log_->truncate();
    finishes.join();
    EXPECT_EQ(log_->truncated(), first);
    EXPECT_EQ(pool_.word(0), 1u);
}

TEST_F(Retirement, RetiresWhenMoreWaitThanTheBacklogAllows) {
    make(40);
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t number = draw();
        finish(number, run(pool_.offset(static_cast<std::uint64_t>(i)), {number}));
        queue_->wait(number);
        EXPECT_LE(number - queue_->retired(), 41u);
    }
    EXPECT_GE(queue_->batches(), 4u);
}

TEST_F(Retirement, BytesThatARecordDoesNotNameStayAsTheyAre) {
    make(1);
    pool_.word(1) = 0x1122334455667788;
    const std::uint64_t number = draw();
    finish(number, {format::masked_tag(pool_.offset(1), 0x0F), 0xAABBCCDDEEFF0011});
    queue_->bring_home();
    EXPECT_EQ(pool_.word(1), 0x11223344EEFF0011u);
}

TEST_F(Retirement, ARecordWithoutWordsCountsLikeAnyOther) {
    make(8);
    const std::uint64_t first = draw(), second = draw();
    finish(first, {});
    finish(second, run(pool_.offset(0), {5}));
    queue_->bring_home();
    EXPECT_EQ(queue_->retired(), second);
    EXPECT_EQ(pool_.word(0), 5u);
}

TEST_F(Retirement, AThreadOfItsOwnBringsCommitsHome) {
    constexpr std::uint32_t backlog = 4;
    make(backlog, true);
    const auto is_home = [&](std::uint64_t number) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (queue_->retired() < number && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        return queue_->retired() >= number;
    };
    std::uint64_t number = 0;
    for (int i = 0; i < 500; ++i) {
        number = draw();
        finish(number, run(pool_.offset(0), {number}));
        queue_->wait(number);
        // No call here retires: the queue has room.
        ASSERT_TRUE(number <= backlog || is_home(number - backlog)) << i;
    }
    queue_->bring_home();
    EXPECT_EQ(pool_.word(0), number);
}

class ReplayOfAPrefix : public ::testing::Test {
protected:
    /// Puts commits of one word each, a segment each, and recovers.
    void recover(const std::vector<std::uint64_t>& numbers, bool keeps_prefix) {
        std::uint32_t segment = 0;
        for (const std::uint64_t number : numbers)
            pool_.put(segment++, format::segment_header_bytes, 100 + number, number,
                      run(pool_.offset(number), {number}));
        log_geometry geometry = pool_.geometry();
        geometry.keeps_prefix = keeps_prefix;
        auto replay = log_replay::read({pool_.data(), pool_.size()}, geometry);
        ASSERT_TRUE(replay);
        last_ = replay->report().last_sequence;
        replay->apply({pool_.data(), pool_.size()});
    }
    bool has(std::uint64_t number) { return pool_.word(number) == number; }

    test::log_in_memory pool_;
    std::uint64_t last_ = 0;
};

TEST_F(ReplayOfAPrefix, StopsAtTheFirstMissingNumber) {
    recover({1, 2, 4, 5}, true);
    EXPECT_TRUE(has(1) && has(2));
    EXPECT_FALSE(has(4) || has(5));
    // What comes next is above all that was seen.
    EXPECT_EQ(last_, 5u);
}

TEST_F(ReplayOfAPrefix, OfOtherEnginesSkipsAMissingNumber) {
    recover({1, 2, 4, 5}, false);
    EXPECT_TRUE(has(1) && has(2) && has(4) && has(5));
}

TEST_F(ReplayOfAPrefix, HasNothingWhereTheFirstNumberIsMissing) {
    recover({2, 3}, true);
    EXPECT_FALSE(has(2) || has(3));
}

TEST_F(ReplayOfAPrefix, GoesOnOverARecordWithoutWords) {
    std::uint64_t at = pool_.put(5, format::segment_header_bytes, 77, 1, run(pool_.offset(1), {1}));
    at = pool_.put(5, at, 77, 2, {});
    pool_.put(5, at, 77, 3, run(pool_.offset(3), {3}));
    recover({4}, true);
    EXPECT_TRUE(has(1) && has(3) && has(4));
}

TEST_F(ReplayOfAPrefix, BeginsAboveTheTruncationPoint) {
    pool_.put_truncation(1, 7);
    recover({8, 9}, true);
    EXPECT_TRUE(has(8) && has(9));
}

}  // namespace
}  // namespace holdfast
