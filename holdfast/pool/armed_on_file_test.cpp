// Pools on ordinary files at `on_power_fail`: what a commit costs, what a kill and a power failure leave, and how they
// go on at `power`.
#include <holdfast/pool/pool_test_support.hpp>

#include <holdfast/powerfail/module_handler.hpp>
#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/process_handler.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
/// So many syncs fail from now on.
std::atomic<int> syncs_that_fail{0};
/// Called in the middle of one that fails.
std::function<void()> when_one_fails;
}  // namespace

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
using powerfail::process_handler;

/// Takes every pool, and says when its power fails.
class told_handler final : public powerfail::handler {
public:
    bool arm(powerfail::charge&) override { return false; }
    bool arm_on_file(powerfail::charge& taken) override {
        taken_ = &taken;
        return true;
    }
    void disarm(powerfail::charge&) noexcept override { taken_ = nullptr; }
    bool has_charge() const noexcept { return taken_ != nullptr; }
    bool lose() { return taken_->lost(); }

private:
    powerfail::charge* taken_ = nullptr;
};

void wait_for(const std::function<bool()>& what) {
    while (!what()) std::this_thread::yield();
}

class ArmedOnFile : public ::testing::Test {
protected:
    ArmedOnFile() { powerfail::use_handler(&told_); }
    ~ArmedOnFile() override { powerfail::use_handler(nullptr); }

    std::string path() const { return scratch_.file("pool"); }
    static create_options options_at(level durability, std::uint64_t order = 0) {
        auto options = small_pool(durability, order);
        options.where.tmpfs_is_file = true;
        return options;
    }
    pool_pointer make(const std::string& name = "pool", std::uint64_t order = 0) const {
        return open_pool::create(scratch_.file(name), redo_like, options_at(level::on_power_fail, order)).value();
    }
    result<pool_pointer> open(const open_options& options = options_at(level::power)) const {
        return open_pool::open(path(), redo_like, options);
    }
    /// What an opening finds in the last word, or why there is none.
    std::string found(const open_options& options = options_at(level::power)) const {
        auto pool = open(options);
        return pool ? std::to_string(*last_word(**pool)) : std::string(name_of(pool.error().code));
    }
    static void begin_next_boot(const char* name = "tuesday") { stand_ins_now.boot_id = name; }
    static std::uint64_t syncs() { return persist::thread_counters().syncs; }

    scratch_directory scratch_{"/dev/shm"};
    boot_named boot_{"monday"};
    told_handler told_;
};

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

class ArmedOnFileByProcess : public ArmedOnFile {
protected:
    ~ArmedOnFileByProcess() override {
        handler_.reset();
        powerfail::use_handler(nullptr);
    }
    process_handler& use(powerfail::process_handler_options options = patient()) {
        handler_.emplace(std::move(options));
        powerfail::use_handler(&*handler_);
        return *handler_;
    }
    static powerfail::process_handler_options patient() {
        powerfail::process_handler_options options;
        options.hold_up = std::chrono::hours{1};
        options.share = 1;
        options.parks = false;
        return options;
    }
    void expect_power_and_nothing_lost(open_pool& pool, std::uint64_t value) const {
        wait_for([&] { return pool.durability() == level::power; });
        pool.abandon();
        begin_next_boot();
        EXPECT_EQ(found(), std::to_string(value));
    }

    std::optional<process_handler> handler_;
};

TEST_F(ArmedOnFileByProcess, ASignalOfThePowerSupplyBringsThePoolToPower) {
    const process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    commit_word(*pool, 5, false);
    ASSERT_EQ(::kill(::getpid(), SIGPWR), 0);
    wait_for([&] { return handler.last_alarm().number == 1; });
    EXPECT_EQ(handler.last_alarm().at_power, 1u);
    EXPECT_EQ(handler.last_alarm().pools, 0u);
    expect_power_and_nothing_lost(*pool, 5);
}

TEST_F(ArmedOnFileByProcess, CommitsOfThreadsGoOnWhileThePowerFailsAndThePoolIsArmedAgainWhenItIsReopened) {
    process_handler& handler = use();
    auto pool = make();
    std::atomic<bool> ends{false};
    std::atomic<std::uint64_t> committed{0};
    std::thread committing([&] {
        while (!ends) {
            commit_word(*pool, committed + 1);
            ++committed;
        }
    });
    wait_for([&] { return committed > 20; });
    ASSERT_TRUE(handler.fail_power());
    wait_for([&] { return pool->durability() == level::power; });
    const std::uint64_t before = committed;
    wait_for([&] { return committed > before + 20; });
    ends = true;
    committing.join();
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), std::to_string(committed.load()));
    EXPECT_EQ((*open(options_at(level::on_power_fail)))->durability(), level::power) << "it may be failing still";
    handler.power_is_back();
    // Once the handler has done with those that were lost.
    wait_for([&] { return (*open(options_at(level::on_power_fail)))->durability() == level::on_power_fail; });
}

