#include <crash/record/source_lines.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace holdfast::crash {
namespace {

using lines_by_address = std::map<std::uintptr_t, std::vector<source_line>>;

/// Once read they stay right: instructions do not change.
lines_by_address lines_of_program;

/// A file that is loaded into this process, and the last symbol before an instruction in it.
struct loaded_object {
    const link_map* map;
    const char* symbol;  ///< nullptr: there is none

    bool is_program() const { return map->l_name == nullptr || *map->l_name == '\0'; }
    std::string path() const {
        return is_program() ? std::filesystem::read_symlink("/proc/self/exe").native() : map->l_name;
    }
};

std::optional<loaded_object> object_with(std::uintptr_t code) {
    Dl_info found{};
    link_map* map = nullptr;
    if (::dladdr1(reinterpret_cast<void*>(code), &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
        return {};
    return loaded_object{map, found.dli_sname};
}

bool is_in_program(std::uintptr_t code) {
    const auto object = object_with(code);
    return object && object->is_program();
}

/// What the command prints; empty when it cannot be run.
std::string output_of(std::vector<std::string> words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (std::string& each : words) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string output;
    char buffer[4096];
    for (ssize_t got; failed == 0 && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        output.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    if (failed == 0) ::waitpid(child, nullptr, 0);
    return output;
}

/// "holdfast::redo::commit" of "void holdfast::redo<int>::commit(long) [clone .cold]".
std::string short_function(std::string_view name) {
    std::string text;
    int depth = 0;
    for (const char each : name) {
        if (each == '<') ++depth;
        if (each == '(' && depth == 0 && !text.empty() && !text.ends_with("::")) break;
        if (depth == 0) text += each;
        if (each == '>' && depth > 0) --depth;
    }
    const std::size_t space = text.rfind(' ');
    return space == std::string::npos || text.find("operator") != std::string::npos ? text : text.substr(space + 1);
}

std::string short_file(std::string_view path) {
    const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    // The first stands in the line tables of what the explorer brings, the second in those of tests here.
    for (const char* const root : {"/holdfast-sources", HOLDFAST_SOURCE_ROOT}) {
        const std::filesystem::path inside = normal.lexically_relative(root);
        if (!inside.empty() && !inside.native().starts_with("..")) return inside.native();
    }
    return normal.native();
}

/// Digits of `number` as addr2line reads and writes them, without "0x".
std::string in_hexadecimal(std::uintptr_t number) {
    char digits[20];
    return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

/// The lines of each address in the object, innermost first; none of what addr2line does not know.
lines_by_address ask_addr2line(const loaded_object& object, const std::vector<std::uintptr_t>& addresses) {
    std::vector<std::string> words{"addr2line", "-e", object.path(), "-a", "-f", "-C", "-i"};
    lines_by_address lines;
    for (const std::uintptr_t each : addresses) {
        words.push_back(in_hexadecimal(each - object.map->l_addr));
        lines[each] = {};
    }
    std::istringstream output(output_of(std::move(words)));
    std::vector<source_line>* to = nullptr;
    for (std::string line, place; std::getline(output, line);) {
        if (line.starts_with("0x")) {
            to = &lines[std::stoull(line, nullptr, 16) + object.map->l_addr];
            continue;
        }
        if (to == nullptr || !std::getline(output, place)) break;
        const std::size_t colon = place.rfind(':');
        source_line made{short_function(line), short_file(place.substr(0, colon)), 0};
        if (colon != std::string::npos)
            std::from_chars(place.data() + colon + 1, place.data() + place.size(), made.line);
        if (made.line != 0) to->push_back(std::move(made));
    }
    return lines;
}

/// Whether a line says something of the program, as opposed to what records it.
bool tells(const source_line& each) {
    const std::string_view file = each.file;
    if (file.starts_with("/usr/") || file.starts_with("holdfast/persist/")) return false;
    if (!file.starts_with("crash/")) return true;
    return file.starts_with("crash/subjects/") || file.ends_with("test.cpp");
}

/// Those of the program that are not known yet.
void read_addresses(std::vector<std::uintptr_t> addresses) {
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    std::erase_if(addresses,
                  [](std::uintptr_t each) { return lines_of_program.contains(each) || !is_in_program(each); });
    if (addresses.empty()) return;
    for (auto& [address, lines] : ask_addr2line(*object_with(addresses.front()), addresses)) {
        std::erase_if(lines, [](const source_line& each) { return !tells(each); });
        lines_of_program[address] = std::move(lines);
    }
}

}  // namespace

void source_lines::read(const trace& recorded) {
    std::vector<std::uintptr_t> addresses;
    std::vector<stack_id> stacks;
    for (const event& each : recorded.events) {
        if (each.code != nullptr) addresses.push_back(reinterpret_cast<std::uintptr_t>(each.code));
        stacks.push_back(each.stack);
    }
    read_addresses(std::move(addresses));
    read(stacks);
}

void source_lines::read(const std::vector<stack_id>& stacks) {
    std::vector<std::uintptr_t> addresses;
    for (const stack_id each : stacks)
        for (const void* frame : call_stacks::frames_of(each))
            addresses.push_back(reinterpret_cast<std::uintptr_t>(frame) - 1);
    read_addresses(std::move(addresses));
}

std::vector<source_line> source_lines::lines_of(const void* code, stack_id stack) const {
    std::vector<source_line> lines;
    const auto add = [&](std::uintptr_t address) {
        const auto found = lines_of_program.find(address);
        if (found != lines_of_program.end()) lines.insert(lines.end(), found->second.begin(), found->second.end());
    };
    auto frames = call_stacks::frames_of(stack);
    if (code != nullptr) {
        // The instruction itself, and its callers: not who noted it.
        add(reinterpret_cast<std::uintptr_t>(code));
        const auto at = std::find(frames.begin(), frames.end(), code);
        if (at != frames.end()) frames.erase(frames.begin(), std::next(at));
    }
    for (const void* frame : frames) add(reinterpret_cast<std::uintptr_t>(frame) - 1);
    return lines;
}

std::string source_line_of(const void* code) {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    const auto object = object_with(address);
    if (!object) return "code of no object";
    const auto lines = ask_addr2line(*object, {address})[address];
    const auto file_name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
    if (!lines.empty()) return file_name(lines.front().file) + ":" + std::to_string(lines.front().line);
    const std::string place = file_name(object->path()) + "+0x" + in_hexadecimal(address - object->map->l_addr);
    return object->symbol == nullptr ? place : std::string(object->symbol) + " (" + place + ")";
}

}  // namespace holdfast::crash
