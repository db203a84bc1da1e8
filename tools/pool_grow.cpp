// `holdfast pool grow`: more room in a pool, with its data in it.
#include "command.hpp"
#include "open_as_last_used.hpp"
#include "output.hpp"

#include <holdfast/pool/superblock.hpp>

#include <fmt/core.h>

#include <memory>

namespace holdfast::tools {
namespace {

struct options_of_grow {
    std::string file;
    std::uint64_t bytes = 0;
};

format::superblock header_of(const std::string& path) {
    auto file = persist::file::open(path, persist::file::access::read_only).value();
    return read_superblock(file).value();
}

int grow(const options_of_grow& options, bool as_json) {
    const format::superblock before = header_of(options.file);
    // Refused before the pool is opened, for opening it recovers it.
    zone_of_growth(options.file, before, options.bytes).value();
    auto pool = open_as_last_used(options.file);
    pool->grow(options.bytes).value();
    pool->close().value();
    const pool_info info = open_pool::info(options.file).value();
    if (as_json) {
        json value = to_json(info);
        value["bytes_before"] = before.pool_bytes;
        print_json(value);
    } else {
        print(fmt::format("Grew {} from {} to {}; {} of {} growths are left, up to {}\n", info.path,
                          readable_bytes(before.pool_bytes), readable_bytes(info.bytes),
                          format::zone_limit - info.zones, format::zone_limit - 1,
                          readable_bytes(info.reserved_bytes)));
    }
    return exit_success;
}

}  // namespace

void add_pool_grow_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("grow", "Enlarge a pool; no object moves");
    auto options = std::make_shared<options_of_grow>();
    command->add_option("FILE", options->file, "The pool's file; must not be in use")->required();
    command->add_option("SIZE", options->bytes, "New size of the pool, such as 512M or 2G")
        ->required()
        ->transform(CLI::AsSizeValue(false));
    command->footer("A pool grows at most 31 times, within the addresses reserved at its creation\n"
                    "(`holdfast pool info`). A program that has the pool open calls its member grow instead.");
    add_json_flag(*command, line);
    command->callback([options, &line] { line.run = [options, &line] { return grow(*options, line.json); }; });
}

}  // namespace holdfast::tools
