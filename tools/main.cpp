// The `holdfast` command. Exit status: 0 success, 1 a failed check or operation, 2 wrong usage.
#include "command.hpp"
#include "output.hpp"
#include "streams.hpp"
#include "usage.hpp"

#ifdef HOLDFAST_HAS_BENCH
#include <bench/bench.hpp>
#endif

#include <fmt/core.h>

#include <exception>

namespace holdfast::tools {
namespace {

void describe(CLI::App& application) {
    application.name("holdfast");
    application.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
    application.require_subcommand(1);
    application.footer("Exit status: 0 success, 1 a check or operation failed, 2 wrong usage.\n"
                       "`holdfast COMMAND --help` describes a command.");
}

int run(command_line& line) {
    try {
        const int status = line.run();
        finish_output();
        return status;
    } catch (const failure& reason) {
        return report(reason.reason(), line.json);
    } catch (const std::exception& reason) {
        complain(fmt::format("holdfast: {}\n", reason.what()));
        return exit_failed;
    }
}

int main_of(int argc, char** argv) {
    prepare_streams();
    CLI::App application{"Holdfast: live data structures in a file, changed in transactions that survive a kill\n"
                         "and a power cut."};
    command_line line;
    describe(application);
    add_kv_command(application, line);
    add_pool_command(application, line);
    add_doctor_command(application, line);
    add_ecc_command(application, line);
#ifdef HOLDFAST_HAS_CRASH
    add_crash_command(application, line);
#endif
#ifdef HOLDFAST_HAS_SIM
    add_sim_command(application, line);
#endif
#ifdef HOLDFAST_HAS_BENCH
    bench::add_bench_command(application, line.run);
    bench::add_figures_command(application, line.run);
#endif
    try {
        application.parse(argc, argv);
    } catch (const CLI::ParseError& reason) {
        return answer(application, reason, exit_failed);
    }
    return run(line);
}

}  // namespace

void add_pool_command(CLI::App& application, command_line& line) {
    auto* pool = application.add_subcommand("pool", "Create, describe, check, grow and copy pool files");
    pool->require_subcommand(1);
    add_pool_create_command(*pool, line);
    add_pool_info_command(*pool, line);
    add_pool_check_command(*pool, line);
    add_pool_grow_command(*pool, line);
    add_pool_snapshot_command(*pool, line);
    add_pool_dump_command(*pool, line);
}

}  // namespace holdfast::tools

int main(int argc, char** argv) { return holdfast::tools::main_of(argc, argv); }
