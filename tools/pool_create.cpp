// `holdfast pool create`: an empty pool.
#include "command.hpp"
#include "engines.hpp"
#include "output.hpp"
#include "suggestion.hpp"

#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/opener.hpp>

#include <fmt/core.h>

#include <memory>

namespace holdfast::tools {
namespace {

struct options_of_create {
    std::string file;
    std::string engine = "redo";
    create_options pool;
};

/// What a fresh pool is opened at while it is made: it promises `power` where the path can.
level strongest_level(const std::string& file, const engine_description& engine, bool nvram) {
    persist::discovery where;
    where.tmpfs_is_nvram = nvram;
    const auto on = persist::discover_for_new(file, where);
    return on && pool_opener::check_level(file, engine, level::power, *on) ? level::power : level::process;
}

int create(options_of_create& options, bool as_json) {
    const engine_description& engine = engine_named(options.engine);
    options.pool.durability = strongest_level(options.file, engine, options.pool.tmpfs_is_nvram);
    auto pool = open_pool::create(options.file, engine, options.pool).value();
    pool->close().value();
    const pool_info info = open_pool::info(options.file).value();
    if (as_json) {
        print_json(to_json(info));
    } else {
        print(fmt::format("Created {}: {}, engine {}, log {}, at {}\n", info.path, readable_bytes(info.bytes),
                          info.engine, readable_bytes(info.log_bytes), hexadecimal(info.base)));
    }
    return exit_success;
}

/// "0600": what chmod takes.
unsigned parse_mode(const std::string& text) {
    std::size_t used = 0;
    unsigned long mode = 0;
    try {
        mode = std::stoul(text, &used, 8);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || mode > 0777)
        throw CLI::ValidationError("--mode", "expected an octal file mode from 0 to 0777, found " + text);
    return static_cast<unsigned>(mode);
}

std::uint64_t parse_base(const std::string& text) {
    std::size_t used = 0;
    std::uint64_t base = 0;
    try {
        base = std::stoull(text, &used, 0);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size())
        throw CLI::ValidationError("--base", "expected an address such as 0x200000000000, found " + text);
    return base;
}

}  // namespace

void add_pool_create_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("create", "Create an empty pool");
    auto options = std::make_shared<options_of_create>();
    command
        ->add_option("FILE", options->file,
                     "The pool's file, which must not exist, or an empty device of persistent memory")
        ->required();
    command->add_option("--size", options->pool.bytes, "Size of the pool, such as 256K, 64M or 2G")
        ->transform(CLI::AsSizeValue(false))
        ->default_str("64M");
    command->add_option("--layout", options->pool.layout, "Name of the application's layout, checked when it opens");
    command->add_option("--engine", options->engine, "Engine")
        ->check(one_of(engine_names_of_pools()))
        ->capture_default_str();
    command->add_option_function<std::string>(
        "--base", [options](const std::string& text) { options->pool.base = parse_base(text); },
        "Address to map the pool at, 1 GiB-aligned (default: chosen at random)");
    command->add_option("--log-size", options->pool.log_bytes, "Size of the log (default: an eighth, at most 4 MiB)")
        ->transform(CLI::AsSizeValue(false));
    command
        ->add_option("--reserve", options->pool.reserved_bytes,
                     "Addresses to reserve for growth (default: four times its size, at least 64G)")
        ->transform(CLI::AsSizeValue(false));
    command->add_option_function<std::string>(
        "--mode", [options](const std::string& text) { options->pool.mode = parse_mode(text); },
        "Mode of the file (default: 0600)");
    command->add_flag("--nvram", options->pool.tmpfs_is_nvram, "Let tmpfs emulate byte-addressable NVRAM");
    add_json_flag(*command, line);
    command->callback([options, &line] { line.run = [options, &line] { return create(*options, line.json); }; });
}

}  // namespace holdfast::tools
