// What each trigger takes for a failure of the power. Devices that this machine may not have are pipes here, read by
// the same code.
#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <holdfast/powerfail/triggers.hpp>
#include <holdfast/powerfail/watcher.hpp>

#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/input.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

/// What comes next; waits for it.
news next(trigger& of) {
    pollfd readable{of.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, -1), 1);
    return of.read();
}

class PowerButton : public ::testing::Test {
protected:
    PowerButton() {
        EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
        button_ = power_button_at(ends_[0]);
    }
    ~PowerButton() override { hang_up(); }
    void hang_up() {
        if (ends_[1] >= 0) ::close(ends_[1]);
        ends_[1] = -1;
    }
    void send(unsigned short type, unsigned short code, int value) const {
        input_event each{};
        each.type = type;
        each.code = code;
        each.value = value;
        ASSERT_EQ(::write(ends_[1], &each, sizeof each), static_cast<ssize_t>(sizeof each));
    }

    int ends_[2] = {-1, -1};
    std::unique_ptr<trigger> button_;
};

TEST_F(PowerButton, ThatIsPressedIsAFailure) {
    EXPECT_EQ(button_->read(), news::nothing);
    send(EV_KEY, KEY_POWER, 1);
    send(EV_SYN, SYN_REPORT, 0);
    EXPECT_EQ(next(*button_), news::power_fails);
    EXPECT_EQ(button_->read(), news::nothing);
}

TEST_F(PowerButton, ThatIsReleasedAndOtherKeysAreNone) {
    send(EV_KEY, KEY_POWER, 0);
    send(EV_KEY, KEY_SLEEP, 1);
    send(EV_SW, KEY_POWER, 1);
    EXPECT_EQ(next(*button_), news::nothing);
}

TEST_F(PowerButton, ThatIsUnpluggedIsLost) {
    send(EV_KEY, KEY_POWER, 1);
    hang_up();
    EXPECT_EQ(next(*button_), news::power_fails) << "what it said before counts";
    EXPECT_EQ(next(*button_), news::lost);
}

TEST_F(PowerButton, IsNoFileAndNoDeviceWithoutSuchAKey) {
    const auto missing = power_button("/dev/input/no-such-event");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, errc::not_found);
    const auto other = power_button("/dev/null");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, errc::invalid_argument);
    EXPECT_NE(other.error().text().find("/dev/null"), std::string::npos) << other.error().text();
}

/// Lines whose carrier a test sets, by a pipe: '1' and '0', and its end.
class told_lines final : public modem_lines {
public:
    explicit told_lines(int from) : from_(from) {}
    ~told_lines() override { ::close(from_); }
    bool wait_for_change() override {
        char now = 0;
        if (::read(from_, &now, 1) != 1) return false;
        has_ = now == '1';
        return true;
    }
    bool has_carrier() override { return has_; }

private:
    int from_;
    std::atomic<bool> has_{true};
};

TEST(Carrier, ThatDropsIsAFailureAndOneThatReturnsIsItsEnd) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    auto opened = carrier_of(std::make_unique<told_lines>(ends[0]));
    ASSERT_TRUE(opened) << opened.error().text();
    trigger& of = **opened;
    EXPECT_EQ(of.read(), news::nothing);
    ASSERT_EQ(::write(ends[1], "0", 1), 1);
    EXPECT_EQ(next(of), news::power_fails);
    ASSERT_EQ(::write(ends[1], "1", 1), 1);
    EXPECT_EQ(next(of), news::power_is_back);
    ::close(ends[1]);
    EXPECT_EQ(next(of), news::lost);
}

TEST(Carrier, ThatReturnedUnseenDropsOnceMore) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    auto opened = carrier_of(std::make_unique<told_lines>(ends[0]));
    ASSERT_TRUE(opened) << opened.error().text();
    // Threads are stopped by the first alarm, this trigger's own as well, while the carrier returns.
    for (int alarm = 0; alarm < 2; ++alarm) {
        ASSERT_EQ(::write(ends[1], "0", 1), 1);
        EXPECT_EQ(next(**opened), news::power_fails);
    }
    ::close(ends[1]);
}

TEST(Carrier, ThatIsNotThereAtFirstIsRefused) {
    class dead_lines final : public modem_lines {
        bool wait_for_change() override { return false; }
        bool has_carrier() override { return false; }
    };
    const auto refused = carrier_of(std::make_unique<dead_lines>());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::level_unavailable);
}

/// A carrier that has changed, is there, and drops before anybody waits for that.
class hasty_lines final : public modem_lines {
public:
    explicit hasty_lines(std::atomic<bool>& ends) : ends_(ends) {}
    bool wait_for_change() override {
        if (!has_waited_.exchange(true)) return true;
        ends_.wait(false);
        return false;
    }
    bool has_carrier() override {
        // At the opening, before the wait and behind it.
        constexpr int looks_with_carrier = 3;
        return looks_.fetch_add(1) < looks_with_carrier;
    }

private:
    std::atomic<bool>& ends_;
    std::atomic<bool> has_waited_{false};
    std::atomic<int> looks_{0};
};

