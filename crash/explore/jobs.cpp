#include <crash/explore/jobs.hpp>

#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

#include <poll.h>
#include <unistd.h>

namespace holdfast::crash {
namespace {

constexpr int task_failed = 99;

struct job {
    std::size_t task;
    pid_t process;
    int pipe;
    std::string answer;
};

void write_all(int to, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t written = ::write(to, text.data() + at, text.size() - at);
        if (written <= 0) return;
        at += static_cast<std::size_t>(written);
    }
}

std::optional<job> start(const std::function<std::string()>& task, std::size_t index) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    std::fflush(nullptr);
    const pid_t process = ::fork();
    if (process == 0) {
        ::close(ends[0]);
        int status = 0;
        try {
            write_all(ends[1], task());
        } catch (const std::exception& reason) {
            write_all(ends[1], reason.what());
            status = task_failed;
        }
        ::_exit(status);
    }
    ::close(ends[1]);
    if (process < 0) {
        ::close(ends[0]);
        return {};
    }
    return job{index, process, ends[0], {}};
}

/// Reads what has come; false at the end.
bool read_some(job& from) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(from.pipe, buffer.data(), buffer.size());
    if (got > 0) from.answer.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
}

/// What went wrong, if anything did.
std::optional<std::string> end(job& ended) {
    ::close(ended.pipe);
    int status = 0;
    ::waitpid(ended.process, &status, 0);
    if (WIFSIGNALED(status)) return std::string("it died by signal ") + ::strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return ended.answer;
    return {};
}

}  // namespace

void run_jobs(const std::vector<std::function<std::string()>>& tasks, unsigned jobs,
              const std::function<void(std::size_t, const std::string&)>& done,
              const std::function<void(std::size_t, const std::string&)>& failed) {
    struct outcome {
        std::string answer;
        std::optional<std::string> wrong;
    };
    std::vector<std::optional<outcome>> outcomes(tasks.size());
    std::vector<job> running;
    std::size_t next = 0;
    std::size_t told = 0;
    while (told < tasks.size()) {
        while (running.size() < std::max(jobs, 1u) && next < tasks.size()) {
            auto started = start(tasks[next], next);
            if (!started) {
                outcomes[next] = outcome{{}, "no process could be started for it"};
            } else {
                running.push_back(std::move(*started));
            }
            ++next;
        }
        std::vector<pollfd> waiting;
        for (const job& each : running) waiting.push_back({each.pipe, POLLIN, 0});
        if (!waiting.empty()) ::poll(waiting.data(), waiting.size(), -1);
        for (std::size_t i = waiting.size(); i > 0; --i) {
            if (waiting[i - 1].revents == 0 || read_some(running[i - 1])) continue;
            auto wrong = end(running[i - 1]);
            outcomes[running[i - 1].task] = outcome{std::move(running[i - 1].answer), std::move(wrong)};
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i - 1));
        }
        for (; told < tasks.size() && outcomes[told]; ++told) {
            const outcome& each = *outcomes[told];
            each.wrong ? failed(told, *each.wrong) : done(told, each.answer);
        }
    }
}

}  // namespace holdfast::crash
