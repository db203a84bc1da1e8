// Durability levels: what is on offer where, what is recorded when, and what a reboot means.
#include <holdfast/pool/pool_test_support.hpp>

#include <holdfast/log/replay.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/test_observer.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/sites.hpp>

#include <algorithm>

namespace holdfast {
namespace {

using namespace holdfast::test;
namespace site = persist::site;

/// Remembers the sites of the calls that change or order what the media hold.
class recorder final : public persist::test::call_observer {
public:
    void before_fence(persist::site_id) override {}

    bool saw(persist::site_id where) const { return std::find(seen_.begin(), seen_.end(), where) != seen_.end(); }
    bool in_order(persist::site_id first, persist::site_id second) const {
        return saw(first) && saw(second) &&
               std::find(seen_.begin(), seen_.end(), first) < std::find(seen_.begin(), seen_.end(), second);
    }
    persist::site_id first() const { return seen_.at(0); }
    persist::site_id last() const { return seen_.back(); }

private:
    void called(persist::site_id where) override { seen_.push_back(where); }

    std::vector<persist::site_id> seen_;
};

class PoolLevel : public ::testing::Test {
protected:
    std::string path() const { return scratch_.file("pool"); }
    result<pool_pointer> open(const open_options& options, const engine_description& engine = redo_like) const {
        return open_pool::open(path(), engine, options);
    }

