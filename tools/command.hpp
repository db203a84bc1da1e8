// How a subcommand joins the `holdfast` command.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace holdfast::tools {

/// What the chosen subcommand leaves for main, which runs it once the whole line is understood.
struct command_line {
    /// Returns the exit status; throws `failure` for what the library refuses.
    std::function<int()> run;
    /// What was typed after the program's name.
    std::vector<std::string> words{};
    /// Machine output was asked for: errors are printed to stdout as JSON too.
    bool json = false;
};

inline constexpr int exit_success = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

/// Each adds one subcommand; `line` must live as long as the application.
void add_kv_command(CLI::App& application, command_line& line);
void add_pool_create_command(CLI::App& pool, command_line& line);
void add_pool_info_command(CLI::App& pool, command_line& line);
void add_pool_check_command(CLI::App& pool, command_line& line);
void add_pool_grow_command(CLI::App& pool, command_line& line);
void add_pool_snapshot_command(CLI::App& pool, command_line& line);
void add_pool_copy_command(CLI::App& pool, command_line& line);
void add_pool_erase_command(CLI::App& pool, command_line& line);
void add_pool_dump_command(CLI::App& pool, command_line& line);
void add_pool_layout_command(CLI::App& pool, command_line& line);
void add_programs_beside(CLI::App& application, command_line& line);
void add_sim_command(CLI::App& application, command_line& line);
void add_ecc_command(CLI::App& application, command_line& line);
void add_doctor_command(CLI::App& application, command_line& line);
void add_powerd_command(CLI::App& application, command_line& line);

/// `--json` for a subcommand, with the same words everywhere.
inline void add_json_flag(CLI::App& command, command_line& line) {
    command.add_flag("--json", line.json, "Print JSON for machines instead of text");
}

}  // namespace holdfast::tools
