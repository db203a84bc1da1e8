// What the command's programs say to a line that is no order to do something: help, the version, or what is wrong.
#pragma once

#include "streams.hpp"
#include "suggestion.hpp"

#include <CLI/CLI.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace holdfast::tools {

namespace detail {

/// The command that was named last, as of `holdfast pool create`.
inline const CLI::App& last_named(const CLI::App& application) {
    const CLI::App* last = &application;
    while (!last->get_subcommands().empty()) last = last->get_subcommands().back();
    return *last;
}

/// "holdfast pool create".
inline std::string full_name(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

inline std::vector<std::string> commands_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(each->get_name());
    return names;
}

/// Of the command and of those above it.
inline std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* at = &command; at != nullptr; at = at->get_parent())
        for (const CLI::Option* each : at->get_options())
            for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
    return names;
}

/// What is wrong with a word that no command took.
inline std::string unknown_word(const CLI::App& named, const std::string& word) {
    if (word.size() > 1 && word.front() == '-') {
        const std::string name = word.substr(0, word.find('='));
        return "there is no option \"" + name + "\"" + guess(name, options_of(named));
    }
    const bool lacks_command = named.get_require_subcommand_min() > 0;
    if (!lacks_command) return "unexpected argument \"" + word + "\"";
    return "there is no command \"" + word + "\"" + guess(word, commands_of(named));
}

inline std::string what_is_wrong(const CLI::App& application, const CLI::ParseError& reason) {
    const CLI::App& named = last_named(application);
    const std::string name = full_name(named);
    const std::string more = "`" + name + " --help` lists what there is.\n";
    // What was not understood is more likely the cause of what is missing than the other way round.
    const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&reason) != nullptr;
    const std::vector<std::string> unknown = application.remaining(true);
    if (!unknown.empty() && (is_missing || dynamic_cast<const CLI::ExtrasError*>(&reason) != nullptr))
        return name + ": " + unknown_word(named, unknown.front()) + "\n" + more;
    if (is_missing && named.get_require_subcommand_min() > 0) return application.help();
    return name + ": " + reason.what() + "\n" + more;
}

}  // namespace detail

/// The exit status: 0, 2 for wrong usage, or `when_lost` for help that could not be printed.
inline int answer(const CLI::App& application, const CLI::ParseError& reason, int when_lost) {
    constexpr int wrong_usage = 2;
    if (dynamic_cast<const CLI::Success*>(&reason) == nullptr) {
        complain(detail::what_is_wrong(application, reason));
        return wrong_usage;
    }
    std::ostringstream out;
    static_cast<void>(application.exit(reason, out, out));
    show(out.str());
    if (flush_output() != output::lost) return 0;
    complain(application.get_name() + ": " + output_complaint() + "\n");
    return when_lost;
}

}  // namespace holdfast::tools
