// For tests that run guest programs: here, in the simulated machine, and there, under qemu, which is the judge.
#pragma once

#include <sim/front/functional_memory.hpp>
#include <sim/front/machine.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::sim::test {

using arguments = std::vector<std::string>;

inline std::string guest_path(const std::string& name) { return HOLDFAST_GUEST_DIRECTORY "/" + name; }

/// A guest program in memory, and how its run ended.
template <class Observer = no_observer>
class guest_run {
public:
    explicit guest_run(const std::string& name, Observer watching = {}) : observer(std::move(watching)) {
        const auto file = read_file(guest_path(name));
        EXPECT_TRUE(file) << file.problem().text();
        auto program_found = load_elf(*file, name, space);
        EXPECT_TRUE(program_found) << program_found.problem().text();
        loaded_ = *std::move(program_found);
        name_ = name;
    }

    /// Begins the program and runs it to its end, or to a pause.
    result<std::optional<int>> run(arguments given, process_options options = {}) {
        given.insert(given.begin(), name_);
        running = std::make_unique<process>(
            loaded_, space, [this](int, std::string_view text) { output += text; }, options);
        if (auto started = running->start(given); !started) return started.problem();
        return machine<functional_memory, Observer>(*running, memory, observer).run();
    }

    const program& loaded() const { return loaded_; }

    std::uint64_t retired() const {
        std::uint64_t sum = 0;
        for (const hart& each : running->harts().all()) sum += each.retired;
        return sum;
    }

    address_space space = *address_space::create();
    functional_memory memory{space};
    Observer observer;
    std::string output{};
    std::unique_ptr<process> running{};

private:
    program loaded_{};
    std::string name_{};
};

/// Runs a command and gives each line of what it writes.
inline int read_lines(const std::string& command, const std::function<void(const char* line)>& take) {
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return -1;
    char text[4096];
    while (std::fgets(text, sizeof text, pipe) != nullptr) take(text);
    return pclose(pipe);
}

inline std::string emulator_command(const std::string& options, const std::string& name, const arguments& given) {
    std::string command = HOLDFAST_RISCV_EMULATOR " " + options + " '" + guest_path(name) + "'";
    for (const std::string& each : given) command += " '" + each + "'";
    return command;
}

/// What the program writes under qemu. Expects it to succeed.
inline std::string output_there(const std::string& name, const arguments& given) {
    std::string output;
    EXPECT_EQ(read_lines(emulator_command("", name, given), [&](const char* line) { output += line; }), 0);
    return output;
}

/// What it writes here.
inline std::string output_here(const std::string& name, const arguments& given) {
    guest_run<> guest(name);
    const auto status = guest.run(given);
    EXPECT_TRUE(status) << status.problem().text();
    EXPECT_EQ(status ? *status : -1, 0);
    return guest.output;
}

}  // namespace holdfast::sim::test
