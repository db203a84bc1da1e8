// The commands that are programs of their own, beside this one: they bring packages and compile times that the others
// do not need, and the explorer links another build of the library.
#include "command.hpp"

#include <holdfast/base/result.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {
namespace {

struct program_beside {
    const char* command;
    const char* program;
    const char* what_for;
    bool takes_command;  ///< its first argument: it has several
};

constexpr std::array programs{
    program_beside{"crash", "holdfast-crash", "Run recovery on every state that a crash may leave", false},
    program_beside{"sim", "holdfast-sim", "Run workloads on a simulated machine with NVRAM", true},
    program_beside{"bench", "holdfast-bench", "Measure engines against floors and rivals", true},
    program_beside{"figures", "holdfast-bench", "Draw the papers' figures anew, from measurements made here", true},
};

[[noreturn]] void become(const program_beside& which, std::vector<std::string> arguments) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / which.program;
    if (which.takes_command) arguments.insert(arguments.begin(), which.command);
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& each : arguments) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    error reason{.code = errno == ENOENT ? errc::not_found : errc::io,
                 .what = std::string("holdfast ") + which.command +
                         " is a program beside this one, which does not start: " + std::strerror(errno),
                 .path = program.string()};
    throw failure(reason);
}

}  // namespace

void add_programs_beside(CLI::App& application, command_line& line) {
    for (const program_beside& each : programs) {
        auto* command = application.add_subcommand(each.command, each.what_for);
        // The program understands its own options, also --help.
        command->prefix_command();
        command->set_help_flag();
        command->callback([command, &line, &each] {
            line.run = [rest = command->remaining(), &each]() -> int { become(each, rest); };
        });
    }
}

}  // namespace holdfast::tools
