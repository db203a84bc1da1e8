// `holdfast pool snapshot`: a copy of a pool that nobody is using.
#include "command.hpp"
#include "open_as_last_used.hpp"
#include "output.hpp"
#include "progress.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>

namespace holdfast::tools {
namespace {

struct options_of_snapshot {
    std::string file;
    std::string copy;
};

snapshot_report copy_pool(open_pool& pool, const std::string& to) {
    std::optional<progress> bar;
    snapshot_options how;
    how.progress = [&](std::uint64_t done, std::uint64_t total) {
        if (!bar) bar.emplace("copying " + pool.path(), total);
        bar->at(done);
    };
    return pool.snapshot(to, how).value();
}

int snapshot(const options_of_snapshot& options, bool as_json) {
    // Refused before the pool is opened, for opening it recovers it.
    persist::file::prepare(options.copy, 0600).value();
    auto pool = open_as_last_used(options.file);
    const snapshot_report report = copy_pool(*pool, options.copy);
    pool->close().value();
    if (as_json) {
        json value = to_json(open_pool::info(options.copy).value());
        value["copy_of"] = options.file;
        value["shares_blocks"] = report.shares_blocks;
        print_json(value);
    } else {
        print(fmt::format("Copied {} to {}: {}{}\n", options.file, options.copy, readable_bytes(report.bytes),
                          report.shares_blocks ? ", sharing its blocks until either is changed" : ""));
    }
    return exit_success;
}

}  // namespace

void add_pool_snapshot_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("snapshot", "Copy a pool to a new file, at once if the file system can");
    auto options = std::make_shared<options_of_snapshot>();
    command->add_option("FILE", options->file, "The pool's file; must not be in use")->required();
    command->add_option("COPY", options->copy, "The copy; must not exist")->required();
    command->footer("A program that has the pool open calls its member snapshot instead, while it continues.\n"
                    "The copy maps at the same address: one process cannot have both open.");
    add_json_flag(*command, line);
    command->callback([options, &line] { line.run = [options, &line] { return snapshot(*options, line.json); }; });
}

}  // namespace holdfast::tools
