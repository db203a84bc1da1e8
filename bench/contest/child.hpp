// A program beside the command that runs batches when told to over a pipe, from the parent's side.
#pragma once

#include <bench/contest/contestant.hpp>

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace holdfast::bench {

/// The path of the program `name` in this one's directory.
/// Throws failure: not_found.
std::string program_beside(const std::string& name);

/// This process's environment without the variables whose names begin with one of `prefixes`.
std::vector<std::string> environment_without(const std::vector<std::string>& prefixes);

/// A started program with pipes to it. Killed when destroyed, and when an interrupted run ends.
class child_process {
public:
    /// `arguments[0]` is the program's path; `who` stands in errors. Throws failure: io.
    child_process(std::string who, const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment);
    ~child_process();
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// Waits until it says that it can begin. Throws failure: io, with what it said instead.
    void wait_until_ready();
    /// Has it run `transactions` of the case `name`. Throws failure: io, with what it said.
    batch run(const std::string& name, std::uint64_t transactions);

private:
    std::string hear();

    std::string who_;
    pid_t id_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

}  // namespace holdfast::bench
