// `holdfast pool layout`: the static variables of a pool of DNV Memory, for the linker.
#include "command.hpp"
#include "output.hpp"

#if HOLDFAST_HAS_DNV
#include <holdfast/dnv/check.hpp>
#endif

#include <memory>

namespace holdfast::tools {
namespace {

int layout([[maybe_unused]] const std::string& path, [[maybe_unused]] bool as_json) {
#if HOLDFAST_HAS_DNV
    const dnv::statics_listing found = dnv::list_statics_of(path).value();
    if (!as_json) {
        print(found.script);
        return exit_success;
    }
    json value;
    value["path"] = path;
    value["bytes"] = found.bytes;
    for (const dnv::static_variable& each : found.variables)
        value["variables"].push_back({{"name", each.name}, {"address", each.address}, {"bytes", each.bytes}});
    print_json(value);
    return exit_success;
#else
    throw failure(error{.code = errc::engine_mismatch, .what = "this build has no DNV Memory, which needs g++"});
#endif
}

}  // namespace

void add_pool_layout_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand(
        "layout", "Print a linker script that keeps a dnv pool's static variables at their places (DNV Memory)");
    auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "The pool's file; must not be in use")->required();
    add_json_flag(*command, line);
    command->callback([file, &line] { line.run = [file, &line] { return layout(*file, line.json); }; });
}

}  // namespace holdfast::tools
