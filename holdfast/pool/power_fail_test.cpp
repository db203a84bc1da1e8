// The level `on_power_fail`: no fence, a log in memory, and a handler that saves both.
#include <holdfast/pool/armed_pool_test_support.hpp>

#include <holdfast/log/replay.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/test_handler.hpp>

#include <atomic>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::test::test_handler;

class PowerFail : public armed_pool_test {
protected:
    result<pool_pointer> open(const open_options& options = armed()) const { return armed_pool_test::open(options); }
    std::string found(const open_options& options = armed()) const { return armed_pool_test::found(options); }
    bool has_log_in_memory() const {
        format::superblock newest = superblock_copy(path(), 0);
        if (superblock_copy(path(), 1).generation > newest.generation) newest = superblock_copy(path(), 1);
        return powerfail::shadow_log::find(newest).has_value();
    }
};

TEST_F(PowerFail, WithoutAHandlerAPoolRunsAtPower) {
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_TRUE(pool->persists_lines());
    EXPECT_EQ(pool->info().last_level, level::power);
}

TEST_F(PowerFail, AHandlerThatDeclinesLeavesAPoolAtPower) {
    test_handler small(1000);
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_TRUE(pool->persists_lines());
    EXPECT_FALSE(has_log_in_memory());
}

TEST_F(PowerFail, AHandlerThatDoesNotSayThatItTakesFilesLeavesThemAtPower) {
    class of_lines_alone final : public powerfail::handler {
        bool arm(powerfail::charge&) override { return true; }
        void disarm(powerfail::charge&) noexcept override {}
    };
    of_lines_alone handler;
    powerfail::use_handler(&handler);
    const scratch_directory here(".");
    auto pool = open_pool::create(here.file("pool"), redo_like, small_pool(level::on_power_fail));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((*pool)->durability(), level::power);
    EXPECT_TRUE((*pool)->homes_are_private());
    powerfail::use_handler(nullptr);
}

TEST_F(PowerFail, ArmedACommitAsksNothingOfTheMediumAndItsLogIsInMemory) {
    test_handler handler;
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::on_power_fail);
    EXPECT_EQ(handler.pools(), 1u);
    EXPECT_TRUE(has_log_in_memory());
    const auto before_of_file = bytes_of(path());
    const auto before = persist::thread_counters();
    for (std::uint64_t value = 1; value <= 100; ++value) commit_word(*pool, value);
    EXPECT_EQ(persist::thread_counters() - before, persist::counters{});
    auto after_of_file = bytes_of(path());
    std::memset(after_of_file.data() + after_of_file.size() - 8, 0, 8);
    EXPECT_EQ(after_of_file, before_of_file) << "only the home is stored to in the pool";
}

TEST_F(PowerFail, AKilledProcessLeavesItsLogInMemoryAndOpeningReplaysIt) {
    test_handler handler;
    for (const level next : {level::on_power_fail, level::power, level::process}) {
        auto pool = make();
        commit_word(*pool, 5);
        commit_word(*pool, 6, false);
        pool->abandon();
        EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(bytes_of(path()).data() + (256 << 10) - 8), 5u);
        EXPECT_EQ(found(small_nvram_pool(next)), "6") << name_of(next);
        EXPECT_FALSE(has_log_in_memory()) << "it was closed";
        std::filesystem::remove(path());
    }
}

TEST_F(PowerFail, AnInspectionSeesWhatALogInMemorySays) {
    test_handler handler;
    make_unclean(path(), armed(), redo_like, 6);
    const auto before = bytes_of(path());
    {
        auto seen = open_pool::inspect(path());
        ASSERT_TRUE(seen) << seen.error().text();
        EXPECT_EQ(*last_word(**seen), 6u);
        EXPECT_EQ((*seen)->recovery().applied, 1u);
    }
    EXPECT_EQ(bytes_of(path()), before);
    EXPECT_EQ(found(), "6");
}

