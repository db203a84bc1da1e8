// The library's own handler: what it promises, what it declines, and what a kill finds wherever it strikes.
#include <holdfast/pool/armed_pool_test_support.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::alarm_report;
using powerfail::process_handler;
using powerfail::process_handler_options;

/// All the time of the world, and back at once.
process_handler_options patient() {
    process_handler_options options;
    options.hold_up = std::chrono::hours{1};
    options.share = 1;
    options.stays_after = std::chrono::milliseconds{0};
    return options;
}

class ProcessHandler : public armed_pool_test {
protected:
    void SetUp() override {
        if (persist::test::emulated()) GTEST_SKIP() << "an emulator's own threads cannot be stopped";
    }
    ~ProcessHandler() override {
        handler_.reset();
        powerfail::use_handler(nullptr);
    }
    process_handler& use(process_handler_options options = patient()) {
        if (!options.when_saved) options.when_saved = [this] { handler_->power_is_back(); };
        handler_.emplace(std::move(options));
        powerfail::use_handler(&*handler_);
        return *handler_;
    }
    /// Commits in a thread until this is destroyed.
    class committing {
    public:
        explicit committing(open_pool& pool) {
            thread_ = std::thread([this, &pool] {
                while (!ends_.load()) {
                    commit_word(pool, committed_.load() + 1);
                    committed_.fetch_add(1);
                }
            });
        }
        ~committing() {
            ends_ = true;
            thread_.join();
        }
        std::uint64_t committed() const { return committed_.load(); }
        void wait_for_more() const {
            const std::uint64_t wanted = committed() + 20;
            while (committed() < wanted) std::this_thread::yield();
        }

    private:
        std::atomic<bool> ends_{false};
        std::atomic<std::uint64_t> committed_{0};
        std::thread thread_;
    };


    std::optional<process_handler> handler_;
};

void wait_for(const std::function<bool()>& what) {
    while (!what()) std::this_thread::yield();
}

TEST_F(ProcessHandler, StopsSavesAndTakesBackInThisOrder) {
    process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    const auto failed = handler.fail_power();
    ASSERT_TRUE(failed) << failed.error().text();
    EXPECT_EQ(failed->number, 1u);
    EXPECT_EQ(failed->pools, 1u);
    EXPECT_TRUE(failed->is_stopped);
    EXPECT_GE(failed->threads, 2u) << "this one, and the one that gives up";
    EXPECT_GT(failed->parked.count(), 0);
    EXPECT_LE(failed->parked, failed->log_copied);
    EXPECT_LE(failed->log_copied, failed->written_back);
    EXPECT_LE(failed->written_back, failed->sealed);
    EXPECT_LE(failed->sealed, failed->resumed);
    EXPECT_LE(failed->resumed, failed->released);
    commit_word(*pool, 3);
    pool->abandon();
    EXPECT_EQ(found(), "3");
}

TEST_F(ProcessHandler, ASignalOfThePowerSupplyIsAnAlarm) {
    process_handler& handler = use();
    auto pool = make();
    const committing other(*pool);
    for (std::uint64_t alarm = 1; alarm <= 20; ++alarm) {
        other.wait_for_more();
        ASSERT_EQ(::kill(::getpid(), SIGPWR), 0);
        wait_for([&] { return handler.last_alarm().number >= alarm; });
        EXPECT_EQ(handler.last_alarm().pools, 1u);
    }
    other.wait_for_more();
}

TEST_F(ProcessHandler, WithoutPoolsASignalOfThePowerSupplyDoesNothing) {
    // What an earlier handler of this process has left.
    ::signal(SIGPWR, SIG_DFL);
    process_handler& handler = use();
    ASSERT_EQ(::kill(::getpid(), SIGPWR), 0);
    EXPECT_EQ(handler.last_alarm().number, 0u);
    EXPECT_EQ(code_of(handler_->fail_power()), errc::misuse);
    // Nor is it an alarm later. But the power may be failing.
    EXPECT_EQ(make()->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("the power is failing"), std::string::npos) << handler.last_decline();
    std::filesystem::remove(path());
    handler.power_is_back();
    auto pool = make();
    const auto alarm = handler.fail_power();
    ASSERT_TRUE(alarm) << alarm.error().text();
    EXPECT_EQ(alarm->number, 1u);
}

