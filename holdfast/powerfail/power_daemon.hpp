// The daemon that learns that the power fails and tells processes: `holdfast powerd`.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/owned_descriptor.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <holdfast/powerfail/trigger.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

namespace holdfast::powerfail {

enum class notice : std::uint8_t {
    fails,  ///< within the hold-up time
    back,
    later,  ///< in seconds or minutes: pools continue at `power`
};

/// Says it to the daemon at that socket. Returns how many processes were told. Errors: not_found (no daemon),
/// permission_denied, invalid_argument, io.
result<std::uint64_t> notify_daemon(const std::string& socket, notice what);

/// Used by one thread; `stop` by any, and by signal handlers.
class power_daemon {
public:
    /// Listens at `socket`, which this user and its group may use. One that nobody listens at any more is replaced.
    /// Errors: already_exists (another daemon listens there, or it is no socket), invalid_argument, not_found,
    /// permission_denied, io.
    static result<std::unique_ptr<power_daemon>> open(const std::string& socket,
                                                      std::vector<std::unique_ptr<trigger>> triggers);
    ~power_daemon();

    /// Tells processes until `stop`. `log`: a line for each thing that happens.
    void run(const std::function<void(const std::string&)>& log);
    /// As a trigger would. Async-signal-safe.
    void tell(notice what) noexcept;
    void stop() noexcept;

private:
    struct peer {
        owned_descriptor socket;
        bool is_registered = false;
    };
    power_daemon() = default;
    std::vector<pollfd> polled() const;
    void accept_one();
    void listen_to(peer& each);
    bool may_notify(const peer& each) const noexcept;
    std::uint64_t pass_on(notice what);
    void read_triggers(const std::vector<pollfd>& of);
    bool read_wakes();
    void beat();

    std::string path_;
    owned_descriptor listening_;
    owned_descriptor wakes_;
    owned_descriptor told_;
    std::vector<std::unique_ptr<trigger>> triggers_;
    std::vector<bool> is_trigger_lost_;
    std::vector<peer> peers_;
    bool fails_ = false;
    bool fails_later_ = false;
    std::chrono::steady_clock::time_point next_beat_;
    std::function<void(const std::string&)> log_;
};

}  // namespace holdfast::powerfail
