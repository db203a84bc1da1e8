// kill_worker ENGINE LEVEL nvram|plain POOL THREADS SEED: works on the pool until it is killed. After each commit
// it writes an acknowledgement to standard output. It ends by itself only when something is wrong.
#include "worker.hpp"

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace holdfast::kill {
namespace {

listener told_through_pipe() {
    return {.committed = [](const acknowledgement& told) {
                if (::write(STDOUT_FILENO, &told, sizeof told) != sizeof told) std::_Exit(3);
            },
            .failed = [](std::uint64_t thread, const std::exception& reason) {
                std::fprintf(stderr, "kill_worker: thread %llu: %s\n", static_cast<unsigned long long>(thread),
                             reason.what());
                std::_Exit(4);
            }};
}

template <class Engine>
void work(const arguments& with) {
    worker<Engine>(with, told_through_pipe()).work();
}

int run(const std::string& engine, const arguments& with) {
    try {
        if (engine == "redo") work<redo>(with);
        if (engine == "softwrap_lat") work<softwrap_lat>(with);
        if (engine == "softwrap") work<softwrap>(with);
        if (engine == "undo") work<undo>(with);
        if (engine == "undo_paper") work<undo_paper>(with);
        if (engine == "steal_no_force") work<steal_no_force>(with);
        if (engine == "cc_htm") work<cc_htm>(with);
        std::fprintf(stderr, "kill_worker: no engine %s\n", engine.c_str());
        return 2;
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "kill_worker: %s\n", reason.what());
        return 4;
    }
}

}  // namespace
}  // namespace holdfast::kill

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    const auto durability = holdfast::level_named(argv[2]);
    if (!durability) return 2;
    return holdfast::kill::run(argv[1], {*durability, std::string(argv[3]) == "nvram", argv[4],
                                         std::strtoull(argv[5], nullptr, 10), std::strtoull(argv[6], nullptr, 10)});
}
