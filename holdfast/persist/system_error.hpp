// How a failed call to the kernel becomes an error value. Internal to the library.
#pragma once

#include <holdfast/base/result.hpp>

#include <cerrno>
#include <string>

namespace holdfast::persist::detail {

/// The error for a call that failed with `number`: in plain words in `what`, the call and the kernel's words in
/// `found`, the code by the number (io where it has no name of its own).
error system_error(const char* call, const std::string& path, int number);

/// The same for a call about a place in the file.
error system_error_at(const char* call, const std::string& path, std::uint64_t offset, int number);

/// The error of a file that this process has locked already.
error held_here(const std::string& path);

/// Calls `call`, which returns a negative number and sets errno when it fails, until no signal interrupts it.
template <class Call>
auto retried(Call call) {
    auto answer = call();
    while (answer < 0 && errno == EINTR) answer = call();
    return answer;
}

/// How often this process was forked since it was the first of its line: differs between a parent
/// and its child, so that an object can tell that it was inherited.
std::uint64_t fork_generation() noexcept;

}  // namespace holdfast::persist::detail
