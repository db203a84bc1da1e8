// The benchmarks as a library: `holdfast bench SUITE` and `holdfast figures` and nothing else call it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::bench {

/// What the command line asks for.
struct options {
    bool quick = false;                ///< at most 50 s a suite; leaves out what it must
    bool trial = false;                ///< batches so short that they only show that the suite runs
    std::string json_path;             ///< records go there as a JSON array; empty: nowhere
    std::string directory = ".";       ///< where pools on an ordinary file are made
    std::uint32_t delay_ns = 0;        ///< added per written line on nvram
    std::vector<std::string> engines;  ///< only these engines, rivals and floors; empty: all
    std::vector<std::string> cases;    ///< of suite stamp only these programs; empty: the usual ones
    std::vector<std::string> external;  ///< files of records that other programs measured, shown beside ours
};

/// The names `run` knows, in the order people read about them.
std::span<const std::string_view> suites() noexcept;

/// Runs one suite: a table on standard output, progress on standard error when that is a terminal,
/// records in options.json_path. Makes pools in /dev/shm and options.directory, under names with this
/// process's id, and removes them, also when SIGINT, SIGTERM or SIGHUP ends the process; SIGKILL
/// leaves them. Not thread-safe; one run at a time, for it blocks those signals.
/// Returns 0, 1 when something failed (said on standard error), 2 for an unknown suite.
int run(const std::string& suite, const options& options);

/// Adds `bench SUITE [--quick] [--trial] [--json FILE] [--dir DIRECTORY] [--delay-ns N] [--engine E]... [--case C]...
/// [--external FILE]...` to the command; when that was chosen, `chosen` is what runs the suite, and returns its value.
void add_bench_command(CLI::App& command, std::function<int()>& chosen);

/// Adds `figures [--paper P] [--quick] [--records FILE]... [--out DIRECTORY]` in the same way: it runs the suites that
/// the papers' figures need, or takes their records, and leaves SVG files and index.html in the directory. Needs
/// gnuplot.
void add_figures_command(CLI::App& command, std::function<int()>& chosen);

}  // namespace holdfast::bench
