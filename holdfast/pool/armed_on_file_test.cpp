// Pools on ordinary files at `on_power_fail`: what a commit costs, what a kill and a power failure leave, and how they
// go on at `power`.
#include <holdfast/pool/armed_on_file_test_support.hpp>

#include <holdfast/persist/sites.hpp>
#include <holdfast/powerfail/module_handler.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {
/// So many syncs fail from now on.
std::atomic<int> syncs_that_fail{0};
/// Called in the middle of one that fails.
std::function<void()> when_one_fails;
/// So many questions where a file is are not answered.
std::atomic<int> places_that_fail{0};
/// So many durable writes succeed, and the next one has written and says that it failed; negative: none fails.
std::atomic<int> durable_writes_before_one_that_fails{-1};
}  // namespace

extern "C" int statx(int directory, const char* path, int flags, unsigned mask, struct statx* answer) {
    if (places_that_fail > 0) {
        --places_that_fail;
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_statx, directory, path, flags, mask, answer));
}

namespace {
/// So many writes that are no syncs fail.
std::atomic<int> writes_that_fail{0};
/// How many there were of this byte of a file.
off_t watched_byte = -1;
std::atomic<int> writes_of_it{0};
/// Called once, before the next durable write.
std::function<void()> before_a_durable_write;
}  // namespace

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    if (writes_that_fail > 0) {
        --writes_that_fail;
        errno = EIO;
        return -1;
    }
    if (offset <= watched_byte && watched_byte < offset + static_cast<off_t>(size)) ++writes_of_it;
    return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

extern "C" ssize_t pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
    if (auto call = std::exchange(before_a_durable_write, nullptr)) call();
    ssize_t written = ::syscall(SYS_pwritev2, descriptor, pieces, count, offset, 0, flags);
    // qemu-user has no such call.
    if (written < 0 && errno == ENOSYS) written = ::pwritev(descriptor, pieces, count, offset);
    if (durable_writes_before_one_that_fails < 0 || durable_writes_before_one_that_fails-- != 0) return written;
    errno = EIO;
    return -1;
}

