// Numbers that no pool reaches, under checksums that hold.
#include <holdfast/log/log_test_support.hpp>

namespace holdfast {
namespace {

using namespace holdfast::test;

TEST(Replay, ATruncationPointAboveAllNumbersIsNotBelieved) {
    log_in_memory pool;
    pool.put_truncation(0, 3);
    pool.put_truncation(1, format::largest_sequence + 1);
    const auto found = pool.recover();
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->last_sequence, 3u);

    log_in_memory other;
    other.put_truncation(0, ~std::uint64_t{0});
    other.put_truncation(1, format::largest_sequence + 1);
    const auto refused = other.recover();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
}

TEST(Replay, ALogThatLeavesNoRoomForNumbersIsRefused) {
    for (const log_reading how : {log_reading::strict, log_reading::torn_anywhere, log_reading::salvage}) {
        log_in_memory pool;
        pool.put_truncation(0, format::largest_sequence / 2);
        EXPECT_TRUE(pool.recover(how));
        pool.put(0, 64, 11, format::largest_sequence / 2 + 1, run(pool.offset(0), {6}));
        const auto refused = pool.recover(how);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt);
    }
}

TEST(Replay, ARecordNumberedAboveAllCommitsIsNone) {
    for (const std::uint64_t sequence : {format::largest_sequence + 1, ~std::uint64_t{0}}) {
        log_in_memory pool;
        const std::uint64_t second = pool.put(0, 64, 11, 1, run(pool.offset(0), {6}));
        pool.put(0, second, 11, sequence, run(pool.offset(1), {7}));
        const auto found = pool.recover();
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_EQ(found->last_sequence, 1u);
        EXPECT_EQ(pool.word(0), 6u);
        EXPECT_NE(pool.word(1), 7u);
    }
}

TEST(Replay, AHeaderThatNamesNoPossibleCommitIsDamaged) {
    for (const bool is_acknowledged : {false, true}) {
        log_in_memory pool;
        const std::uint64_t second = pool.put(0, 64, 11, 1, run(pool.offset(0), {6}));
        pool.put(0, second, 11, 2, run(pool.offset(1), {7}));
        const std::uint64_t beyond = format::largest_sequence + 1;
        pool.put_header(0, 11, is_acknowledged ? beyond : 0, is_acknowledged ? 0 : beyond);
        const auto refused = pool.recover();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt);
    }
}

}  // namespace
}  // namespace holdfast
