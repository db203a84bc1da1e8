#include <crash/source_line.hpp>

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace holdfast::crash {
namespace {

/// What addr2line says; "??:0" or empty where it knows nothing.
std::string ask_addr2line(const std::string& object, const std::string& offset) {
    if (object.find('\'') != std::string::npos) return {};
    const std::string command = "addr2line -s -e '" + object + "' " + offset + " 2>/dev/null";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> answer(::popen(command.c_str(), "r"), ::pclose);
    char line[512];
    if (answer == nullptr || std::fgets(line, sizeof line, answer.get()) == nullptr) return {};
    // "accounts.cpp:31 (discriminator 2)"
    const std::string text(line);
    return text.substr(0, text.find_first_of(" \n"));
}

}  // namespace

std::string source_line_of(const void* code) {
    Dl_info found{};
    link_map* object = nullptr;
    if (::dladdr1(code, &found, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) return "code of no object";
    const bool is_program = object->l_name == nullptr || *object->l_name == '\0';
    const std::string path = is_program ? std::filesystem::read_symlink("/proc/self/exe").string() : object->l_name;
    char offset[32];
    std::snprintf(offset, sizeof offset, "0x%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(code) - object->l_addr));
    const std::string line = ask_addr2line(path, offset);
    if (!line.empty() && line[0] != '?') return line;
    const std::string place = std::filesystem::path(path).filename().string() + "+" + offset;
    return found.dli_sname == nullptr ? place : std::string(found.dli_sname) + " (" + place + ")";
}

}  // namespace holdfast::crash
