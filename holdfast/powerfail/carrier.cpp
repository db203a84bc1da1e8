#include <holdfast/powerfail/owned_descriptor.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/persist/system_error.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

/// What the thread and the trigger share. The thread may outlive the trigger: nothing interrupts its wait for good.
struct shared_lines {
    std::unique_ptr<modem_lines> lines;
    owned_descriptor changed;
    std::atomic<news> last{news::nothing};
    std::atomic<bool> is_over{false};
};

void say(shared_lines& of, news what) noexcept {
    of.last.store(what, std::memory_order_release);
    const std::uint64_t one = 1;
    static_cast<void>(!::write(of.changed.number(), &one, sizeof one));
}

void watch_lines(shared_lines& of) {
    bool had_carrier = true;
    while (!of.is_over.load(std::memory_order_acquire)) {
        bool has_carrier = of.lines->has_carrier();
        // A change since the last look would not end the wait.
        if (has_carrier == had_carrier) {
            if (!of.lines->wait_for_change()) return say(of, news::lost);
            has_carrier = of.lines->has_carrier();
        }
        // Whatever it was before: while this thread is stopped changes go unseen, and a carrier that returned then
        // drops once more.
        say(of, has_carrier ? news::power_is_back : news::power_fails);
        had_carrier = has_carrier;
    }
}

class carrier_trigger final : public trigger {
public:
    explicit carrier_trigger(std::shared_ptr<shared_lines> shared) : shared_(std::move(shared)) {}
    ~carrier_trigger() override { shared_->is_over.store(true, std::memory_order_release); }
    int descriptor() const noexcept override { return shared_->changed.number(); }
    news read() noexcept override {
        std::uint64_t ignored = 0;
        static_cast<void>(!::read(shared_->changed.number(), &ignored, sizeof ignored));
        return shared_->last.exchange(news::nothing, std::memory_order_acq_rel);
    }

private:
    std::shared_ptr<shared_lines> shared_;
};

class serial_lines final : public modem_lines {
public:
    explicit serial_lines(owned_descriptor line) : line_(std::move(line)) {}
    bool wait_for_change() override {
        for (;;) {
            if (::ioctl(line_.number(), TIOCMIWAIT, TIOCM_CAR) == 0) return true;
            if (errno != EINTR) return false;
        }
    }
    bool has_carrier() override {
        int lines = 0;
        return ::ioctl(line_.number(), TIOCMGET, &lines) == 0 && (lines & TIOCM_CAR) != 0;
    }

private:
    owned_descriptor line_;
};

}  // namespace

result<std::unique_ptr<trigger>> carrier_of(std::unique_ptr<modem_lines> lines) {
    if (!lines->has_carrier())
        return error{.code = errc::level_unavailable,
                     .what = "the line has no carrier, so the power fails, or nothing is connected",
                     .expected = "a carrier, which drops when the power fails"};
    auto shared = std::make_shared<shared_lines>();
    shared->lines = std::move(lines);
    shared->changed = owned_descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared->changed) return persist::detail::system_error("eventfd", "", errno);
    std::thread watching = start_without_signals([shared] { watch_lines(*shared); });
    if (!watching.joinable()) return error{.code = errc::io, .what = "no thread could be started"};
    watching.detach();
    return std::unique_ptr<trigger>(std::make_unique<carrier_trigger>(std::move(shared)));
}

result<std::unique_ptr<trigger>> carrier(const std::string& line) {
    // Without waiting for a carrier, which may not be there.
    owned_descriptor opened(::open(line.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!opened) return persist::detail::system_error("open", line, errno);
    int lines = 0;
    if (::ioctl(opened.number(), TIOCMGET, &lines) != 0)
        return error{.code = errc::invalid_argument,
                     .what = "the device has no modem lines",
                     .path = line,
                     .expected = "a serial line, such as /dev/ttyS0"};
    auto made = carrier_of(std::make_unique<serial_lines>(std::move(opened)));
    if (made) return made;
    error reason = made.error();
    reason.path = line;
    return reason;
}

}  // namespace holdfast::powerfail
