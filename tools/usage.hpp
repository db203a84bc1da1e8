// What the command's programs say to a line that is no order to do something: help, the version, or what is wrong.
#pragma once

#include "streams.hpp"

#include <CLI/CLI.hpp>

#include <sstream>
#include <string>

namespace holdfast::tools {

/// The exit status: 0, 2 for wrong usage, or `when_lost` for help that could not be printed.
inline int answer(const CLI::App& application, const CLI::ParseError& reason, int when_lost) {
    constexpr int wrong_usage = 2;
    std::ostringstream out;
    std::ostringstream err;
    const int status = application.exit(reason, out, err) == 0 ? 0 : wrong_usage;
    complain(err.str());
    show(out.str());
    if (flush_output() != output::lost) return status;
    complain(application.get_name() + ": " + output_complaint() + "\n");
    return when_lost;
}

}  // namespace holdfast::tools
