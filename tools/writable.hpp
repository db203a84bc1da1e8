// Whether a file can be written, asked before work whose result goes there.
#pragma once

#include <holdfast/base/result.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace holdfast::tools {

/// Without touching it: what is there stays as it is until there is something better. An empty path is none.
/// Errors: not_found (its directory), permission_denied.
inline result<void> check_writable(const std::string& path) {
    if (path.empty()) return {};
    namespace fs = std::filesystem;
    const auto refuse = [&](errc code, const char* what, std::string expected, std::string found) {
        return error{.code = code, .what = what, .path = path, .expected = std::move(expected),
                     .found = std::move(found), .remedy = "name another file"};
    };
    std::error_code unknown;
    if (fs::is_directory(path, unknown))
        return refuse(errc::permission_denied, "a directory is not a file", "a file", "");
    const bool exists = fs::exists(path, unknown);
    std::string directory = fs::path(path).parent_path().string();
    if (directory.empty()) directory = ".";
    if (!exists && !fs::is_directory(directory, unknown))
        return refuse(errc::not_found, "the directory is missing", "a directory " + directory, "none");
    if (::access(exists ? path.c_str() : directory.c_str(), W_OK) == 0) return {};
    return refuse(errc::permission_denied, "the file cannot be written", "", std::strerror(errno));
}

}  // namespace holdfast::tools
