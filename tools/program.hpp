// What the command and the programs beside it have in common: reading a line, running it, reporting a failure.
#pragma once

#include "command.hpp"

namespace holdfast::tools {

/// Reads the line by the commands that `add` adds and runs the chosen one. Returns the exit status: 0 success, 1 a
/// failed check or operation, 2 wrong usage.
int run_program(int argc, char** argv, void (*add)(CLI::App& application, command_line& line));

}  // namespace holdfast::tools
