// Pools on ordinary files, and the library's own handler.
#include <holdfast/pool/armed_on_file_test_support.hpp>

#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/process_handler.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::process_handler;

class ArmedOnFileByProcess : public armed_on_file_test {
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
    static powerfail::process_handler_options told_by(const std::string& socket) {
        auto options = patient();
        options.daemon = socket;
        options.daemon_silence = std::chrono::hours{1};
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

TEST_F(ArmedOnFileByProcess, ALargerPoolIsPlannedToTakeLonger) {
    process_handler& handler = use();
    powerfail::charge small, large;
    small.path = large.path = path();
    small.pool_bytes = 4096;
    large.pool_bytes = std::uint64_t{1} << 42;
    ASSERT_TRUE(handler.arm_on_file(small)) << handler.last_decline();
    const std::uint64_t of_small = handler.budget().write_back_us;
    ASSERT_TRUE(handler.arm_on_file(large)) << handler.last_decline();
    EXPECT_GT(handler.budget().write_back_us - of_small, 10'000u) << "a million times what was measured";
    handler.disarm(small);
    handler.disarm(large);
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

/// The daemon, in a process of its own, which is listening.
pid_t begin_daemon(const std::string& socket) {
    const pid_t daemon = ::fork();
    EXPECT_GE(daemon, 0);
    if (daemon == 0) {
        auto opened = powerfail::power_daemon::open(socket, {});
        if (opened) (*opened)->run([](const std::string&) {});
        ::_exit(1);
    }
    wait_for([&] { return powerfail::notify_daemon(socket, powerfail::notice::back).has_value(); });
    return daemon;
}

void end_daemon(pid_t daemon) {
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
}

TEST_F(ArmedOnFileByProcess, ADaemonThatSaysThatThePowerIsBackHasPoolsArmedAgain) {
    const std::string socket = scratch_.file("powerd");
    const pid_t daemon = begin_daemon(socket);
    const process_handler& handler = use(told_by(socket));
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    EXPECT_EQ(powerfail::notify_daemon(socket, powerfail::notice::fails).value(), 1u);
    wait_for([&] { return pool->durability() == level::power; });
    ASSERT_TRUE(pool->close());
    EXPECT_EQ((*open(options_at(level::on_power_fail)))->durability(), level::power);
    EXPECT_EQ(powerfail::notify_daemon(socket, powerfail::notice::back).value(), 1u);
    wait_for([&] { return (*open(options_at(level::on_power_fail)))->durability() == level::on_power_fail; });
    end_daemon(daemon);
}

TEST_F(ArmedOnFileByProcess, APoolIsNotGivenBackWhileTheHandlerLosesIt) {
    process_handler& handler = use();
    std::atomic<bool> is_losing{false}, may_end{false}, is_given_back{false};
    powerfail::charge taken;
    taken.path = path();
    taken.pool_bytes = 4096;
    taken.lost = [&] {
        is_losing = true;
        wait_for([&] { return may_end.load(); });
        return true;
    };
    ASSERT_TRUE(handler.arm_on_file(taken)) << handler.last_decline();
    std::thread losing([&] { static_cast<void>(handler.give_up()); });
    wait_for([&] { return is_losing.load(); });
    std::thread giving_back([&] {
        handler.disarm(taken);
        is_given_back = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_FALSE(is_given_back) << "what the call uses would be gone";
    may_end = true;
    losing.join();
    giving_back.join();
}

TEST_F(ArmedOnFileByProcess, ADaemonThatSaysThatThePowerFailsOnlyLaterOrIsKilledBringsPoolsToPower) {
    const std::string socket = scratch_.file("powerd");
    for (const bool is_killed : {false, true}) {
        const pid_t daemon = begin_daemon(socket);
        const process_handler& handler = use(told_by(socket));
        auto pool = make();
        EXPECT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
        commit_word(*pool, 5, false);
        if (is_killed) ::kill(daemon, SIGKILL);
        else EXPECT_EQ(powerfail::notify_daemon(socket, powerfail::notice::later).value(), 1u);
        expect_power_and_nothing_lost(*pool, 5);
        end_daemon(daemon);
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

TEST_F(ArmedOnFileByProcess, AChildWritesNothingWhereItsParentsHandlerHadWhatWakesIt) {
    process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    // Of the child, which closes what it has inherited, and opens files of its own.
    const std::string other = scratch_.file("other");
    const int status = persist::test::run_in_child([&]() -> int {
        const int own = ::open(other.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        for (int each = 3; each < 100; ++each)
            if (each != own && ::fcntl(each, F_GETFD) >= 0) ::dup2(own, each);
        ::raise(SIGPWR);
        handler.power_is_back();
        return 0;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 0)) << status;
    EXPECT_EQ(std::filesystem::file_size(other), 0u);
}

TEST_F(ArmedOnFileByProcess, ThreadsOfAChildArmItsFirstPoolsAtOnce) {
    process_handler& handler = use();
    auto pool = make();
    for (int round = 0; round < 100; ++round) {
        const int status = persist::test::run_in_child([&]() -> int {
            // Where each begins what it has inherited, one waits for a lock that is not there any more.
            ::alarm(60);
            std::atomic<int> ready{0}, armed{0};
            powerfail::charge taken[2];
            const auto arm = [&](powerfail::charge& one) {
                one.path = scratch_.file("own");
                one.pool_bytes = 4096;
                ++ready;
                while (ready != 2) {
                }
                if (handler.arm_on_file(one)) ++armed;
            };
            std::thread other([&] { arm(taken[1]); });
            arm(taken[0]);
            other.join();
            const bool are_there = armed == 2 && handler.pools() == 2;
            for (auto& each : taken) handler.disarm(each);
            return are_there ? 0 : 1;
        });
        ASSERT_TRUE(persist::test::exited_with(status, 0)) << status;
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
