#include <crash/source_lines.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace holdfast::crash {
namespace {

struct program_range {
    std::uintptr_t base = 0;   ///< what its addresses are relative to
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};

program_range this_program() {
    program_range found;
    ::dl_iterate_phdr(
        [](dl_phdr_info* information, std::size_t, void* to) {
            auto& range = *static_cast<program_range*>(to);
            range.base = range.begin = information->dlpi_addr;
            for (int i = 0; i < information->dlpi_phnum; ++i) {
                const auto& part = information->dlpi_phdr[i];
                if (part.p_type == PT_LOAD) range.end = std::max(range.end, range.base + part.p_vaddr + part.p_memsz);
            }
            return 1;  // the program itself comes first
        },
        &found);
    return found;
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
    const std::filesystem::path inside = normal.lexically_relative(HOLDFAST_SOURCE_ROOT);
    return inside.empty() || inside.native().starts_with("..") ? normal.native() : inside.native();
}

/// Whether a line says something of the program, as opposed to what records it.
bool tells(const source_line& each) {
    const std::string_view file = each.file;
    if (each.line == 0 || file.starts_with("/usr/") || file.starts_with("holdfast/persist/")) return false;
    if (!file.starts_with("crash/")) return true;
    const std::string_view name = file.substr(6);
    const bool is_workload = name.starts_with("containers") || name.find("subject") != std::string_view::npos;
    return is_workload || name.ends_with("test.cpp");
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
        for (const void* frame : call_stacks::of(each))
            addresses.push_back(reinterpret_cast<std::uintptr_t>(frame) - 1);
    read_addresses(std::move(addresses));
}

void source_lines::read_addresses(std::vector<std::uintptr_t> addresses) {
    const program_range program = this_program();
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    std::erase_if(addresses, [&](std::uintptr_t each) {
        return each < program.begin || each >= program.end || known_.contains(each);
    });
    if (addresses.empty()) return;
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").native();
    std::vector<std::string> words{"addr2line", "-e", path, "-a", "-f", "-C", "-i"};
    for (const std::uintptr_t each : addresses) {
        char digits[20];
        const auto end = std::to_chars(digits, digits + sizeof digits, each - program.base, 16).ptr;
        words.emplace_back(digits, end);
        known_[each] = {};
    }
    std::istringstream output(output_of(std::move(words)));
    std::vector<source_line>* to = nullptr;
    for (std::string line, place; std::getline(output, line);) {
        if (line.starts_with("0x")) {
            to = &known_[std::stoull(line, nullptr, 16) + program.base];
            continue;
        }
        if (to == nullptr || !std::getline(output, place)) return;
        const std::size_t colon = place.rfind(':');
        source_line made{short_function(line), short_file(place.substr(0, colon)), 0};
        if (colon != std::string::npos)
            std::from_chars(place.data() + colon + 1, place.data() + place.size(), made.line);
        if (tells(made)) to->push_back(std::move(made));
    }
}

std::vector<source_line> source_lines::of(const void* code, stack_id stack) const {
    std::vector<source_line> lines;
    const auto add = [&](std::uintptr_t address) {
        const auto found = known_.find(address);
        if (found != known_.end()) lines.insert(lines.end(), found->second.begin(), found->second.end());
    };
    auto frames = call_stacks::of(stack);
    if (code != nullptr) {
        // The instruction itself, and its callers: not who noted it.
        add(reinterpret_cast<std::uintptr_t>(code));
        const auto at = std::find(frames.begin(), frames.end(), code);
        if (at != frames.end()) frames.erase(frames.begin(), std::next(at));
    }
    for (const void* frame : frames) add(reinterpret_cast<std::uintptr_t>(frame) - 1);
    return lines;
}

}  // namespace holdfast::crash
