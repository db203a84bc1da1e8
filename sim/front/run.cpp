// Runs a guest program without a model of time, and says how fast: the interpreter alone.
#include <sim/front/functional_memory.hpp>
#include <sim/front/machine.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace holdfast::sim;

int fail(const problem& reason) {
    std::fprintf(stderr, "sim: %s\n", reason.text().c_str());
    return 1;
}

void print_counts(const harts& all, double seconds) {
    std::uint64_t total = 0;
    for (const hart& each : all.all()) {
        std::fprintf(stderr, "hart %u: %llu instructions, %llu of them spinning, waited %llu\n", each.id.value,
                     static_cast<unsigned long long>(each.retired), static_cast<unsigned long long>(each.spun),
                     static_cast<unsigned long long>(each.waited));
        total += each.retired;
    }
    std::fprintf(stderr, "%llu instructions, %.1f million a second\n", static_cast<unsigned long long>(total),
                 static_cast<double>(total) / seconds / 1e6);
}

int run_program(const std::vector<std::string>& arguments) {
    const auto file = read_file(arguments[0]);
    if (!file) return fail(file.problem());
    auto space = address_space::create();
    if (!space) return fail(space.problem());
    const auto loaded = load_elf(*file, arguments[0], *space);
    if (!loaded) return fail(loaded.problem());
    process guest(*loaded, *space, [](int to, std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), to == 1 ? stdout : stderr);
    });
    if (auto started = guest.start(arguments); !started) return fail(started.problem());
    functional_memory memory(*space);
    no_observer nobody;
    machine<functional_memory> simulated(guest, memory, nobody);
    const auto began = std::chrono::steady_clock::now();
    const auto status = simulated.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    print_counts(guest.harts(), took.count());
    return status ? status->value() : fail(status.problem());
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: holdfast_sim_front_run PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    return run_program({arguments + 1, arguments + count});
}
