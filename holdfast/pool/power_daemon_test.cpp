// Processes that the power daemon tells, and what becomes of them without it.
#include <holdfast/base/test_sanitizer.hpp>
#include <holdfast/pool/armed_pool_test_support.hpp>

#include <holdfast/powerfail/daemon_protocol.hpp>
#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace {
std::atomic<bool> no_thread_starts{false};
}  // namespace

#ifndef HOLDFAST_TEST_SANITIZES_THREADS
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*runs)(void*), void* with) {
    static const auto next = reinterpret_cast<decltype(&::pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return no_thread_starts ? EAGAIN : next(thread, how, runs, with);
}
#endif

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::notice;
using powerfail::notify_daemon;
using powerfail::power_daemon;
using powerfail::process_handler;

void wait_for(const std::function<bool()>& what) {
    while (!what()) std::this_thread::yield();
}

class PowerDaemon : public armed_pool_test {
protected:
    void SetUp() override {
        if (persist::test::emulated()) GTEST_SKIP() << "an emulator's own threads cannot be stopped";
    }
    ~PowerDaemon() override {
        handler_.reset();
        powerfail::use_handler(nullptr);
        end_daemon(SIGKILL);
    }
    std::string socket() const { return scratch_.file("powerd"); }

    /// `button`: a pipe of input events, both ends; nullptr: the daemon has no trigger.
    void begin_daemon(const int* button = nullptr) {
        daemon_ = ::fork();
        ASSERT_GE(daemon_, 0);
        if (daemon_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::vector<std::unique_ptr<powerfail::trigger>> triggers;
            if (button != nullptr) {
                ::close(button[1]);
                triggers.push_back(powerfail::power_button_at(button[0]));
            }
            auto opened = power_daemon::open(socket(), std::move(triggers));
            if (opened) (*opened)->run([](const std::string&) {});
            ::_exit(1);
        }
        // Somebody must listen.
        wait_for([&] { return notify_daemon(socket(), notice::back).has_value(); });
    }
    void end_daemon(int signal) {
        if (daemon_ <= 0) return;
        ::kill(daemon_, signal);
        ::waitpid(std::exchange(daemon_, 0), nullptr, 0);
    }
    /// Returns when the pool is asked to fall back, and cannot as long as `is_short`.
    void lose_daemon_while_memory_is_short(open_pool& pool, const std::atomic<bool>& is_short) {
        static std::atomic<int> tries;
        tries = 0;
        pool.on_fall_back([&is_short] {
            ++tries;
            if (is_short.load()) throw std::bad_alloc();
        });
        end_daemon(SIGKILL);
        wait_for([] { return tries.load() != 0; });
    }
    powerfail::process_handler_options patient() const {
        powerfail::process_handler_options options;
        options.hold_up = std::chrono::hours{1};
        options.share = 1;
        options.stays_after = std::chrono::milliseconds{0};
        options.daemon = socket();
        options.daemon_silence = std::chrono::hours{1};
        return options;
    }
    process_handler& use(std::chrono::milliseconds silence = std::chrono::hours{1}) {
        powerfail::process_handler_options options = patient();
        options.daemon_silence = silence;
        return use(options);
    }
    process_handler& use(const powerfail::process_handler_options& options) {
        handler_.emplace(options);
        powerfail::use_handler(&*handler_);
        return *handler_;
    }
    /// The pool is at `power` soon, and what is acknowledged then survives the power.
    void expect_fall_back(open_pool& pool) {
        wait_for([&] { return pool.durability() == level::power; });
        commit_word(pool, 9, false);
        pool.abandon();
        begin_next_boot();
        EXPECT_EQ(found(), "9");
    }

    pid_t daemon_ = 0;
    std::optional<process_handler> handler_;
};

TEST_F(PowerDaemon, TellsAProcessThatThePowerFailsAndThatItIsBack) {
    begin_daemon();
    process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    const int status = persist::test::run_in_child([&]() -> int {
        // This process is stopped meanwhile, until it is told that the power is back.
        const auto failing = notify_daemon(socket(), notice::fails);
        const auto back = notify_daemon(socket(), notice::back);
        return failing && *failing == 1 && back && *back == 1 ? 0 : 1;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 0)) << status;
    wait_for([&] { return handler.last_alarm().number == 1; });
    EXPECT_EQ(handler.last_alarm().pools, 1u);
    EXPECT_EQ(pool->durability(), level::on_power_fail);
    ASSERT_TRUE(pool->close());
}

TEST_F(PowerDaemon, TellsAProcessThatComesDuringAFailure) {
    begin_daemon();
    EXPECT_EQ(notify_daemon(socket(), notice::fails).value(), 0u);
    auto options = patient();
    options.when_saved = [this] { handler_->power_is_back(); };
    process_handler& handler = use(options);
    auto pool = make();
    wait_for([&] { return handler.last_alarm().number == 1; });
    // It was saved, or not armed in the first place: that depends on what came first.
    const bool is_armed = pool->durability() == level::on_power_fail;
    EXPECT_EQ(handler.last_alarm().pools, is_armed ? 1u : 0u);
    if (!is_armed) {
        EXPECT_NE(handler.last_decline().find("the power is failing"), std::string::npos) << handler.last_decline();
    }
    ASSERT_TRUE(pool->close());
}

TEST_F(PowerDaemon, ThatIsKilledLeavesPoolsAtPowerAndNothingIsLost) {
    begin_daemon();
    const process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    for (std::uint64_t value = 1; value <= 5; ++value) commit_word(*pool, value);
    end_daemon(SIGKILL);
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatFallsSilentLeavesPoolsAtPowerThoughItIsThere) {
    begin_daemon();
    use(std::chrono::milliseconds{75});
    auto pool = make();
    commit_word(*pool, 5);
    ASSERT_EQ(::kill(daemon_, SIGSTOP), 0);
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatCannotTellAProcessEndsTheConnection) {
    begin_daemon();
    process_handler& handler = use();
    // It is connected, and reads nothing so far.
    ASSERT_TRUE(handler.ready());
    for (int notices = 0; notices < 10'000 && notify_daemon(socket(), notice::back).value() != 0;) ++notices;
    EXPECT_EQ(notify_daemon(socket(), notice::later).value(), 0u);
    auto pool = make();
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatIsGoneLeavesPoolsAtPowerThoughAnotherPoolIsOpenedMeanwhile) {
    begin_daemon();
    const process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    commit_word(*pool, 5);
    std::atomic<bool> is_short{true};
    lose_daemon_while_memory_is_short(*pool, is_short);
    auto options = small_nvram_pool(level::on_power_fail);
    options.base += std::uint64_t{1} << 31;
    auto other = open_pool::create(scratch_.file("other"), redo_like, options);
    ASSERT_TRUE(other) << other.error().text();
    EXPECT_EQ((*other)->durability(), level::power);
    is_short = false;
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatIsGoneLeavesPoolsAtPowerThoughNoThreadCanBeStartedToHearTheNextOne) {
#ifdef HOLDFAST_TEST_SANITIZES_THREADS
    GTEST_SKIP() << "a sanitizer has pthread_create for itself";
#endif
    begin_daemon();
    const process_handler& handler = use();
    auto pool = make();
    ASSERT_EQ(pool->durability(), level::on_power_fail) << handler.last_decline();
    commit_word(*pool, 5);
    std::atomic<bool> is_short{true};
    lose_daemon_while_memory_is_short(*pool, is_short);
    begin_daemon();
    no_thread_starts = true;
    auto options = small_nvram_pool(level::on_power_fail);
    options.base += std::uint64_t{1} << 31;
    auto other = open_pool::create(scratch_.file("other"), redo_like, options);
    no_thread_starts = false;
    ASSERT_TRUE(other) << other.error().text();
    EXPECT_EQ((*other)->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("no thread"), std::string::npos) << handler.last_decline();
    is_short = false;
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatSaysThatThePowerFailsOnlyLaterLeavesPoolsAtPower) {
    begin_daemon();
    use();
    auto pool = make();
    commit_word(*pool, 5);
    EXPECT_EQ(notify_daemon(socket(), notice::later).value(), 1u);
    expect_fall_back(*pool);
}

TEST_F(PowerDaemon, ThatHasSaidThatThePowerFailsLaterArmsNoPoolUntilItIsBack) {
    begin_daemon();
    process_handler& handler = use();
    EXPECT_EQ(notify_daemon(socket(), notice::later).value(), 0u);
    auto during = make();
    EXPECT_EQ(during->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("coming power failure"), std::string::npos) << handler.last_decline();
    ASSERT_TRUE(during->close());
    std::filesystem::remove(path());
    EXPECT_EQ(notify_daemon(socket(), notice::back).value(), 0u);
    EXPECT_EQ(make()->durability(), level::on_power_fail) << handler.last_decline();
}

TEST_F(PowerDaemon, ThatHasLostATriggerArmsNoPool) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    begin_daemon(ends);
    ::close(ends[0]);
    process_handler& handler = use();
    auto before = make();
    ASSERT_EQ(before->durability(), level::on_power_fail) << handler.last_decline();
    ::close(ends[1]);
    wait_for([&] { return before->durability() == level::power; });
    ASSERT_TRUE(before->close());
    std::filesystem::remove(path());
    // Nor does a notice that the power is back bring the trigger back.
    ASSERT_TRUE(notify_daemon(socket(), notice::back));
    EXPECT_EQ(make()->durability(), level::power);
}

TEST_F(PowerDaemon, ThatIsThereAgainArmsTheNextPool) {
    begin_daemon();
    process_handler& handler = use();
    auto first = make();
    end_daemon(SIGKILL);
    wait_for([&] { return first->durability() == level::power; });
    ASSERT_TRUE(first->close());
    std::filesystem::remove(path());
    auto second = make();
    EXPECT_EQ(second->durability(), level::power);
    EXPECT_NE(handler.last_decline().find("no power daemon answers"), std::string::npos) << handler.last_decline();
    ASSERT_TRUE(second->close());
    std::filesystem::remove(path());
    begin_daemon();
    auto third = make();
    EXPECT_EQ(third->durability(), level::on_power_fail) << handler.last_decline();
    EXPECT_TRUE(handler.ready());
}

TEST_F(PowerDaemon, ThatIsMissingIsNamedAndPoolsAreAtPower) {
    const process_handler& handler = use();
    const auto ready = handler.ready();
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code, errc::not_found);
    EXPECT_NE(ready.error().text().find(socket()), std::string::npos) << ready.error().text();
    EXPECT_EQ(make()->durability(), level::power);
}

