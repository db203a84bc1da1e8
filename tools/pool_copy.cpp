// `holdfast pool copy` and `holdfast pool erase`: what cp and rm are for files, for devices that have no read or write.
#include "command.hpp"
#include "output.hpp"

#include <holdfast/persist/file.hpp>
#include <holdfast/pool/raw_copy.hpp>

#include <fmt/core.h>

#include <memory>

namespace holdfast::tools {
namespace {

struct options_of_copy {
    std::string file;
    std::string copy;
};

int copy_bytes(const options_of_copy& options, bool as_json) {
    auto from = persist::file::open_locked(options.file, persist::file::access::read_only).value();
    const std::uint64_t bytes = copy_raw(from, options.copy).value();
    if (as_json) {
        print_json({{"copy_of", options.file}, {"path", options.copy}, {"bytes", bytes}});
    } else {
        print(fmt::format("Copied {} to {}: {}, as it is\n", options.file, options.copy, readable_bytes(bytes)));
    }
    return exit_success;
}

int erase_device(const std::string& device, bool as_json) {
    erase_raw(device).value();
    if (as_json) {
        print_json({{"path", device}, {"erased", true}});
    } else {
        print(fmt::format("Erased {}: it is empty\n", device));
    }
    return exit_success;
}

}  // namespace

void add_pool_copy_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("copy", "Copy the bytes of a pool as they are, damaged or not");
    auto options = std::make_shared<options_of_copy>();
    command->add_option("FILE", options->file, "The pool's file or device; must not be in use")->required();
    command->add_option("COPY", options->copy, "The copy: a file that does not exist, or an empty device")->required();
    command->footer("Copies a pool from or to a device. The copy of a pool whose process was killed below level\n"
                    "power does not open; `holdfast pool snapshot` recovers the pool and copies it.");
    add_json_flag(*command, line);
    command->callback([options, &line] { line.run = [options, &line] { return copy_bytes(*options, line.json); }; });
}

void add_pool_erase_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("erase", "Make a device of persistent memory empty");
    auto device = std::make_shared<std::string>();
    command->add_option("DEVICE", *device, "The device, such as /dev/dax0.0; must not be in use. Its contents are lost")
        ->required();
    add_json_flag(*command, line);
    command->callback([device, &line] { line.run = [device, &line] { return erase_device(*device, line.json); }; });
}

}  // namespace holdfast::tools
