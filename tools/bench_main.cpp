// holdfast-bench: what `holdfast bench` and `holdfast figures` start.
#include "program.hpp"

#include <bench/bench.hpp>

int main(int argc, char** argv) {
    return holdfast::tools::run_program(argc, argv, [](CLI::App& application, holdfast::tools::command_line& line) {
        holdfast::bench::add_bench_command(application, line.run);
        holdfast::bench::add_figures_command(application, line.run);
    });
}
