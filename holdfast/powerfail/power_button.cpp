#include <holdfast/powerfail/owned_descriptor.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <holdfast/persist/system_error.hpp>

#include <cerrno>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <linux/input.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

class button_trigger final : public trigger {
public:
    explicit button_trigger(owned_descriptor events) : events_(std::move(events)) {}
    int descriptor() const noexcept override { return events_.number(); }
    news read() noexcept override {
        for (news heard = news::nothing;;) {
            input_event each{};
            const ssize_t bytes = ::read(events_.number(), &each, sizeof each);
            if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return heard;
            if (bytes != static_cast<ssize_t>(sizeof each)) return heard == news::nothing ? news::lost : heard;
            if (each.type == EV_KEY && each.code == KEY_POWER && each.value == 1) heard = news::power_fails;
        }
    }

private:
    owned_descriptor events_;
};

bool has_power_key(int device) noexcept {
    unsigned char keys[KEY_MAX / CHAR_BIT + 1] = {};
    if (::ioctl(device, EVIOCGBIT(EV_KEY, sizeof keys), keys) < 0) return false;
    return (keys[KEY_POWER / CHAR_BIT] >> KEY_POWER % CHAR_BIT & 1) != 0;
}

}  // namespace

std::unique_ptr<trigger> power_button_at(int events) {
    ::fcntl(events, F_SETFL, ::fcntl(events, F_GETFL) | O_NONBLOCK);
    return std::make_unique<button_trigger>(owned_descriptor(events));
}

result<std::unique_ptr<trigger>> power_button(const std::string& device) {
    owned_descriptor events(::open(device.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!events) return persist::detail::system_error("open", device, errno);
    if (!has_power_key(events.number()))
        return error{.code = errc::invalid_argument,
                     .what = "the device has no power key",
                     .path = device,
                     .expected = "an input device, as /proc/bus/input/devices lists them",
                     .remedy = "the one of the ACPI power button is named \"Power Button\" there"};
    return std::unique_ptr<trigger>(std::make_unique<button_trigger>(std::move(events)));
}

}  // namespace holdfast::powerfail
