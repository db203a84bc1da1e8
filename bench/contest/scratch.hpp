// Where benchmarks put their pools, and how those go away again.
#pragma once

#include <sys/types.h>

#include <string>

namespace holdfast::bench {

/// Two directories named after this process, one in memory and one on an ordinary file system,
/// removed on destruction and when SIGINT, SIGTERM or SIGHUP ends the process. One at a time.
/// Construct it before any thread: it blocks those signals and waits for them in a thread of its own.
class scratch {
public:
    /// Errors (failure): io, not_found, permission_denied.
    explicit scratch(const std::string& file_directory);
    ~scratch();
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    const std::string& memory_directory() const noexcept { return memory_; }
    const std::string& file_directory() const noexcept { return file_; }
    /// A path that no one else was given, in memory for the media nvram and tmpfs.
    std::string path(const std::string& medium, const std::string& name);

private:
    std::string memory_;
    std::string file_;
    unsigned next_ = 0;
};

/// A child that must not outlive an interrupted run.
void watch_child(pid_t child);
void forget_child(pid_t child);

}  // namespace holdfast::bench
