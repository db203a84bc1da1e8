// `holdfast pool info`: what stands in a pool's header. Works while the pool is in use.
#include "command.hpp"
#include "output.hpp"

#include <holdfast/pool/open_pool.hpp>

#include <fmt/core.h>

#include <memory>

namespace holdfast::tools {
namespace {

std::string state_of(const pool_info& info) {
    if (info.clean) return "clean: closed after its last use";
    const std::string at = fmt::format("at level {}", name_of(info.last_level));
    if (info.same_boot) return "in use, or left by a killed process; was open " + at;
    if (info.last_level == level::power) return "left open when the machine went down; was open " + at;
    return "left open when the machine went down; was open " + at + ", so its latest changes may be lost";
}

std::string report_of(const pool_info& info) {
    table facts;
    facts.add("file", info.path);
    facts.add("layout", info.layout.empty() ? "(none)" : info.layout);
    facts.add("engine", info.engine);
    facts.add("format", fmt::format("{}.{}", info.version_major, info.version_minor));
    facts.add("state", state_of(info));
    facts.add("size", info.zones == 1 ? readable_bytes(info.bytes)
                                     : fmt::format("{}, grown {} of at most {} times", readable_bytes(info.bytes),
                                                   info.zones - 1, format::zone_limit - 1));
    facts.add("log", fmt::format("{} in segments of {}", readable_bytes(info.log_bytes),
                                 readable_bytes(info.segment_bytes)));
    facts.add("address", fmt::format("{}, {} reserved", hexadecimal(info.base), readable_bytes(info.reserved_bytes)));
    facts.add("pool id", hexadecimal(info.pool_id));
    facts.add("generation", std::to_string(info.generation));
    if (info.storage.kind == persist::medium::file)
        facts.add("memory", "at level power at most " + readable_bytes(persist::memory_bytes() / 4) +
                                " for changed pages, unless a program sets another bound");
    facts.add("medium", fmt::format("{} on {}", persist::name_of(info.storage.kind), info.storage.file_system));
    return facts.text();
}

}  // namespace

void add_pool_info_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("info", "Print a pool's header");
    auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "The pool's file")->required();
    add_json_flag(*command, line);
    command->callback([file, &line] {
        line.run = [file, &line] {
            const pool_info info = open_pool::info(*file).value();
            if (line.json) {
                print_json(to_json(info));
            } else {
                print(report_of(info));
            }
            return exit_success;
        };
    });
}

}  // namespace holdfast::tools
