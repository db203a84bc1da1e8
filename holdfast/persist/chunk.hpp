// Chunks of persistent memory, into which the kernel module divides its region (kernel/holdfast_chunks.h). Their paths
// are NODE:KEY, such as /dev/holdfast:17. An open node uses one chunk and maps it.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::persist {

struct chunk_name {
    std::string node;
    std::uint64_t key = 0;
};

/// What a path of that form names, decimal or with 0x; nothing if its node is not the module's.
std::optional<chunk_name> chunk_of_path(const std::string& path, const std::string& sysfs_root = "/sys");

struct chunk_in_use {
    std::uint64_t bytes = 0;
    unsigned mode = 0;  ///< permission bits, as of a file
};
/// Has the open node use the chunk. Errors: not_found, permission_denied, io.
result<chunk_in_use> use_chunk(int descriptor, const chunk_name& name);
/// Makes it, all zero, of at least `bytes`, and has the open node use it. Returns its bytes.
/// Errors: already_exists, no_space, io.
result<std::uint64_t> make_chunk(int descriptor, const chunk_name& name, std::uint64_t bytes, unsigned mode);
/// Frees it, durably: what was in it is lost. Requires: this process does not use it.
/// Errors: not_found, permission_denied (another user's), busy (in use), io.
result<void> free_chunk(const chunk_name& name);

}  // namespace holdfast::persist
