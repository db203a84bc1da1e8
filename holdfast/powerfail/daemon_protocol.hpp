// What `holdfast powerd` and the processes that it tells say to each other, over a socket of packets.
//
//   process                    daemon
//   hello            ->
//                    <-        heartbeat, at once and then again and again; fails_later instead, where none is to rely
//                              on the daemon now
//                    <-        power_fails, power_is_back, fails_later: what its triggers or a notifier say
//   notify_*         ->
//                    <-        done, with how many processes were told; or refused
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

namespace holdfast::powerfail::daemon_protocol {

inline constexpr std::chrono::milliseconds heartbeat_every{20};

enum class kind : std::uint32_t {
    hello = 1,
    heartbeat,
    power_fails,
    power_is_back,
    fails_later,
    notify_fails,
    notify_back,
    notify_later,
    done,
    refused,
};

struct message {
    char magic[4] = {'H', 'F', 'P', 'D'};
    kind what = kind::hello;
    std::uint64_t count = 0;

    bool is_sound(long bytes) const noexcept {
        return bytes == static_cast<long>(sizeof *this) && std::memcmp(magic, message{}.magic, sizeof magic) == 0;
    }
};
static_assert(sizeof(message) == 16);

/// False: the other one is gone, or does not read.
inline bool send(int socket, kind what, std::uint64_t count = 0) noexcept {
    message sent;
    sent.what = what;
    sent.count = count;
    return ::send(socket, &sent, sizeof sent, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof sent);
}

/// False: the path is too long for a socket.
inline bool set_address(sockaddr_un& address, const std::string& path) noexcept {
    address = {};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.data(), path.size());
    return true;
}

}  // namespace holdfast::powerfail::daemon_protocol
