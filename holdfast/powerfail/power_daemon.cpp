#include <holdfast/powerfail/power_daemon.hpp>

#include <holdfast/powerfail/daemon_protocol.hpp>

#include <holdfast/persist/system_error.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace holdfast::powerfail {
namespace {

using namespace daemon_protocol;
using steady = std::chrono::steady_clock;

constexpr char told_by[] = {'f', 'b', 'l', 's'};
constexpr char stops = 's';

/// Whether somebody listens there, as far as this process may know.
bool is_in_use(const sockaddr_un& address) noexcept {
    const owned_descriptor probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    return !probe || ::connect(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno != ECONNREFUSED;
}

result<void> make_way(const sockaddr_un& address, const std::string& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) return {};
    error reason{.code = errc::already_exists, .what = "another power daemon listens there", .path = path};
    if (!S_ISSOCK(found.st_mode)) {
        reason.what = "something else has the name of the socket";
        return reason;
    }
    if (is_in_use(address)) return reason;
    if (::unlink(path.c_str()) != 0) return persist::detail::system_error("unlink", path, errno);
    return {};
}

}  // namespace

result<std::unique_ptr<power_daemon>> power_daemon::open(const std::string& path,
                                                         std::vector<std::unique_ptr<trigger>> triggers) {
    sockaddr_un address;
    if (!set_address(address, path))
        return error{.code = errc::invalid_argument, .what = "no socket can have this path", .path = path,
                     .expected = "1 to " + std::to_string(sizeof address.sun_path - 1) + " characters"};
    if (auto free = make_way(address, path); !free) return free.error();
    std::unique_ptr<power_daemon> made(new power_daemon);
    made->listening_ = owned_descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made->listening_) return persist::detail::system_error("socket", path, errno);
    const mode_t before = ::umask(0117);
    const int bound = ::bind(made->listening_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int reason = errno;
    ::umask(before);
    if (bound != 0) return persist::detail::system_error("bind", path, reason);
    made->path_ = path;
    if (::listen(made->listening_.number(), SOMAXCONN) != 0)
        return persist::detail::system_error("listen", path, errno);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return persist::detail::system_error("pipe2", path, errno);
    made->wakes_ = owned_descriptor(ends[0]);
    made->told_ = owned_descriptor(ends[1]);
    made->is_trigger_lost_.assign(triggers.size(), false);
    made->triggers_ = std::move(triggers);
    return made;
}

power_daemon::~power_daemon() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

void power_daemon::tell(notice what) noexcept {
    static_cast<void>(!::write(told_.number(), &told_by[static_cast<int>(what)], 1));
}
void power_daemon::stop() noexcept { static_cast<void>(!::write(told_.number(), &stops, 1)); }

std::vector<pollfd> power_daemon::polled() const {
    std::vector<pollfd> all{{wakes_.number(), POLLIN, 0}, {listening_.number(), POLLIN, 0}};
    for (std::size_t i = 0; i < triggers_.size(); ++i)
        all.push_back({is_trigger_lost_[i] ? -1 : triggers_[i]->descriptor(), POLLIN, 0});
    for (const peer& each : peers_) all.push_back({each.socket.number(), POLLIN, 0});
    return all;
}

void power_daemon::run(const std::function<void(const std::string&)>& log) {
    log_ = log;
    next_beat_ = steady::now();
    for (;;) {
        auto all = polled();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_beat_ - steady::now()).count();
        ::poll(all.data(), all.size(), peers_.empty() ? -1 : static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (all[0].revents != 0 && !read_wakes()) return;
        read_triggers(all);
        for (std::size_t i = 0; i < peers_.size(); ++i)
            if (all[2 + triggers_.size() + i].revents != 0) listen_to(peers_[i]);
        if (all[1].revents != 0) accept_one();
        if (steady::now() >= next_beat_) beat();
        std::erase_if(peers_, [](const peer& each) { return !each.socket; });
    }
}

void power_daemon::beat() {
    next_beat_ = steady::now() + heartbeat_every;
    for (peer& each : peers_)
        if (each.is_registered) send(each.socket.number(), kind::heartbeat);
}

void power_daemon::accept_one() {
    owned_descriptor taken(::accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (taken) peers_.push_back({std::move(taken), false});
}

bool power_daemon::may_notify(const peer& each) const noexcept {
    ucred who{};
    socklen_t bytes = sizeof who;
    return ::getsockopt(each.socket.number(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 &&
           (who.uid == 0 || who.uid == ::geteuid());
}

void power_daemon::listen_to(peer& each) {
    message got;
    if (!got.is_sound(::recv(each.socket.number(), &got, sizeof got, MSG_DONTWAIT))) {
        if (each.is_registered) log_("a process has left");
        each.socket = owned_descriptor();
        return;
    }
    if (got.what == kind::hello) {
        // A pool that is armed now would not be saved.
        if (fails_later_ || std::ranges::find(is_trigger_lost_, true) != is_trigger_lost_.end()) {
            send(each.socket.number(), kind::fails_later);
            return log_("a process was sent away");
        }
        each.is_registered = true;
        send(each.socket.number(), kind::heartbeat);
        if (fails_) send(each.socket.number(), kind::power_fails);
        return log_("a process has come");
    }
    if (got.what < kind::notify_fails || got.what > kind::notify_later) return;
    if (!may_notify(each)) {
        send(each.socket.number(), kind::refused);
        return log_("a notice was refused: it came from another user");
    }
    const auto what = static_cast<notice>(static_cast<int>(got.what) - static_cast<int>(kind::notify_fails));
    const std::uint64_t count = pass_on(what);
    send(each.socket.number(), kind::done, count);
}

/// First to all, then anything else.
std::uint64_t power_daemon::pass_on(notice what) {
    constexpr kind kinds[] = {kind::power_fails, kind::power_is_back, kind::fails_later};
    constexpr const char* words[] = {"the power fails", "the power is back", "the power will fail"};
    std::uint64_t count = 0;
    for (peer& each : peers_) {
        if (!each.is_registered || !each.socket) continue;
        const bool is_told = send(each.socket.number(), kinds[static_cast<int>(what)]);
        // Who does not read is not to rely on being told.
        if (!is_told) each.socket = owned_descriptor();
        count += is_told;
    }
    fails_ = what == notice::fails;
    // Until it is back: from a battery a failure need not be announced.
    fails_later_ = what == notice::later || (fails_later_ && what != notice::back);
    log_(std::string(words[static_cast<int>(what)]) + ": " + std::to_string(count) + " processes were told");
    return count;
}

void power_daemon::read_triggers(const std::vector<pollfd>& of) {
    for (std::size_t i = 0; i < triggers_.size(); ++i) {
        if (of[2 + i].revents == 0) continue;
        const news heard = triggers_[i]->read();
        if (heard == news::power_fails) pass_on(notice::fails);
        if (heard == news::power_is_back) pass_on(notice::back);
        if (heard != news::lost) continue;
        is_trigger_lost_[i] = true;
        // Nobody would be told any more: those who rely on it must know.
        pass_on(notice::later);
        log_("a trigger is lost");
    }
}

/// False: it is to stop.
bool power_daemon::read_wakes() {
    for (char each = 0; ::read(wakes_.number(), &each, 1) == 1;) {
        if (each == stops) return false;
        const auto* const at = std::ranges::find(told_by, each);
        pass_on(static_cast<notice>(at - told_by));
    }
    return true;
}

}  // namespace holdfast::powerfail
