// `holdfast crash`: hands over to the explorer, a program of its own, because it links another
// build of the library.
#include "command.hpp"

#include <holdfast/base/result.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::tools {
namespace {

[[noreturn]] void become_explorer(std::vector<std::string> arguments) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "holdfast-crash";
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& each : arguments) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    error reason{.code = errno == ENOENT ? errc::not_found : errc::io,
                 .what = std::string("the explorer's program beside this one does not start: ") +
                         std::strerror(errno),
                 .path = program.string()};
    throw failure(reason);
}

}  // namespace

void add_crash_command(CLI::App& application, command_line& line) {
    auto* crash = application.add_subcommand("crash", "Run recovery on every state that a crash may leave");
    // The explorer understands its own options, also --help.
    crash->prefix_command();
    crash->set_help_flag();
    crash->callback([crash, &line] {
        line.run = [rest = crash->remaining()]() -> int { become_explorer(rest); };
    });
}

}  // namespace holdfast::tools
