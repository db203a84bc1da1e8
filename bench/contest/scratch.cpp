#include <bench/contest/scratch.hpp>

#include <holdfast/base/result.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

namespace holdfast::bench {
namespace {

/// What an interrupted run leaves to clear away.
struct leftovers {
    std::mutex mutex;
    std::set<pid_t> children;
    std::string memory;
    std::string file;
    bool waiting = false;

    void clear() {
        // Children first: they could make files where the directories just were.
        for (const pid_t child : children) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
        children.clear();
        std::error_code ignored;
        if (!memory.empty()) std::filesystem::remove_all(memory, ignored);
        if (!file.empty()) std::filesystem::remove_all(file, ignored);
    }
};

leftovers& of_this_process() {
    // Never destroyed: the waiting thread may look at it until the very end.
    static auto* const all = new leftovers;
    return *all;
}

void wait_for_signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
    pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
    auto& all = of_this_process();
    // A rival that ended is told of by what it said, not by a signal.
    std::signal(SIGPIPE, SIG_IGN);
    if (all.waiting) return;
    all.waiting = true;
    std::thread([wanted, &all] {
        int signal = 0;
        while (sigwait(&wanted, &signal) != 0) {}
        all.mutex.lock();
        all.clear();
        std::_Exit(128 + signal);
    }).detach();
}

void make_directory(const std::string& path) {
    std::error_code problem;
    std::filesystem::create_directory(path, problem);
    const std::string what = "no directory for the benchmark's pools (" + problem.message() + ")";
    if (problem) throw failure({errc::io, what, path, {}, {}, {}});
}

}  // namespace

scratch::scratch(const std::string& file_directory) {
    const std::string name = "holdfast-bench-" + std::to_string(::getpid());
    memory_ = "/dev/shm/" + name;
    file_ = file_directory + "/" + name;
    wait_for_signals();
    auto& all = of_this_process();
    const std::lock_guard guard(all.mutex);
    make_directory(memory_);
    all.memory = memory_;
    make_directory(file_);
    all.file = file_;
}

scratch::~scratch() {
    auto& all = of_this_process();
    const std::lock_guard guard(all.mutex);
    all.clear();
}

std::string scratch::path(const std::string& medium, const std::string& name) {
    const std::string& directory = medium == "nvram" || medium == "tmpfs" ? memory_ : file_;
    return directory + "/" + name + "-" + std::to_string(next_++);
}

void watch_child(pid_t child) {
    auto& all = of_this_process();
    const std::lock_guard guard(all.mutex);
    all.children.insert(child);
}

void forget_child(pid_t child) {
    auto& all = of_this_process();
    const std::lock_guard guard(all.mutex);
    all.children.erase(child);
}

}  // namespace holdfast::bench