TEST_F(PowerFail, WhatWasSavedIsReplayedOnce) {
    test_handler handler;
    {
        auto pool = make();
        commit_word(*pool, 5);
        commit_word(*pool, 6, false);
        handler.fail_power();
        pool->abandon();
    }
    begin_next_boot();
    {
        auto pool = open(small_nvram_pool(level::power));
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_EQ(*last_word(**pool), 6u);
        EXPECT_EQ((*pool)->recovery().applied, 1u);
        commit_word(**pool, 7);
        (*pool)->abandon();
    }
    EXPECT_EQ(found(small_nvram_pool(level::power)), "7");
}

TEST_F(PowerFail, WithoutASaveWhatWasInUseIsNotDurable) {
    test_handler handler;
    make_unclean(path(), armed(), redo_like, 6);
    begin_next_boot();
    for (const level next : {level::on_power_fail, level::power, level::process})
        EXPECT_EQ(found(small_nvram_pool(next)), "not_durable");
    auto options = small_nvram_pool(level::power);
    options.accept_not_durable = true;
    EXPECT_EQ(found(options), "0");
}

TEST_F(PowerFail, TheLogOfALaterLifeIsNotThatOfAStateThatIsPutBack) {
    test_handler handler;
    make_unclean(path(), armed(), redo_like, 6);
    const auto first = bytes_of(path());
    {
        auto pool = open(armed());
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 7);
        (*pool)->abandon();
    }
    const auto second = bytes_of(path());
    put_back(first);
    EXPECT_EQ(found(), "not_durable");
    put_back(second);
    EXPECT_EQ(found(), "7");
}

TEST_F(PowerFail, AFlippedBitInTheNumberOfTheLifeLosesNothing) {
    test_handler handler;
    const std::uint64_t number = format::log_offset + format::armed_life_offset;
    for (const std::uint64_t byte : {number, number + sizeof(std::uint64_t)}) {
        make_unclean(path(), armed(), redo_like, 6);
        auto bytes = bytes_of(path());
        bytes[byte + 3] ^= std::byte{0x10};
        put_back(bytes);
        EXPECT_EQ(found(), "6") << byte;
        std::filesystem::remove(path());
    }
}

TEST_F(PowerFail, AStateOfAnotherLifeDoesNotTakeTheLogOfThisOneAway) {
    test_handler handler;
    {
        auto pool = make();
        commit_word(*pool, 5, false);
        handler.fail_power();
        pool->abandon();
    }
    const auto saved = bytes_of(path());
    {
        auto pool = open(armed());
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 6, false);
        (*pool)->abandon();
    }
    const auto killed = bytes_of(path());
    put_back(saved);
    EXPECT_EQ(found(small_nvram_pool(level::power)), "5");
    put_back(killed);
    EXPECT_EQ(found(), "6");
}

TEST_F(PowerFail, ALogThatIsGoneFromMemoryInTheSameBootIsMissed) {
    test_handler handler;
    make_unclean(path(), armed(), redo_like, 6);
    begin_next_boot();
    stand_ins_now.boot_id = "monday";
    const auto refused = open();
    ASSERT_EQ(code_of(refused), errc::not_durable);
    EXPECT_NE(refused.error().text().find("/dev/shm"), std::string::npos) << refused.error().text();
}

TEST_F(PowerFail, ACopyOfAFileInUseIsNotDurableAndTakesNoLogOfTheOther) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 6, false);
    const std::string copy = scratch_.file("copy");
    std::filesystem::copy_file(path(), copy);
    pool->abandon();
    EXPECT_EQ(code_of(open_pool::open(copy, redo_like, armed())), errc::not_durable);
    auto options = armed();
    options.accept_not_durable = true;
    {
        auto accepted = open_pool::open(copy, redo_like, options);
        ASSERT_TRUE(accepted) << accepted.error().text();
        EXPECT_EQ(*last_word(**accepted), 0u);
    }
    EXPECT_EQ(found(), "6") << "the pool itself was only killed";
}

