// The commands that are programs of their own, in the folder of this one: they bring packages and compile times that
// the others do not need, and the explorer links another build of the library.
#include "command.hpp"

#include <holdfast/base/result.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::tools {
namespace {

struct program_beside {
    const char* command;
    const char* program;
    const char* what_for;
    const char* component;  ///< of an installation, that has it
    bool takes_command;     ///< its first argument: it has several
};

constexpr std::array programs{
    program_beside{"crash", "holdfast-crash", "Run recovery on every state that a crash may leave", "command", false},
    program_beside{"sim", "holdfast-sim", "Run workloads on a simulated machine with NVRAM", "command", true},
    program_beside{"bench", "holdfast-bench", "Measure engines against floors and rivals", "benchmarks", true},
    program_beside{"figures", "holdfast-bench", "Draw the papers' figures from measurements made here",
                   "benchmarks", true},
};

std::filesystem::path path_of(const program_beside& which) {
    std::error_code failed;
    return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / which.program;
}

[[noreturn]] void become(const program_beside& which, std::vector<std::string> arguments) {
    const auto program = path_of(which);
    if (which.takes_command) arguments.insert(arguments.begin(), which.command);
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& each : arguments) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    error reason{.code = errno == ENOENT ? errc::not_found : errc::io,
                 .what = std::string("holdfast ") + which.command +
                         " is a separate program, which does not start: " + std::strerror(errno),
                 .path = program.string(),
                 .remedy = std::string("`make build` builds it, and the component `") + which.component +
                           "` of an installation has it"};
    throw failure(reason);
}

}  // namespace

void add_programs_beside(CLI::App& application, command_line& line) {
    for (const program_beside& each : programs) {
        const bool is_here = std::filesystem::exists(path_of(each));
        auto* command = application.add_subcommand(each.command,
                                                   each.what_for + std::string(is_here ? "" : " (not installed)"));
        // The program understands its own options, also --help.
        command->prefix_command();
        command->set_help_flag();
        command->callback([&line, &each] {
            line.run = [&line, &each]() -> int { become(each, {line.words.begin() + 1, line.words.end()}); };
        });
    }
}

}  // namespace holdfast::tools
