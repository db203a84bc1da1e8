// Discovers what a path's storage really promises: file system, MAP_SYNC, persistence domain.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/line_path.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::persist {

class file;

/// The kind of medium, with respect to durability.
enum class medium : std::uint8_t {
    file,   ///< page granularity: durable by sync
    tmpfs,  ///< memory: survives the process, not power loss
    nvram,  ///< tmpfs emulating byte-addressable NVRAM, for measurements
    dax,    ///< byte-addressable persistent memory (MAP_SYNC accepted)
};

/// What survives power loss without help, from the region's `persistence_domain` in sysfs.
enum class persistence_domain : std::uint8_t { cpu_cache, memory_controller, unknown };

std::string_view name_of(medium kind) noexcept;
std::string_view name_of(persistence_domain domain) noexcept;

/// The storage under one file or directory.
struct storage {
    medium kind = medium::file;
    persistence_domain domain = persistence_domain::unknown;  ///< meaningful for dax and nvram
    std::string file_system = {};                             ///< "ext4", "tmpfs", …
    bool copy_on_write = false;  ///< btrfs, zfs, bcachefs, overlay: each sync may move blocks
    bool map_sync = false;

    /// True where stores become durable line by line.
    bool byte_addressable() const noexcept { return kind == medium::dax || kind == medium::nvram; }
    /// The line path at `power`: no write-backs where the caches are in the domain.
    line_path lines(std::uint32_t delay_ns) const noexcept {
        return {.write_back_needed = domain != persistence_domain::cpu_cache, .delay_ns = delay_ns};
    }
};

/// The source of discovery; tests supply a fake tree and a fake answer to MAP_SYNC.
struct discovery {
    std::string sysfs_root = "/sys";
    /// Treat tmpfs as NVRAM (measurements).
    bool tmpfs_is_nvram = false;
    /// Treat tmpfs as an ordinary file, whose syncs then cost nothing (exploration).
    bool tmpfs_is_file = false;
    /// Overrides the test of MAP_SYNC: 0 refused, 1 accepted, -1 test.
    int map_sync_answer = -1;
    /// Overrides the device number looked up in sysfs ("259:0"); empty: the file's own.
    std::string device = {};
};

/// Determines the storage under `path` (an existing regular file, directory or device of persistent memory). Leaves no
/// changes: for a directory MAP_SYNC is tested on an unnamed temporary file. Thread-safe.
/// Errors: not_found, permission_denied (a directory that cannot be written), invalid_argument
/// (something else), busy (a DAX file that this process has locked), io.
result<storage> discover(const std::string& path, const discovery& where = {});
/// The same for what is to be made at `path`: the device of that name, or the directory where a new file will be.
result<storage> discover_for_new(const std::string& path, const discovery& where = {});
/// The same for a file that this process has open, and may have locked. Errors: io.
result<storage> discover(const file& opened, const discovery& where = {});

}  // namespace holdfast::persist