TEST_F(PowerFail, ASaveThatWasResumedNeverCounts) {
    test_handler handler;
    {
        auto pool = make();
        commit_word(*pool, 5);
        commit_word(*pool, 6, false);
        handler.fail_power(true);
        *last_word(*pool) = 6;
        pool->abandon();
    }
    const auto after = bytes_of(path());
    EXPECT_EQ(found(), "6") << "killed in the same boot";
    write_bytes(path(), 0, after.data(), after.size());
    begin_next_boot();
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(PowerFail, AfterAResumedSaveTheNextOneCountsAndSoDoesClosing) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 5);
    handler.fail_power(true);
    commit_word(*pool, 7);
    const auto running = bytes_of(path());
    handler.fail_power();
    pool->abandon();
    const auto saved = bytes_of(path());
    begin_next_boot();
    EXPECT_EQ(found(small_nvram_pool(level::power)), "7");
    std::filesystem::remove(path());
    stand_ins_now.boot_id = "monday";
    pool = make();
    commit_word(*pool, 5, false);
    handler.fail_power(true);
    // The commit ends, and another one follows.
    *last_word(*pool) = 5;
    pool->lanes()->release(pool->lanes()->acquire());
    *last_word(*pool) = 8;
    ASSERT_TRUE(pool->close());
    begin_next_boot();
    EXPECT_EQ(found(small_nvram_pool(level::power)), "8") << "the copy of a record is not replayed";
}

TEST_F(PowerFail, AClosedPoolOpensInAnyBootAndItsLogIsGone) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 5);
    ASSERT_TRUE(pool->close());
    EXPECT_EQ(handler.pools(), 0u);
    EXPECT_FALSE(has_log_in_memory());
    for (const unsigned copy : {0u, 1u})
        EXPECT_EQ(superblock_copy(path(), copy).required_features & format::feature_shadow_log, 0u)
            << "what does not know such logs may open it";
    begin_next_boot();
    EXPECT_EQ(found(small_nvram_pool(level::power)), "5");
}

TEST_F(PowerFail, ASaveAfterAGrowthHasItsSize) {
    test_handler handler;
    auto pool = make();
    ASSERT_TRUE(pool->grow(512 << 10));
    commit_word(*pool, 5, false);
    handler.fail_power();
    pool->abandon();
    begin_next_boot();
    auto opened = open(small_nvram_pool(level::power));
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->size(), 512u << 10);
    EXPECT_EQ(*last_word(**opened), 5u);
}

TEST_F(PowerFail, ASnapshotOfAnArmedPoolIsAClosedOne) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 5);
    const std::string copy = scratch_.file("copy");
    ASSERT_TRUE(pool->snapshot(copy, {}));
    pool->abandon();
    stand_ins_now.boot_id = "tuesday";
    auto opened = open_pool::open(copy, redo_like, small_nvram_pool(level::power));
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(*last_word(**opened), 5u);
}

TEST_F(PowerFail, WhoLosesItsHandlerGoesOnAtPowerAndLosesNothing) {
    test_handler handler;
    auto pool = make();
    for (std::uint64_t value = 1; value <= 5; ++value) commit_word(*pool, value);
    ASSERT_TRUE(handler.lose());
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_TRUE(pool->persists_lines());
    EXPECT_EQ(handler.pools(), 0u);
    EXPECT_FALSE(has_log_in_memory());
    const auto before = persist::thread_counters();
    commit_word(*pool, 6);
    EXPECT_EQ((persist::thread_counters() - before).fences, 1u);
    commit_word(*pool, 7, false);
    pool->abandon();
    stand_ins_now.boot_id = "tuesday";
    EXPECT_EQ(found(small_nvram_pool(level::power)), "7");
}

TEST_F(PowerFail, ALogOfBeforeAFallBackFillsAndIsTruncated) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 1);
    ASSERT_TRUE(handler.lose());
    for (std::uint64_t value = 2; value <= 5000; ++value) commit_word(*pool, value);
    EXPECT_GT(pool->lanes()->truncations(), 0u);
    pool->abandon();
    EXPECT_EQ(found(small_nvram_pool(level::power)), "5000");
}

