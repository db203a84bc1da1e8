// The `holdfast` command. Exit status: 0 success, 1 a failed check or operation, 2 wrong usage.
#include "program.hpp"

namespace holdfast::tools {
namespace {

void add_pool_command(CLI::App& application, command_line& line) {
    auto* pool = application.add_subcommand("pool", "Create, describe, check, grow and copy pools");
    pool->require_subcommand(1);
    add_pool_create_command(*pool, line);
    add_pool_info_command(*pool, line);
    add_pool_check_command(*pool, line);
    add_pool_grow_command(*pool, line);
    add_pool_snapshot_command(*pool, line);
    add_pool_copy_command(*pool, line);
    add_pool_erase_command(*pool, line);
    add_pool_dump_command(*pool, line);
    add_pool_layout_command(*pool, line);
}

void add_commands(CLI::App& application, command_line& line) {
    add_kv_command(application, line);
    add_pool_command(application, line);
    add_doctor_command(application, line);
    add_powerd_command(application, line);
    add_ecc_command(application, line);
    add_programs_beside(application, line);
}

}  // namespace
}  // namespace holdfast::tools

int main(int argc, char** argv) { return holdfast::tools::run_program(argc, argv, holdfast::tools::add_commands); }