TEST_F(ProcessHandler, AlarmsThatFollowEachOtherAreAllAnswered) {
    process_handler& handler = use();
    auto pool = make();
    for (std::uint64_t alarm = 1; alarm <= 5000; ++alarm) {
        const auto answer = handler.fail_power();
        ASSERT_TRUE(answer) << answer.error().text();
        ASSERT_GE(answer->number, alarm);
    }
}

TEST_F(ProcessHandler, DeclinesWhatTakesLongerThanThePowerLastsAndSaysSo) {
    auto options = patient();
    options.hold_up = std::chrono::microseconds{1};
    options.parks = false;
    const process_handler& handler = use(options);
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("a save would take"), std::string::npos) << handler.last_decline();
    EXPECT_EQ(handler.pools(), 0u);
    commit_word(*pool, 4, false);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "4");
}

TEST_F(ProcessHandler, CountsAllPoolsTogether) {
    const process_handler& handler = use();
    auto first = make();
    const auto of_one = handler.budget();
    auto second = open_pool::create(scratch_.file("second"), redo_like, [] {
        auto options = small_nvram_pool(level::on_power_fail);
        options.base += std::uint64_t{1} << 31;
        return options;
    }());
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(handler.pools(), 2u);
    EXPECT_GT(handler.budget().copy_us + handler.budget().write_back_us, of_one.copy_us + of_one.write_back_us);
    ASSERT_TRUE((*second)->close());
    EXPECT_EQ(handler.budget().write_back_us, of_one.write_back_us);
}