TEST_F(PowerFail, ThreadsCommitWhileTheHandlerIsLostAndWhileThePowerFails) {
    if (persist::test::emulated()) GTEST_SKIP() << "an emulator's own threads cannot be stopped";
    test_handler handler;
    auto pool = make();
    std::atomic<bool> ends{false};
    std::atomic<std::uint64_t> committed{0};
    std::thread committing([&] {
        while (!ends.load()) {
            commit_word(*pool, committed.load() + 1);
            committed.fetch_add(1);
        }
    });
    while (committed.load() < 100) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) handler.fail_power(true);
    EXPECT_TRUE(handler.lose());
    const std::uint64_t at_least = committed.load();
    while (committed.load() < at_least + 100) std::this_thread::yield();
    ends = true;
    committing.join();
    pool->abandon();
    stand_ins_now.boot_id = "tuesday";
    EXPECT_EQ(found(small_nvram_pool(level::power)), std::to_string(committed.load()));
}

TEST_F(PowerFail, AGrowthThatAKillInterruptedHasOneSizeOrTheOther) {
    test_handler handler;
    auto pool = make();
    commit_word(*pool, 5);
    ASSERT_TRUE(pool->grow(512 << 10));
    commit_word(*pool, 6, false);
    pool->abandon();
    // As a kill leaves it between the second superblock of the growth and its seal.
    {
        format::superblock newest = superblock_copy(path(), 0);
        if (superblock_copy(path(), 1).generation > newest.generation) newest = superblock_copy(path(), 1);
        auto shadow = powerfail::shadow_log::find(newest);
        ASSERT_TRUE(shadow) << shadow.error().text();
        format::superblock older = shadow->header().seals[0];
        if (shadow->header().seals[1].pool_bytes < older.pool_bytes) older = shadow->header().seals[1];
        older.pool_bytes = 256 << 10;
        older.zone_count = 1;
        older.zones[1] = {};
        older.checksum = ~crc32c(&older, offsetof(format::superblock, checksum), ~0u);
        shadow->publish(older);
    }
    auto opened = open(small_nvram_pool(level::power));
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->size(), 512u << 10);
    EXPECT_EQ((*opened)->info().bytes, (*opened)->size());
    EXPECT_EQ(*last_word(**opened), 6u);
}

TEST_F(PowerFail, AHandlerThatIsLostWhileThePoolIsOpenedIsToldToTryAgain) {
    class lost_at_once final : public powerfail::handler {
    public:
        lost_at_once() { powerfail::use_handler(this); }
        ~lost_at_once() override { powerfail::use_handler(nullptr); }
        bool arm(powerfail::charge& taken) override {
            EXPECT_FALSE(taken.lost());
            known = &taken;
            return true;
        }
        void disarm(powerfail::charge&) noexcept override { known = nullptr; }

        powerfail::charge* known = nullptr;
    } handler;
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::on_power_fail);
    ASSERT_NE(handler.known, nullptr);
    EXPECT_TRUE(handler.known->lost());
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_EQ(handler.known, nullptr);
}

TEST_F(PowerFail, TwoPoolsSideBySideAreBothArmed) {
    test_handler handler;
    auto options = armed();
    options.reserved_bytes = std::uint64_t{1} << 30;
    auto first = open_pool::create(path(), redo_like, options);
    ASSERT_TRUE(first) << first.error().text();
    options.base += options.reserved_bytes;
    auto second = open_pool::create(scratch_.file("second"), redo_like, options);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(handler.pools(), 2u);
    EXPECT_TRUE(handler.lose());
    EXPECT_EQ(handler.pools(), 0u);
}

TEST_F(PowerFail, APoolWithoutAHandlerHasNoneToLose) {
    auto pool = make();
    EXPECT_EQ(code_of(pool->fall_back()), errc::misuse);
}

}  // namespace
}  // namespace holdfast
