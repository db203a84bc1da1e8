// A worker process: started, listened to, killed.
#pragma once

#include "model.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace holdfast::kill {

/// Killed on destruction at the latest.
class worker_process {
public:
    explicit worker_process(std::vector<std::string> command) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        listening_ = ends[0];
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        std::vector<char*> arguments;
        for (auto& each : command) arguments.push_back(each.data());
        arguments.push_back(nullptr);
        const int failed = ::posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        if (failed != 0) throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(failed));
    }
    ~worker_process() {
        if (process_ > 0) kill();
        ::close(listening_);
    }
    worker_process(const worker_process&) = delete;
    worker_process& operator=(const worker_process&) = delete;

    /// Takes acknowledgements for that long, or until the worker ends.
    template <class F>
    void listen(std::chrono::microseconds time, F&& acknowledged) {
        const auto end = std::chrono::steady_clock::now() + time;
        for (;;) {
            const auto left = end - std::chrono::steady_clock::now();
            if (left.count() <= 0) return;
            const auto left_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
            const timespec wait{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
            pollfd ready{listening_, POLLIN, 0};
            if (::ppoll(&ready, 1, &wait, nullptr) > 0 && !take(acknowledged)) return;
        }
    }

    /// SIGKILL, then whatever acknowledgements are left. Returns false when the worker had ended by
    /// itself, which it never should.
    template <class F>
    bool kill_and_listen(F&& acknowledged) {
        ::kill(process_, SIGKILL);
        while (take(acknowledged)) {
        }
        return kill();
    }

private:
    bool kill() {
        ::kill(process_, SIGKILL);
        int status = 0;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }

    /// False at the end of what the worker wrote.
    template <class F>
    bool take(F& acknowledged) {
        std::array<char, 4096 * sizeof(acknowledgement)> bytes;
        const ssize_t count = ::read(listening_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) return true;
        if (count <= 0) return false;
        rest_.append(bytes.data(), static_cast<std::size_t>(count));
        std::size_t done = 0;
        for (; rest_.size() - done >= sizeof(acknowledgement); done += sizeof(acknowledgement)) {
            acknowledgement told;
            std::memcpy(&told, rest_.data() + done, sizeof told);
            acknowledged(told);
        }
        rest_.erase(0, done);
        return true;
    }

    pid_t process_ = -1;
    int listening_ = -1;
    std::string rest_;
};

}  // namespace holdfast::kill