TEST_F(PowerDaemon, TakesTheNameOfOneThatIsGoneAndOfNothingElse) {
    begin_daemon();
    EXPECT_EQ(code_of(power_daemon::open(socket(), {})), errc::already_exists);
    end_daemon(SIGKILL);
    ASSERT_TRUE(std::filesystem::exists(socket()));
    EXPECT_TRUE(power_daemon::open(socket(), {}).has_value());
    const std::string other = scratch_.file("text");
    write_bytes(other, 0, "text", 4);
    EXPECT_EQ(code_of(power_daemon::open(other, {})), errc::already_exists);
    EXPECT_EQ(code_of(power_daemon::open(std::string(200, 'a'), {})), errc::invalid_argument);
}

TEST_F(PowerDaemon, ThatIsAnotherServerIsNotTakenForOne) {
    sockaddr_un address;
    ASSERT_TRUE(powerfail::daemon_protocol::set_address(address, socket()));
    const int other = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(other, 1), 0);
    std::thread serving([&] {
        const int taken = ::accept(other, nullptr, nullptr);
        EXPECT_EQ(::send(taken, "hello", 5, MSG_NOSIGNAL), 5);
        ::close(taken);
    });
    const auto refused = notify_daemon(socket(), notice::back);
    serving.join();
    ::close(other);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("is not a power daemon"), std::string::npos);
}

}  // namespace
}  // namespace holdfast