    scratch_directory scratch_{"/dev/shm"};
    boot_named boot_{"monday"};
};

void expect_unavailable(const std::string& path, const engine_description& engine, const create_options& options) {
    const auto made = open_pool::create(path, engine, options);
    EXPECT_EQ(code_of(made), errc::level_unavailable);
    EXPECT_FALSE(made.error().expected.empty());
    EXPECT_EQ(made.error().found, name_of(options.durability));
    EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
}

TEST_F(PoolLevel, PowerOnTmpfsIsRefusedUnlessItStandsForNvram) {
    expect_unavailable(path(), redo_like, small_pool(level::power));
    make_closed(path(), small_nvram_pool());
    EXPECT_EQ(code_of(open(small_pool(level::power))), errc::level_unavailable);
    auto pool = open(small_nvram_pool());
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_TRUE((*pool)->persists_lines());
    EXPECT_EQ((*pool)->storage().kind, persist::medium::nvram);
}

TEST_F(PoolLevel, UndoOnAFileAndVolatileEnginesAnywhereCannotPromisePower) {
    const scratch_directory here(".");
    expect_unavailable(here.file("pool"), undo_like, small_pool(level::power));
    expect_unavailable(here.file("pool"), forgetful, small_pool(level::power));
    expect_unavailable(path(), forgetful, small_nvram_pool());
    make_closed(here.file("pool"), small_pool(level::process), undo_like);
}

TEST_F(PoolLevel, LagAndOnPowerFailAreRefusedWhereEngineOrMediumCannotKeepThem) {
    expect_unavailable(path(), redo_like, small_nvram_pool(level::lag));
    expect_unavailable(path(), undo_like, small_nvram_pool(level::on_power_fail));
    expect_unavailable(path(), redo_like, small_pool(level::on_power_fail));
}

TEST_F(PoolLevel, StorageThatOnlyClaimsMapSyncIsFoundOutWhenMapped) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user drops MAP_SYNC";
    auto options = small_pool(level::power);
    options.where.map_sync_answer = 1;
    const auto made = open_pool::create(path(), redo_like, options);
    EXPECT_EQ(code_of(made), errc::level_unavailable);
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(PoolLevel, LevelsHaveNames) {
    for (const level each : {level::process, level::lag, level::on_power_fail, level::power})
        EXPECT_EQ(level_named(name_of(each)), each);
    EXPECT_EQ(level_named("mains"), std::nullopt);
}

TEST_F(PoolLevel, AFileAtPowerIsPrivateAndAtProcessIsShared) {
    const scratch_directory here(".");
    auto pool = open_pool::create(here.file("pool"), redo_like, small_pool(level::power));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_TRUE((*pool)->homes_are_private());
    EXPECT_FALSE((*pool)->persists_lines());
    commit_word(**pool, 5);
    ASSERT_TRUE((*pool)->close());
    pool = open_pool::open(here.file("pool"), redo_like, small_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_FALSE((*pool)->homes_are_private());
    EXPECT_EQ(*last_word(**pool), 5u);
}

TEST_F(PoolLevel, AnUncleanPoolOfThisBootIsRecoveredAtAnyLevel) {
    for (const level used : {level::process, level::power})
        for (const level next : {level::process, level::power}) {
            make_unclean(path(), small_nvram_pool(used), redo_like, 8);
            auto pool = open(small_nvram_pool(next));
            ASSERT_TRUE(pool) << pool.error().text();
            EXPECT_EQ(*last_word(**pool), 8u);
            EXPECT_EQ((*pool)->recovery().applied, 1u);
            pool->reset();
            std::filesystem::remove(path());
        }
}

TEST_F(PoolLevel, AnUncleanPoolOfAnotherBootBelowPowerIsNotDurable) {
    make_unclean(path(), small_nvram_pool(level::process), redo_like, 8);
    const auto before = bytes_of(path());
    const boot_named tuesday("tuesday");
    for (const level next : {level::process, level::power}) {
        const auto refused = open(small_nvram_pool(next));
        ASSERT_EQ(code_of(refused), errc::not_durable);
        EXPECT_EQ(refused.error().expected, "boot tuesday");
        EXPECT_EQ(refused.error().found, "boot monday");
        EXPECT_NE(refused.error().text().find("accept_not_durable"), std::string::npos);
    }
    EXPECT_EQ(bytes_of(path()), before);
    auto options = small_nvram_pool(level::process);
    options.accept_not_durable = true;
    auto accepted = open(options);
    ASSERT_TRUE(accepted) << accepted.error().text();
    EXPECT_EQ(*last_word(**accepted), 8u);
}

TEST_F(PoolLevel, WithoutABootIdNothingProvesThatTheMachineStayedUp) {
    const boot_named none("");
    make_unclean(path(), small_nvram_pool(level::process));
    EXPECT_EQ(code_of(open(small_nvram_pool(level::process))), errc::not_durable);
}

TEST_F(PoolLevel, AnUncleanPoolOfAnotherBootAtPowerIsRecovered) {
    make_unclean(path(), small_nvram_pool(level::power), redo_like, 8);
    const boot_named tuesday("tuesday");
    auto pool = open(small_nvram_pool(level::power));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 8u);
}

TEST_F(PoolLevel, ACleanPoolOfAnotherBootOpensWhateverItsLevelWas) {
    make_closed(path(), small_nvram_pool(level::process));
    const boot_named tuesday("tuesday");
    EXPECT_TRUE(open(small_nvram_pool(level::power)));
}

TEST_F(PoolLevel, APoolOpenedBelowPowerAfterPowerCountsAsBelowPower) {
    make_unclean(path(), small_nvram_pool(level::power));
    { open(small_nvram_pool(level::process)).value()->abandon(); }
    {
        const boot_named tuesday("tuesday");
        EXPECT_EQ(code_of(open(small_nvram_pool(level::power))), errc::not_durable);
    }
    const boot_named monday("monday");
    { open(small_nvram_pool(level::power)).value()->abandon(); }
    const boot_named tuesday("tuesday");
    EXPECT_TRUE(open(small_nvram_pool(level::power))) << "strengthened in between";
}

TEST_F(PoolLevel, AnUncleanVolatilePoolIsTornWhateverTheBoot) {
    make_unclean(path(), small_pool(level::process), forgetful);
    EXPECT_EQ(code_of(open(small_pool(level::process), forgetful)), errc::not_durable);
    auto options = small_pool(level::process);
    options.accept_not_durable = true;
    auto pool = open(options, forgetful);
    ASSERT_TRUE(pool) << pool.error().text();
    ASSERT_TRUE((*pool)->close());
    EXPECT_TRUE(open(small_pool(level::process), forgetful));
}

TEST_F(PoolLevel, BelowPowerTheLevelIsRecordedDurablyBeforeAnythingElse) {
    make_unclean(path(), small_nvram_pool(level::power), redo_like, 8);
    const recorder seen;
    const auto before = persist::thread_counters();
    auto pool = open(small_nvram_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((persist::thread_counters() - before).syncs, 3u) << "name, what a killed process left, level";
    EXPECT_EQ(seen.first(), site::pool_open_sync);
    EXPECT_TRUE(seen.in_order(site::pool_open_sync, site::superblock));
    EXPECT_TRUE(seen.in_order(site::superblock, site::recovery_home));
    EXPECT_EQ((*pool)->info().last_level, level::process);
}

TEST_F(PoolLevel, AStrongerLevelIsRecordedLastAndWhatAWeakerOneStoredIsSyncedFirst) {
    make_unclean(path(), small_nvram_pool(level::process), redo_like, 8);
    const recorder seen;
    auto pool = open(small_nvram_pool(level::power));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(seen.first(), site::pool_open_sync);
    EXPECT_TRUE(seen.in_order(site::pool_open_sync, site::recovery_home));
    EXPECT_TRUE(seen.in_order(site::recovery_home_fence, site::superblock));
    EXPECT_EQ(seen.last(), site::superblock);
}

TEST_F(PoolLevel, OnAFileAStrongerLevelIsRecordedLastAsWell) {
    const scratch_directory here(".");
    make_unclean(here.file("pool"), small_pool(level::process), redo_like, 8);
    const recorder seen;
    auto pool = open_pool::open(here.file("pool"), redo_like, small_pool(level::power));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(seen.first(), site::pool_settle);
    EXPECT_TRUE(seen.in_order(site::pool_settle, site::pool_open_sync));
    EXPECT_TRUE(seen.in_order(site::pool_open_sync, site::recovery_home));
    EXPECT_TRUE(seen.in_order(site::recovery_home_fence, site::log_checkpoint_sequence));
    EXPECT_EQ(seen.last(), site::superblock);
    EXPECT_EQ(*last_word(**pool), 8u);
}

TEST_F(PoolLevel, ClosingBelowPowerSyncsAFileBeforeItSaysClean) {
    const scratch_directory here(".");
    auto pool = open_pool::create(here.file("pool"), redo_like, small_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    commit_word(**pool, 5);
    const recorder seen;
    ASSERT_TRUE((*pool)->close());
    EXPECT_TRUE(seen.in_order(site::pool_strengthen, site::superblock));
    EXPECT_EQ(seen.last(), site::superblock);
}

TEST_F(PoolLevel, ACopyOfAPoolInUseBelowPowerIsNotDurableInTheSameBoot) {
    auto pool = open_pool::create(path(), redo_like, small_nvram_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    commit_word(**pool, 8);
    const std::string copy = scratch_.file("copy");
    std::filesystem::copy_file(path(), copy);
    (*pool)->abandon();
    for (const level next : {level::process, level::power}) {
        const auto refused = open_pool::open(copy, redo_like, small_nvram_pool(next));
        ASSERT_EQ(code_of(refused), errc::not_durable);
        EXPECT_NE(refused.error().text().find("another file"), std::string::npos);
    }
    EXPECT_TRUE(open(small_nvram_pool(level::process))) << "the pool itself was only killed";
    auto options = small_nvram_pool(level::process);
    options.accept_not_durable = true;
    auto accepted = open_pool::open(copy, redo_like, options);
    ASSERT_TRUE(accepted) << accepted.error().text();
    EXPECT_EQ(*last_word(**accepted), 8u);
}

TEST_F(PoolLevel, ACopyOfAPoolInUseAtPowerAndOneOfAClosedPoolOpen) {
    const std::string copy = scratch_.file("copy");
    make_unclean(path(), small_nvram_pool(level::power), redo_like, 8);
    std::filesystem::copy_file(path(), copy);
    EXPECT_TRUE(open_pool::open(copy, redo_like, small_nvram_pool(level::power)));
    std::filesystem::remove(path());
    make_closed(path(), small_nvram_pool(level::process));
    std::filesystem::copy_file(path(), copy, std::filesystem::copy_options::overwrite_existing);
    EXPECT_TRUE(open_pool::open(copy, redo_like, small_nvram_pool(level::process)));
}

TEST_F(PoolLevel, NoEnvironmentVariableStandsForTheBoot) {
    const boot_named the_kernels(nullptr);
    make_unclean(path(), small_nvram_pool(level::process));
    ::setenv("HOLDFAST_BOOT_ID", "tuesday", 1);
    EXPECT_TRUE(open(small_nvram_pool(level::process)));
    ::unsetenv("HOLDFAST_BOOT_ID");
}

TEST_F(PoolLevel, WhatALifeBelowPowerLeftUncleanIsWrittenAnewBeforeAnythingSaysThatItIsDurable) {
    const scratch_directory here(".");
    const std::string file = here.file("pool");
    make_unclean(file, small_pool(level::process), redo_like, 8);
    {
        const auto before = persist::thread_counters();
        auto pool = open_pool::open(file, redo_like, small_pool(level::process));
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_LT((persist::thread_counters() - before).written_bytes, 8192u) << "nothing is promised yet";
        const auto opened = persist::thread_counters();
        ASSERT_TRUE((*pool)->close());
        EXPECT_GT((persist::thread_counters() - opened).written_bytes, 64u << 10) << "every page that holds anything";
    }
    {
        const auto before = persist::thread_counters();
        auto pool = open_pool::open(file, redo_like, small_pool(level::process));
        ASSERT_TRUE(pool) << pool.error().text();
        ASSERT_TRUE((*pool)->close());
        EXPECT_LT((persist::thread_counters() - before).written_bytes, 8192u) << "a clean end before";
    }
    std::filesystem::remove(file);
    make_unclean(file, small_pool(level::process), redo_like, 8);
    const auto before = persist::thread_counters();
    auto pool = open_pool::open(file, redo_like, small_pool(level::power));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_GT((persist::thread_counters() - before).written_bytes, 64u << 10);
}

}  // namespace
}  // namespace holdfast
