// rig_guest work|verify ENGINE PATH THREADS SEED: what the rig's machine runs. On the console it says
//   a THREAD NUMBER        a transaction is committed (work)
//   done THREAD NUMBER     so many are there (verify)
//   problem SENTENCE       something is torn, or the program cannot go on
#include "guest.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace holdfast::rig {
namespace {

void say(const std::string& line) {
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

std::string on_one_line(std::string text) {
    for (char& each : text)
        if (each == '\n') each = ' ';
    return text;
}

int verify(const workload& which, const request& of) {
    const findings found = which.verify(of);
    for (std::uint64_t thread = 0; thread < found.done.size(); ++thread)
        say("done " + std::to_string(thread) + " " + std::to_string(found.done[thread]) + "\n");
    for (const std::string& each : found.problems) say("problem " + on_one_line(each) + "\n");
    return found.problems.empty() ? 0 : 1;
}

int run(const std::string& what, const request& of) {
    const workload* const which = workload_named(of.engine);
    if (which == nullptr || (what != "work" && what != "verify")) {
        std::fprintf(stderr, "rig_guest: there is no '%s %s'\n", what.c_str(), of.engine.c_str());
        return 2;
    }
    try {
        if (what == "verify") return verify(*which, of);
        which->work(of);
        throw std::runtime_error("the work ended by itself");
    } catch (const std::exception& reason) {
        say("problem " + on_one_line(what + " of " + of.engine + ": " + reason.what()) + "\n");
        return 1;
    }
}

}  // namespace

void acknowledge(std::uint64_t thread, std::uint64_t number) {
    char line[48];
    const int bytes = std::snprintf(line, sizeof line, "a %llu %llu\n", static_cast<unsigned long long>(thread),
                                    static_cast<unsigned long long>(number));
    if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(bytes)) != bytes) std::_Exit(3);
}

void give_up(std::uint64_t thread, const std::exception& reason) {
    say("problem thread " + std::to_string(thread) + ": " + on_one_line(reason.what()) + "\n");
    std::_Exit(1);
}

}  // namespace holdfast::rig

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: rig_guest work|verify ENGINE PATH THREADS SEED\n");
        return 2;
    }
    return holdfast::rig::run(argv[1], {argv[2], argv[3], std::strtoull(argv[4], nullptr, 10),
                                        std::strtoull(argv[5], nullptr, 10)});
}