extern "C" int fdatasync(int descriptor) {
    if (syncs_that_fail > 0) {
        --syncs_that_fail;
        if (when_one_fails) when_one_fails();
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

namespace holdfast {
namespace {

using namespace holdfast::test;

class ArmedOnFile : public armed_on_file_test {};

TEST_F(ArmedOnFile, ACommitDoesNotSync) {
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail);
    const std::uint64_t before = syncs();
    for (std::uint64_t value = 1; value <= 100; ++value) commit_word(*pool, value);
    EXPECT_EQ(syncs(), before);
    ASSERT_TRUE(pool->close());
    EXPECT_FALSE(told_.has_charge());
}

TEST_F(ArmedOnFile, WithoutAHandlerOrWhereItDeclinesThePoolIsAtPower) {
    powerfail::use_handler(nullptr);
    EXPECT_EQ(make()->durability(), level::power);
    std::filesystem::remove(path());
    powerfail::module_handler module;
    powerfail::use_handler(&module);
    EXPECT_EQ(make()->durability(), level::power);
    EXPECT_NE(module.last_decline().find("files"), std::string::npos) << module.last_decline();
}

TEST_F(ArmedOnFile, AKillLosesNothingInTheSameBootWhateverLevelIsNext) {
    for (const level next : {level::power, level::process, level::on_power_fail}) {
        auto pool = make();
        commit_word(*pool, 4);
        commit_word(*pool, 5, false);
        pool->abandon();
        EXPECT_EQ(found(options_at(next)), "5") << name_of(next);
        std::filesystem::remove(path());
    }
}

TEST_F(ArmedOnFile, APowerFailureThatNobodyAnnouncedIsSaid) {
    auto pool = make();
    commit_word(*pool, 4, false);
    pool->abandon();
    begin_next_boot();
    const auto refused = open();
    ASSERT_EQ(code_of(refused), errc::not_durable);
    EXPECT_NE(refused.error().text().find("may be lost or torn"), std::string::npos) << refused.error().text();
    auto accepting = options_at(level::power);
    accepting.accept_not_durable = true;
    EXPECT_EQ(found(accepting), "4") << "here the page cache had written all";
}

TEST_F(ArmedOnFile, AnAnnouncedPowerFailureLosesNothingAndThePoolGoesOnAtPower) {
    auto pool = make();
    commit_word(*pool, 4);
    commit_word(*pool, 5, false);
    const std::uint64_t before = syncs();
    ASSERT_TRUE(told_.lose());
    EXPECT_EQ(syncs(), before + 2) << "the log's, and the superblock's";
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_FALSE(told_.has_charge());
    commit_word(*pool, 6, false);
    EXPECT_EQ(syncs(), before + 3);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "6");
}

TEST_F(ArmedOnFile, AClosedPoolIsDurable) {
    auto pool = make();
    commit_word(*pool, 4);
    ASSERT_TRUE(pool->close());
    begin_next_boot();
    EXPECT_EQ(found(), "4");
}

TEST_F(ArmedOnFile, APoolThatTookCheckpointsGrewAndWasCopiedLosesNothing) {
    auto pool = make();
    for (std::uint64_t value = 1; value <= 20; ++value) {
        commit_word(*pool, value);
        if (value % 5 == 0) {
            ASSERT_TRUE(pool->checkpoint());
        }
    }
    const std::string copy = scratch_.file("copy");
    ASSERT_TRUE(pool->snapshot(copy, {}));
    ASSERT_TRUE(pool->grow(512 << 10));
    EXPECT_EQ(pool->durability(), level::on_power_fail);
    commit_word(*pool, 21, false);
    pool->abandon();
    EXPECT_EQ(found(), "21");
    begin_next_boot();
    auto copied = open_pool::open(copy, redo_like, options_at(level::power));
    ASSERT_TRUE(copied) << copied.error().text();
    EXPECT_EQ(*last_word(**copied), 20u);
}

TEST_F(ArmedOnFile, WhereASyncFailsThePoolIsNotDurableInThisBootEither) {
    for (const bool by_checkpoint : {false, true}) {
        auto pool = make();
        commit_word(*pool, 4, false);
        syncs_that_fail = 1;
        EXPECT_FALSE(by_checkpoint ? pool->checkpoint().has_value() : told_.lose());
        // Nobody can do more for it.
        if (by_checkpoint) {
            EXPECT_FALSE(told_.lose());
        }
        EXPECT_FALSE(told_.has_charge());
        EXPECT_EQ(code_of(pool->close()), errc::poisoned);
        EXPECT_EQ(found(), "not_durable") << by_checkpoint;
        std::filesystem::remove(path());
    }
}

TEST_F(ArmedOnFile, ASyncThatFailsIsNotPassedByTheOneOfAnAlarmAtTheSameTime) {
    auto pool = make();
    commit_word(*pool, 4, false);
    // The kernel tells one sync of a failed write, and the next one nothing.
    std::thread alarm;
    std::atomic<bool> is_lost{false};
    when_one_fails = [&] {
        alarm = std::thread([&] { is_lost = told_.lose(); });
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    };
    syncs_that_fail = 1;
    EXPECT_FALSE(pool->checkpoint());
    alarm.join();
    when_one_fails = nullptr;
    EXPECT_FALSE(is_lost);
    pool->abandon();
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(ArmedOnFile, WhereACommitFailsWhileAGrowthWritesItsSuperblocksThePoolIsNotDurable) {
    auto pool = make();
    commit_word(*pool, 4, false);
    std::thread committing;
    before_a_durable_write = [&] {
        committing = std::thread([&] {
            const std::uint64_t payload[] = {format::run_tag(pool->size() - 8, 1), 5};
            writes_that_fail = 1;
            EXPECT_FALSE(pool->groups()->wait(pool->groups()->append(payload, 2, false)));
        });
        // It must not be in front of what this write writes over.
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    };
    EXPECT_FALSE(pool->grow(512 << 10));
    committing.join();
    pool->abandon();
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(ArmedOnFile, AHandlerThatLosesAPoolWhileItIsOpenedIsToCallAgain) {
    told_.when_armed = [](powerfail::charge& taken) { EXPECT_FALSE(taken.lost()); };
    auto pool = make();
    commit_word(*pool, 4, false);
    EXPECT_TRUE(told_.lose());
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "4");
}

TEST_F(ArmedOnFile, AHandlerThatLosesAPoolWhileItIsClosedComesTooLate) {
    auto pool = make();
    commit_word(*pool, 4, false);
    told_.when_disarmed = [](powerfail::charge& given_back) { EXPECT_FALSE(given_back.lost()); };
    ASSERT_TRUE(pool->close());
    begin_next_boot();
    EXPECT_EQ(found(), "4");
}

TEST_F(ArmedOnFile, AHandlerThatLosesAPoolWhileItIsAbandonedComesTooLate) {
    auto pool = make();
    told_.when_disarmed = [](powerfail::charge& given_back) { EXPECT_FALSE(given_back.lost()); };
    pool->abandon();
    EXPECT_FALSE(told_.has_charge());
}

TEST_F(ArmedOnFile, AFreshBlockOfAKilledLifeIsWrittenAnewSinceNoSyncHasCoveredIt) {
    auto pool = make();
    const std::uint64_t stored = 7;
    watched_byte = static_cast<off_t>(pool->size() - 8192);
    ASSERT_TRUE(pool->backing_file().write_at(pool->size() - 8192, &stored, sizeof stored, persist::site::pool_format));
    commit_word(*pool, 4);
    pool->abandon();
    writes_of_it = 0;
    EXPECT_EQ(found(), "4");
    watched_byte = -1;
    EXPECT_EQ(writes_of_it, 1) << "as far as anybody knows its page is clean, and not on the device";
}

TEST_F(ArmedOnFile, AHandlerIsToldHowLargeThePoolIs) {
    auto pool = make();
    EXPECT_EQ(told_.pool_bytes(), pool->size());
}

TEST_F(ArmedOnFile, AnOpeningThatCannotWriteItsSuperblockLosesNothingAndRefusesNothing) {
    auto pool = make();
    commit_word(*pool, 4, false);
    ASSERT_TRUE(pool->close());
    durable_writes_before_one_that_fails = 0;
    EXPECT_FALSE(open(options_at(level::on_power_fail)));
    durable_writes_before_one_that_fails = -1;
    EXPECT_EQ(found(), "4");
}

TEST_F(ArmedOnFile, AnErrorThatLosesNothingKeepsTheHandlerInChargeUntilThePoolIsAtPower) {
    auto pool = make();
    commit_word(*pool, 4, false);
    places_that_fail = 1;
    EXPECT_FALSE(told_.lose());
    ASSERT_TRUE(told_.has_charge());
    commit_word(*pool, 5, false);
    EXPECT_TRUE(told_.lose());
    EXPECT_FALSE(told_.has_charge());
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

TEST_F(ArmedOnFile, WhileTheSyncOfAGrowthFailsNoCommitPasses) {
    auto pool = make();
    ASSERT_TRUE(told_.lose());
    std::thread committing;
    std::atomic<bool> is_committed{false};
    when_one_fails = [&] {
        committing = std::thread([&] {
            const std::uint64_t payload[] = {format::run_tag(pool->size() - 8, 1), 4};
            is_committed = pool->groups()->wait(pool->groups()->append(payload, 2, false)).has_value();
        });
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    };
    syncs_that_fail = 1;
    EXPECT_FALSE(pool->grow(512 << 10));
    committing.join();
    when_one_fails = nullptr;
    EXPECT_FALSE(is_committed) << "the kernel has told the growth alone of a write that failed";
}

TEST_F(ArmedOnFile, ASnapshotDoesNotKeepThePoolFromBecomingDurable) {
    auto pool = make();
    commit_word(*pool, 4, false);
    snapshot_options slow;
    bool is_lost = false;
    slow.progress = [&](std::uint64_t, std::uint64_t) {
        if (is_lost) return;
        is_lost = told_.lose();
        EXPECT_EQ(pool->durability(), level::power);
        commit_word(*pool, 5, false);
    };
    ASSERT_TRUE(pool->snapshot(scratch_.file("copy"), slow));
    EXPECT_TRUE(is_lost);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

TEST_F(ArmedOnFile, WhereTheSyncOfAnOpeningFailsThePoolIsNotDurableAtTheNextOne) {
    auto pool = make();
    commit_word(*pool, 4, false);
    pool->abandon();
    syncs_that_fail = 1;
    EXPECT_EQ(code_of(open()), errc::io);
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(ArmedOnFile, WhereAGrowthCannotWriteItsLastSuperblockThePoolIsNotDurable) {
    auto pool = make();
    commit_word(*pool, 4, false);
    durable_writes_before_one_that_fails = 1;
    EXPECT_EQ(code_of(pool->grow(512 << 10)), errc::outcome_unknown);
    pool->abandon();
    EXPECT_EQ(found(), "not_durable");
    const auto generation = [&](unsigned copy) { return static_cast<int>(superblock_copy(path(), copy).generation); };
    EXPECT_EQ(std::abs(generation(0) - generation(1)), 1) << "what checks the pool takes others for torn";
}

}  // namespace
}  // namespace holdfast
