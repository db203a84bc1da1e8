// A path that means a device of persistent memory which is not there.
#pragma once

#include <holdfast/base/result.hpp>

#include <optional>
#include <string>

namespace holdfast::persist {

/// The error of making something at a path in /dev where there is nothing: a file would lie in memory, and be gone with
/// it. Nothing for other paths, and for those in /dev/shm, where that is meant. Thread-safe.
std::optional<error> missing_device(const std::string& path);

}  // namespace holdfast::persist