TEST(Carrier, ThatDropsBetweenTwoWaitsIsSeen) {
    // Of the thread, which lives on.
    static std::atomic<bool> ends{false};
    auto opened = carrier_of(std::make_unique<hasty_lines>(ends));
    ASSERT_TRUE(opened) << opened.error().text();
    news heard = next(**opened);
    // What was there before the drop may have been heard or not.
    if (heard == news::power_is_back || heard == news::nothing) heard = next(**opened);
    EXPECT_EQ(heard, news::power_fails);
    ends = true;
    ends.notify_all();
}

TEST(Carrier, OfALineWithoutModemLinesIsRefused) {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    ASSERT_EQ(::grantpt(terminal), 0);
    ASSERT_EQ(::unlockpt(terminal), 0);
    const auto refused = carrier(::ptsname(terminal));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
    EXPECT_NE(refused.error().text().find("modem lines"), std::string::npos) << refused.error().text();
    ::close(terminal);
    EXPECT_EQ(carrier("/dev/no-such-line").error().code, errc::not_found);
}

TEST(Watcher, WhoseDescriptorsTheProgramHasClosedHasLostItsTriggers) {
    // A daemon that closes all that it has inherited closes these, too. What opens next has the lowest free number.
    const int next_number = ::dup(STDERR_FILENO);
    ASSERT_GE(next_number, 0);
    ::close(next_number);
    std::atomic<int> losses{0};
    watcher its({}, false, {[](watcher::clock::time_point) {}, [&] { ++losses; }});
    ASSERT_EQ(::close(next_number), 0);
    ASSERT_TRUE(its.start());
    while (losses.load() == 0) std::this_thread::yield();
    EXPECT_TRUE(its.has_lost_trigger());
}

TEST(Watcher, ThatIsToEndAnswersAnAlarmThatWasToldBefore) {
    for (int i = 0; i < 200; ++i) {
        std::atomic<int> alarms{0};
        {
            watcher its({}, false, {[&](watcher::clock::time_point) { ++alarms; }, [] {}});
            ASSERT_TRUE(its.start());
            its.tell(news::power_fails);
        }
        ASSERT_EQ(alarms.load(), 1);
    }
}

TEST(Handler, ThatBeginsAgainAfterALossHearsWhoSaysThatThePowerFails) {
    const persist::test::scratch_directory scratch{"/dev/shm"};
    const std::string socket = scratch.file("powerd");
    const auto while_there_is_a_daemon = [&](auto f) {
        const auto daemon = power_daemon::open(socket, {}).value();
        std::thread running([&] { daemon->run([](const std::string&) {}); });
        f();
        daemon->stop();
        running.join();
    };
    process_handler_options options;
    options.hold_up = std::chrono::hours{1};
    options.share = 1;
    options.parks = false;
    options.daemon = socket;
    options.daemon_silence = std::chrono::hours{1};
    process_handler handler(options);
    charge taken;
    taken.path = scratch.file("pool");
    taken.pool_bytes = 4096;
    taken.lost = [&] {
        handler.disarm(taken);
        return true;
    };
    while_there_is_a_daemon([&] { EXPECT_TRUE(handler.arm_on_file(taken)) << handler.last_decline(); });
    std::atomic<bool> ends{false};
    std::vector<std::thread> telling;
    telling.emplace_back([&] { while (!ends) EXPECT_TRUE(handler.fail_power()); });
    telling.emplace_back([&] { while (!ends) handler.power_is_back(); });
    for (int i = 0; i < 200; ++i)
        while_there_is_a_daemon([&] {
            static_cast<void>(handler.arm_on_file(taken));
            handler.disarm(taken);
        });
    ends = true;
    for (auto& each : telling) each.join();
    EXPECT_GT(handler.last_alarm().number, 0u);
}

TEST(Watcher, ThatIsToEndStillWaitsUntilThePowerHasStayed) {
    constexpr std::chrono::milliseconds stays_after{100};
    std::atomic<bool> is_waiting{false};
    watcher::clock::duration waited{};
    {
        watcher* its = nullptr;
        watcher made({}, false, {[&](watcher::clock::time_point begun) {
                                     is_waiting = true;
                                     its->wait_for_power(stays_after);
                                     waited = watcher::clock::now() - begun;
                                 },
                                 [] {}});
        its = &made;
        ASSERT_TRUE(made.start());
        made.tell(news::power_fails);
        while (!is_waiting.load()) std::this_thread::yield();
    }
    EXPECT_GE(waited, stays_after);
}

}  // namespace
}  // namespace holdfast::powerfail