TEST_F(ProcessHandler, APoolThatGrowsTooLargeGoesOnAtPower) {
    auto options = patient();
    options.hold_up = std::chrono::seconds{1};
    const process_handler& handler = use(options);
    // What a line takes is told, not measured: no machine is too slow for this.
    auto delayed = armed();
    delayed.delay_ns = 20'000;
    auto pool = make(delayed);
    if (pool->durability() != level::on_power_fail) GTEST_SKIP() << handler.last_decline();
    commit_word(*pool, 4);
    ASSERT_TRUE(pool->grow(4 << 20));
    wait_for([&] { return pool->durability() == level::power; });
    EXPECT_EQ(handler.pools(), 0u);
    commit_word(*pool, 5, false);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

/// A thread that cannot be stopped, as long as this lives.
class unstoppable_thread {
public:
    unstoppable_thread() {
        thread_ = std::thread([this] {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, nullptr);
            blocks_ = true;
            while (!ends_.load()) std::this_thread::yield();
        });
        wait_for([this] { return blocks_.load(); });
    }
    ~unstoppable_thread() {
        ends_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> blocks_{false};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

TEST_F(ProcessHandler, SealsNothingWhereAThreadCannotBeStoppedAndThePoolGoesOnAtPower) {
    auto options = patient();
    options.hold_up = std::chrono::seconds{1};
    process_handler& handler = use(options);
    auto pool = make();
    if (pool->durability() != level::on_power_fail) GTEST_SKIP() << handler.last_decline();
    commit_word(*pool, 4);
    const unstoppable_thread other;
    const auto failed = handler.fail_power();
    ASSERT_TRUE(failed) << failed.error().text();
    EXPECT_FALSE(failed->is_stopped);
    EXPECT_EQ(failed->pools, 0u);
    wait_for([&] { return pool->durability() == level::power; });
    commit_word(*pool, 5, false);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

TEST_F(ProcessHandler, DeclinesWhereAThreadCannotBeStopped) {
    const unstoppable_thread other;
    auto options = patient();
    options.hold_up = std::chrono::milliseconds{50};
    const process_handler& handler = use(options);
    const auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("cannot be stopped"), std::string::npos) << handler.last_decline();
}

TEST_F(ProcessHandler, DeclinesWhereASaveWouldBeTakenBackWhileThePowerFails) {
    auto options = patient();
    options.hold_up = std::chrono::milliseconds{50};
    options.stays_after = std::chrono::milliseconds{50};
    const process_handler& handler = use(options);
    const auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("stays_after"), std::string::npos) << handler.last_decline();
}

TEST_F(ProcessHandler, AForkedChildCanAskWhileTheParentHoldsTheHandlersLock) {
    process_handler* handler = nullptr;
    std::atomic<int> status{-1};
    auto options = patient();
    // The alarm holds it. A thread of the handler's own, which is not stopped, forks in the middle.
    options.when_saved = [&] {
        status = persist::test::run_in_child([&]() -> int {
            return handler->budget().sum_us() == 0 && handler->last_alarm().number == 0 && handler->pools() == 0 &&
                           handler->last_decline().empty()
                       ? 0
                       : 3;
        });
        handler->power_is_back();
    };
    handler = &use(options);
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler->last_decline();
    ASSERT_TRUE(handler->fail_power());
    EXPECT_TRUE(persist::test::exited_with(status.load(), 0)) << status.load();
    ASSERT_TRUE(pool->close());
}

TEST_F(ProcessHandler, AForkedChildBeginsWithoutPoolsAndArmsItsOwn) {
    process_handler& handler = use();
    auto pool = make();
    commit_word(*pool, 4);
    const std::string own = scratch_.file("child's");
    const int status = persist::test::run_in_child([&]() -> int {
        if (handler.pools() != 0 || handler.fail_power()) return 3;
        auto options = armed();
        options.base += std::uint64_t{1} << 31;
        auto made = open_pool::create(own, redo_like, options);
        if (!made || (*made)->durability() != level::on_power_fail) return 4;
        const auto failed = handler.fail_power();
        if (!failed || failed->pools != 1) return 5;
        return (*made)->close() ? 0 : 6;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 0)) << status;
    EXPECT_EQ(handler.pools(), 1u);
    EXPECT_EQ(handler.fail_power().value().pools, 1u);
    ASSERT_TRUE(pool->close());
}

/// Numbers that a child and its parent share.
class shared_counter {
public:
    shared_counter()
        : at_(static_cast<std::atomic<std::uint64_t>*>(
              ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    ~shared_counter() { ::munmap(static_cast<void*>(at_), 4096); }
    shared_counter(const shared_counter&) = delete;
    shared_counter& operator=(const shared_counter&) = delete;
    std::atomic<std::uint64_t>& operator*() const { return *at_; }

private:
    std::atomic<std::uint64_t>* at_;
};

TEST_F(ProcessHandler, AKillBetweenSealAndResumptionLosesNothingInThisBootOrAnother) {
    for (const bool restarts : {false, true}) {
        const int status = persist::test::run_in_child([&]() -> int {
            auto options = patient();
            options.when_saved = [] { ::kill(::getpid(), SIGKILL); };
            process_handler& handler = use(options);
            auto pool = make();
            commit_word(*pool, 5);
            commit_word(*pool, 6, false);
            static_cast<void>(handler.fail_power());
            return 1;
        });
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        if (restarts) begin_next_boot();
        EXPECT_EQ(found(), "6") << restarts;
        stand_ins_now.boot_id = "monday";
        std::filesystem::remove(path());
    }
}

TEST_F(ProcessHandler, AKillAtAnyMomentOfAlarmsLosesNothingAcknowledged) {
    std::mt19937_64 random(seed_of_run());
    const int rounds = at_full_length() ? 500 : 40;
    for (int round = 0; round < rounds; ++round) {
        const shared_counter acknowledged, alarms;
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto options = patient();
            options.when_saved = [&] { handler_->power_is_back(); };
            process_handler& handler = use(options);
            auto pool = make();
            const committing other(*pool);
            for (;;) {
                if (!handler.fail_power()) ::_exit(1);
                (*alarms).fetch_add(1);
                (*acknowledged).store(other.committed());
            }
        }
        wait_for([&] { return (*alarms).load() > random() % 8; });
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 300});
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        const std::uint64_t at_least = (*acknowledged).load();
        const std::string now = found();
        ASSERT_TRUE(now.find_first_not_of("0123456789") == std::string::npos) << now;
        EXPECT_GE(std::stoull(now), at_least);
        std::filesystem::remove(path());
    }
}

}  // namespace
}  // namespace holdfast
