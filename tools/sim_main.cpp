// holdfast-sim: what `holdfast sim` starts.
#include "program.hpp"

int main(int argc, char** argv) {
    return holdfast::tools::run_program(argc, argv, [](CLI::App& application, holdfast::tools::command_line& line) {
        holdfast::tools::add_sim_command(application, line);
    });
}
