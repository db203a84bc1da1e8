// What this room's tests share: scratch directories, children and their ends, the emulator.
#pragma once

#include <holdfast/persist/file.hpp>

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::persist::test {

/// A directory that vanishes with this object, in the process that made it.
class scratch_directory {
public:
    explicit scratch_directory(const std::string& parent = std::filesystem::temp_directory_path()) {
        path_ = parent + "/holdfast-test-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) path_.clear();
        EXPECT_FALSE(path_.empty()) << "no scratch directory in " << parent;
    }
    ~scratch_directory() {
        std::error_code ignored;
        if (owner_ == ::getpid()) std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    pid_t owner_ = ::getpid();
};

/// A tmpfs (or another file system in memory) with `options`, mounted on its own directory;
/// `mounted()` is false where that is not permitted.
class small_tmpfs {
public:
    explicit small_tmpfs(const std::string& options, const char* type = "tmpfs") {
        mounted_ = ::mount("none", directory_.path().c_str(), type, 0, options.c_str()) == 0;
    }
    ~small_tmpfs() {
        if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
    }
    small_tmpfs(const small_tmpfs&) = delete;
    small_tmpfs& operator=(const small_tmpfs&) = delete;

    bool mounted() const { return mounted_; }
    const std::string& path() const { return directory_.path(); }
    std::string file(const std::string& name) const { return directory_.file(name); }

private:
    scratch_directory directory_;
    bool mounted_ = false;
};

/// The raw wait status of a child that runs `body` and exits with what it returns.
template <class Body>
int run_in_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

/// True when `status` is that of a child that exited with `code`.
inline bool exited_with(int status, int code) { return WIFEXITED(status) && WEXITSTATUS(status) == code; }

/// Runs `body` in a child and kills it as it enters its system call number `call`, from 0: a kill at any moment
/// leaves what some number of calls did. False when `body` came to its end before, which it must with true.
template <class Body>
bool killed_at_system_call(int call, Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        ::_exit(body() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    constexpr int at_a_call = SIGTRAP | 0x80;
    bool enters = false;
    for (long signal = 0; WIFSTOPPED(status);) {
        if (enters && call-- == 0) ::kill(child, SIGKILL);
        ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
        if (::waitpid(child, &status, 0) != child) break;
        const int stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        signal = stopped_by == at_a_call ? 0 : stopped_by;
        enters = stopped_by == at_a_call && !enters;
    }
    const bool was_killed = WIFSIGNALED(status);
    EXPECT_TRUE(was_killed || exited_with(status, 0)) << status;
    return was_killed;
}

/// True under qemu-user, which ignores MADV_DONTFORK and lets the kernel answer for another processor.
inline bool emulated() {
#if defined(__aarch64__)
    std::ifstream information("/proc/cpuinfo");
    for (std::string line; std::getline(information, line);)
        if (line.starts_with("vendor_id")) return true;
#endif
    return false;
}

/// A file that stands at `path`, open.
inline result<file> create_file(const std::string& path, unsigned mode = 0600) {
    auto made = file::prepare(path, mode);
    if (!made) return made;
    if (auto published = made->publish(); !published) return published.error();
    return made;
}

/// Lets no write of this process reach beyond `bytes` while it lives: how a device that fails looks.
class failing_device {
public:
    explicit failing_device(rlim_t bytes = 1) : ignored_before_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit now{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~failing_device() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, ignored_before_);
    }
    failing_device(const failing_device&) = delete;
    failing_device& operator=(const failing_device&) = delete;

private:
    rlimit before_{};
    void (*ignored_before_)(int);
};

inline void write_text(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

}  // namespace holdfast::persist::test
