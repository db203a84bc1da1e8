#include <holdfast/powerfail/daemon_protocol.hpp>
#include <holdfast/powerfail/owned_descriptor.hpp>
#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <holdfast/persist/system_error.hpp>

#include <cerrno>
#include <utility>

#include <poll.h>

namespace holdfast::powerfail {
namespace {

using namespace daemon_protocol;
constexpr int answer_ms = 2000;

class link_trigger final : public trigger {
public:
    link_trigger(owned_descriptor socket, std::chrono::milliseconds silence)
        : socket_(std::move(socket)), silence_(silence) {}
    int descriptor() const noexcept override { return socket_.number(); }
    std::chrono::milliseconds silence_allowed() const noexcept override { return silence_; }
    news read() noexcept override {
        // One at a time: an alarm that is over by now is one all the same, and was answered.
        for (;;) {
            message each;
            const ssize_t bytes = ::recv(socket_.number(), &each, sizeof each, MSG_DONTWAIT);
            if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return news::nothing;
            if (!each.is_sound(bytes) || each.what == kind::fails_later) return news::lost;
            if (each.what == kind::power_fails) return news::power_fails;
            if (each.what == kind::power_is_back) return news::power_is_back;
        }
    }

private:
    owned_descriptor socket_;
    std::chrono::milliseconds silence_;
};

result<owned_descriptor> connected(const std::string& path) {
    sockaddr_un address;
    if (!set_address(address, path))
        return error{.code = errc::invalid_argument, .what = "no socket can have this path", .path = path,
                     .expected = "1 to " + std::to_string(sizeof address.sun_path - 1) + " characters"};
    owned_descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket) return persist::detail::system_error("socket", path, errno);
    if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        error reason = persist::detail::system_error("connect", path, errno);
        reason.what = "no power daemon answers: " + reason.what;
        reason.remedy = "`holdfast powerd` starts one";
        return reason;
    }
    return socket;
}

/// The next packet, waited for.
result<message> answer(const owned_descriptor& socket, const std::string& path) {
    pollfd readable{socket.number(), POLLIN, 0};
    message got;
    // A signal that stops the thread for a moment is no answer.
    if (persist::detail::retried([&] { return ::poll(&readable, 1, answer_ms); }) != 1 ||
        !got.is_sound(::recv(socket.number(), &got, sizeof got, MSG_DONTWAIT)))
        return error{.code = errc::io, .what = "the process that listens there is not a power daemon", .path = path};
    return got;
}

}  // namespace

result<std::unique_ptr<trigger>> daemon_link(const std::string& path, std::chrono::milliseconds silence) {
    auto socket = connected(path);
    if (!socket) return socket.error();
    send(socket->number(), kind::hello);
    const auto got = answer(*socket, path);
    if (!got) return got.error();
    if (got->what == kind::fails_later)
        return error{.code = errc::level_unavailable,
                     .what = "the power daemon reports a coming power failure, or has lost a trigger",
                     .path = path};
    if (got->what != kind::heartbeat)
        return error{.code = errc::io, .what = "the power daemon does not begin with a heartbeat", .path = path};
    return std::unique_ptr<trigger>(std::make_unique<link_trigger>(std::move(*socket), silence));
}

result<std::uint64_t> notify_daemon(const std::string& path, notice what) {
    auto socket = connected(path);
    if (!socket) return socket.error();
    constexpr kind kinds[] = {kind::notify_fails, kind::notify_back, kind::notify_later};
    send(socket->number(), kinds[static_cast<int>(what)]);
    const auto got = answer(*socket, path);
    if (!got) return got.error();
    if (got->what == kind::refused)
        return error{.code = errc::permission_denied,
                     .what = "only root and the power daemon's own user may send notices",
                     .path = path};
    return got->count;
}

}  // namespace holdfast::powerfail
