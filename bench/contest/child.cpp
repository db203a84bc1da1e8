#include <bench/contest/child.hpp>
#include <bench/contest/scratch.hpp>

#include <holdfast/base/result.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string_view>

extern char** environ;

namespace holdfast::bench {
namespace {

[[noreturn]] void give_up(const std::string& what, const std::string& path = {}) {
    throw failure({errc::io, what, path, {}, {}, {}});
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

std::string program_beside(const std::string& name) {
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    if (!std::filesystem::exists(beside))
        throw failure({errc::not_found, "a program of the benchmarks is not here", beside.string(), {}, {}, {}});
    return beside.string();
}

std::vector<std::string> environment_without(const std::vector<std::string>& prefixes) {
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each) {
        bool left_out = false;
        for (const auto& prefix : prefixes) left_out |= std::string_view(*each).starts_with(prefix);
        if (!left_out) all.emplace_back(*each);
    }
    return all;
}

child_process::child_process(std::string who, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment)
    : who_(std::move(who)) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) give_up("no pipe to " + who_);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failed = ::posix_spawn(&id_, arguments[0].c_str(), &actions, &attributes, pointers(arguments).data(),
                                     pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
    if (failed != 0) give_up(who_ + " could not be started", arguments[0]);
    watch_child(id_);
}

child_process::~child_process() {
    std::fclose(to_);
    std::fclose(from_);
    if (id_ > 0) {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
        forget_child(id_);
    }
}

std::string child_process::hear() {
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), from_) == nullptr) give_up(who_ + " ended unasked");
    std::string text = line.data();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.substr(0, 6) == "error ") give_up(who_ + ": " + text.substr(6));
    return text;
}

void child_process::wait_until_ready() {
    if (hear() != "ready") give_up(who_ + " did not say that it is ready");
}

batch child_process::run(const std::string& name, std::uint64_t transactions) {
    std::fputs(("run " + name + " " + std::to_string(transactions) + "\n").c_str(), to_);
    std::fflush(to_);
    std::istringstream said(hear());
    batch done;
    int counted = 0;
    said >> done.transactions >> done.ns >> counted;
    if (counted != 0) {
        auto& medium = done.spent.emplace().medium;
        said >> medium.write_backs >> medium.fences >> medium.streamed_bytes;
    }
    if (!said) give_up(who_ + " was not understood: " + said.str());
    observation one;
    while (said >> one.metric >> one.unit >> one.value) done.seen.push_back(one);
    return done;
}

}  // namespace holdfast::bench