TEST_F(ArmedOnFileByProcess, DeclinesWhatTakesLongerToSyncThanThePowerLasts) {
    auto options = patient();
    options.hold_up = std::chrono::microseconds{1};
    const process_handler& handler = use(options);
    EXPECT_EQ(make()->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("a save would take"), std::string::npos) << handler.last_decline();
}

TEST_F(ArmedOnFileByProcess, AHandlerHasPoolsOfOneKind) {
    auto options = patient();
    options.stays_after = std::chrono::milliseconds{0};
    const process_handler& handler = use(options);
    auto on_file = make();
    const std::string other = scratch_.file("nvram");
    auto nvram = small_nvram_pool(level::on_power_fail);
    nvram.base += std::uint64_t{1} << 31;
    {
        auto made = open_pool::create(other, redo_like, nvram);
        ASSERT_TRUE(made) << made.error().text();
        EXPECT_EQ((*made)->durability(), level::power);
        EXPECT_NE(handler.last_decline().find("ordinary files"), std::string::npos) << handler.last_decline();
    }
    ASSERT_TRUE(on_file->close());
    auto opened = open_pool::open(other, redo_like, nvram);
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->durability(), level::on_power_fail) << handler.last_decline();
    EXPECT_EQ(make("second", 2)->durability(), level::power);
}

TEST_F(ArmedOnFileByProcess, ADaemonThatSaysThatThePowerFailsOnlyLaterOrIsKilledBringsPoolsToPower) {
    const std::string socket = scratch_.file("powerd");
    for (const bool is_killed : {false, true}) {
        const pid_t daemon = ::fork();
        ASSERT_GE(daemon, 0);
        if (daemon == 0) {
            auto opened = powerfail::power_daemon::open(socket, {});
            if (opened) (*opened)->run([](const std::string&) {});
            ::_exit(1);
        }
        wait_for([&] { return powerfail::notify_daemon(socket, powerfail::notice::back).has_value(); });
        auto options = patient();
        options.daemon = socket;
        options.daemon_silence = std::chrono::hours{1};
        const process_handler& handler = use(options);
        auto pool = make();
        EXPECT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
        commit_word(*pool, 5, false);
        if (is_killed) ::kill(daemon, SIGKILL);
        else EXPECT_EQ(powerfail::notify_daemon(socket, powerfail::notice::later).value(), 1u);
        expect_power_and_nothing_lost(*pool, 5);
        ::kill(daemon, SIGKILL);
        ::waitpid(daemon, nullptr, 0);
        begin_next_boot("monday");
        std::filesystem::remove(path());
    }
}

TEST_F(ArmedOnFileByProcess, AHandlerThatLosesThePoolWhileTheProgramLetsItFallBackWaitsForNothing) {
    for (int round = 0; round < 200; ++round) {
        process_handler& handler = use();
        auto pool = make();
        ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
        std::thread program([&] { static_cast<void>(pool->fall_back()); });
        static_cast<void>(handler.give_up());
        program.join();
        EXPECT_EQ(pool->durability(), level::power);
        pool->abandon();
        std::filesystem::remove(path());
    }
}

TEST_F(ArmedOnFileByProcess, AKilledProcessLosesNothing) {
    for (int round = 0; round < 10; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(ends[0]);
            powerfail::use_handler(&told_);
            auto pool = make();
            for (std::uint64_t value = 1;; ++value) {
                commit_word(*pool, value, value % 2 == 0);
                if (value % 16 == 0 && !pool->checkpoint()) ::_exit(1);
                if (::write(ends[1], &value, sizeof value) != sizeof value) ::_exit(1);
            }
        }
        ::close(ends[1]);
        std::uint64_t acknowledged = 0, next = 0;
        const std::uint64_t until = 50 + 37 * static_cast<std::uint64_t>(round);
        while (acknowledged < until && ::read(ends[0], &next, sizeof next) == sizeof next) acknowledged = next;
        ::kill(child, SIGKILL);
        while (::read(ends[0], &next, sizeof next) == sizeof next) acknowledged = next;
        ::waitpid(child, nullptr, 0);
        ::close(ends[0]);
        powerfail::use_handler(&told_);
        const std::string there = found();
        EXPECT_TRUE(there == std::to_string(acknowledged) || there == std::to_string(acknowledged + 1))
            << there << " of " << acknowledged;
        std::filesystem::remove(path());
    }
}

}  // namespace
}  // namespace holdfast
