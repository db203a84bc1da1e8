// `holdfast powerd`: the daemon that tells processes that the power fails, and the program that tells the daemon.
#include "command.hpp"
#include "output.hpp"

#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::tools {
namespace {

using powerfail::notice;
using powerfail::power_daemon;

struct powerd_options {
    std::string socket = powerfail::usual_daemon_socket;
    std::string carrier;
    std::string button;
    std::string word;  ///< of notify
};

/// For signal handlers.
power_daemon* running = nullptr;

void listen_to_signals() {
    struct sigaction action{};
    action.sa_flags = SA_RESTART;
    action.sa_handler = [](int) { running->tell(notice::fails); };
    ::sigaction(SIGPWR, &action, nullptr);
    action.sa_handler = [](int) { running->stop(); };
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
}

int serve(const powerd_options& options) {
    std::vector<std::unique_ptr<powerfail::trigger>> triggers;
    if (!options.carrier.empty()) triggers.push_back(powerfail::carrier(options.carrier).value());
    if (!options.button.empty()) triggers.push_back(powerfail::power_button(options.button).value());
    const auto daemon = power_daemon::open(options.socket, std::move(triggers)).value();
    running = daemon.get();
    listen_to_signals();
    const auto say = [](const std::string& line) {
        print(line + "\n");
        finish_output();
    };
    say("listening at " + options.socket);
    daemon->run(say);
    return exit_success;
}

/// What the word means, or what an uninterruptible power supply's daemon calls it in NOTIFYTYPE; nothing: it is none of
/// our business.
std::optional<notice> meaning_of(const std::string& word) {
    if (word == "fails") return notice::fails;
    if (word == "back") return notice::back;
    if (word == "later") return notice::later;
    const char* const type = std::getenv("NOTIFYTYPE");
    if (type == nullptr) fail(errc::invalid_argument, "neither the argument nor NOTIFYTYPE names a notice");
    const std::string name(type);
    if (name == "ONLINE") return notice::back;
    // The battery lasts for minutes: time for pools to continue at `power`.
    if (name == "ONBATT" || name == "LOWBATT" || name == "FSD" || name == "SHUTDOWN") return notice::later;
    return std::nullopt;
}

int notify(const powerd_options& options, bool as_json) {
    const auto what = meaning_of(options.word);
    const std::uint64_t told = what ? powerfail::notify_daemon(options.socket, *what).value() : 0;
    if (as_json) {
        print_json({{"socket", options.socket}, {"told", told}});
    } else {
        print(fmt::format("{} processes were told\n", told));
    }
    return exit_success;
}

}  // namespace

void add_powerd_command(CLI::App& application, command_line& line) {
    auto* powerd =
        application.add_subcommand("powerd", "Tell processes with pools at on_power_fail that the power fails");
    auto options = std::make_shared<powerd_options>();
    powerd->add_option("--socket", options->socket, "Where processes find it")->capture_default_str();
    powerd->add_option("--carrier", options->carrier, "A serial line whose carrier drops when the power fails");
    powerd->add_option("--button", options->button, "An input device with a power key");
    powerd->callback([options, powerd, &line] {
        if (powerd->get_subcommands().empty()) line.run = [options] { return serve(*options); };
    });
    auto* notified = powerd->add_subcommand("notify", "Send a notice to the daemon, for hooks of NUT and apcupsd");
    notified->add_option("WORD", options->word, "fails (within milliseconds), later (in seconds or minutes), or back; "
                                                "without it the environment's NOTIFYTYPE, as NUT sets it")
        ->check(CLI::IsMember({"fails", "later", "back"}));
    notified->add_option("--socket", options->socket, "Where the daemon listens")->capture_default_str();
    add_json_flag(*notified, line);
    notified->callback([options, &line] { line.run = [options, &line] { return notify(*options, line.json); }; });
}

}  // namespace holdfast::tools
