#include "program.hpp"

#include "output.hpp"
#include "streams.hpp"
#include "usage.hpp"

#include <fmt/core.h>

#include <exception>

namespace holdfast::tools {
namespace {

void describe(CLI::App& application) {
    application.name("holdfast");
    application.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
    application.require_subcommand(1);
    application.footer("Exit status: 0 success, 1 a check or operation failed, 2 wrong usage.\n"
                       "`holdfast COMMAND --help` describes a command.");
}

int run(command_line& line) {
    try {
        const int status = line.run();
        finish_output();
        return status;
    } catch (const failure& reason) {
        return report(reason.reason(), line.json);
    } catch (const std::exception& reason) {
        complain(fmt::format("holdfast: {}\n", reason.what()));
        return exit_failed;
    }
}

}  // namespace

int run_program(int argc, char** argv, void (*add)(CLI::App& application, command_line& line)) {
    prepare_streams();
    CLI::App application{"Holdfast: live data structures in a file, changed in transactions that survive a kill\n"
                         "and a power cut."};
    command_line line{.run = {}, .words = {argv + 1, argv + argc}};
    describe(application);
    add(application, line);
    try {
        // A program of its own reads what stands behind its command, every "--" too.
        const auto names_program = [&](const CLI::App* each) {
            return argc > 1 && each->get_name() == argv[1] && each->get_prefix_command();
        };
        application.parse(application.get_subcommands(names_program).empty() ? argc : 2, argv);
    } catch (const CLI::ParseError& reason) {
        return answer(application, reason, exit_failed);
    }
    return run(line);
}

}  // namespace holdfast::tools
