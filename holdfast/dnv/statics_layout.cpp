// What a pool says of its static variables, as text, and as a linker script for the next build of their program.
#include <holdfast/dnv/layout.hpp>
#include <holdfast/dnv/statics.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace holdfast::dnv {
namespace {

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

}  // namespace

std::string write_names(const std::vector<static_variable>& variables) {
    std::string text;
    for (const static_variable& each : variables)
        text += std::to_string(each.address) + " " + std::to_string(each.bytes) + " " + each.name + "\n";
    return text;
}

std::vector<static_variable> read_names(std::string_view text) {
    std::vector<static_variable> variables;
    while (!text.empty()) {
        const std::string line(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        static_variable each;
        char* rest = nullptr;
        each.address = std::strtoull(line.c_str(), &rest, 10);
        each.bytes = std::strtoull(rest, &rest, 10);
        each.name = *rest == ' ' ? rest + 1 : rest;
        variables.push_back(std::move(each));
    }
    return variables;
}

std::string linker_script(const std::vector<static_variable>& variables, std::uint64_t bytes) {
    std::string text =
        "/* The static variables of a pool at their places, and new ones behind (holdfast pool layout). In CMake:\n"
        "   holdfast_target_dnv(program LAYOUT this-file). */\n"
        "SECTIONS\n"
        "{\n"
        "  holdfast_dnv_statics " + hexadecimal(statics_address) + " :\n"
        "  {\n"
        "    PROVIDE_HIDDEN(holdfast_dnv_statics_begin = .);\n";
    for (const static_variable& each : variables) {
        if (each.name.find(static_variable::before_number) != std::string::npos) continue;
        text += "    . = " + hexadecimal(each.address - statics_address) + ";\n    KEEP(*(holdfast_dnv_statics." +
                each.name + ")) /* " + std::to_string(each.bytes) + " bytes */\n";
    }
    return text + "    . = " + hexadecimal(bytes) + ";\n"
        "    KEEP(*(holdfast_dnv_statics holdfast_dnv_statics.*))\n"
        "    PROVIDE_HIDDEN(holdfast_dnv_statics_end = .);\n"
        "    . = ALIGN(4096);\n"
        "  }\n"
        "}\n"
        "INSERT AFTER .bss;\n"
        "ASSERT(__executable_start != 0, \"holdfast: a program of DNV Memory has its static variables at fixed "
        "addresses: expected -no-pie, found -pie\")\n";
}

}  // namespace holdfast::dnv
