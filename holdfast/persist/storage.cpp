#include <holdfast/persist/storage.hpp>

#include <holdfast/persist/device_memory.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/system_error.hpp>

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fcntl.h>

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

namespace holdfast::persist {
namespace {

using detail::system_error;

struct known_file_system {
    std::uint64_t magic;
    std::string_view name;
    bool copy_on_write = false;
    bool in_memory = false;
    bool may_be_dax = false;
};

// The numbers are those of linux/magic.h and of the file systems outside the kernel's tree.
constexpr known_file_system known_file_systems[] = {
    {0x0000EF53, "ext4", false, false, true},
    {0x58465342, "xfs", false, false, true},
    {0x01021994, "tmpfs", false, true, false},
    {0x858458F6, "ramfs", false, true, false},
    {0x9123683E, "btrfs", true, false, false},
    {0x2FC12FC1, "zfs", true, false, false},
    {0xCA451A4E, "bcachefs", true, false, false},
    {0x794C7630, "overlay", true, false, false},
    {0x00003434, "nilfs2", true, false, false},
    {0xF2F52010, "f2fs", false, false, false},
    {0x00006969, "nfs", false, false, false},
    {0x65735546, "fuse", false, false, true},
    {0x01021997, "9p", false, false, false},
    {0xFF534D42, "cifs", false, false, false},
    {0xFE534D42, "smb2", false, false, false},
    {0x4E4F5641, "nova", false, false, true},
    {0x73717368, "squashfs", false, false, false},
    {0x00004D44, "vfat", false, false, false},
    {0x2011BAB0, "exfat", false, false, false},
};

known_file_system look_up(std::uint64_t magic) noexcept {
    for (const auto& candidate : known_file_systems)
        if (candidate.magic == magic) return candidate;
    return {magic, {}, false, false, true};
}

std::string name_of_unknown(std::uint64_t magic) {
    char text[32];
    std::snprintf(text, sizeof text, "unknown (0x%llx)", static_cast<unsigned long long>(magic));
    return text;
}

persistence_domain parse_domain(const std::filesystem::path& attribute) {
    std::string word;
    std::ifstream(attribute) >> word;
    if (word == "cpu_cache") return persistence_domain::cpu_cache;
    if (word == "memory_controller") return persistence_domain::memory_controller;
    return persistence_domain::unknown;
}

/// The domain that holds for both parts of a device made of several.
persistence_domain weaker(persistence_domain a, persistence_domain b) noexcept { return std::max(a, b); }
static_assert(persistence_domain::cpu_cache < persistence_domain::memory_controller);
static_assert(persistence_domain::memory_controller < persistence_domain::unknown);

/// Walks up from a block device's directory to the region that it is a namespace of.
persistence_domain domain_of_device(const std::filesystem::path& root, const std::filesystem::path& device,
                                    int depth) {
    namespace fs = std::filesystem;
    constexpr int depth_max = 8;
    std::error_code failed;
    // A mapped device (LVM, striping) is as good as the weakest device below it.
    fs::directory_iterator slaves(device / "slaves", failed);
    if (!failed && slaves != fs::directory_iterator{} && depth < depth_max) {
        auto domain = persistence_domain::cpu_cache;
        for (const auto& slave : slaves) {
            const auto below = fs::canonical(slave.path(), failed);
            domain = weaker(domain,
                            failed ? persistence_domain::unknown : domain_of_device(root, below, depth + 1));
        }
        return domain;
    }
    for (auto at = device; at != root && at.has_relative_path(); at = at.parent_path()) {
        if (fs::exists(at / "persistence_domain", failed)) return parse_domain(at / "persistence_domain");
        const auto name = at.filename().string();
        const auto region = root / "bus/nd/devices" / name / "persistence_domain";
        if (name.starts_with("region") && fs::exists(region, failed)) return parse_domain(region);
    }
    return persistence_domain::unknown;
}

persistence_domain find_domain(const discovery& where, dev_t device) {
    namespace fs = std::filesystem;
    const std::string number = !where.device.empty()
                                   ? where.device
                                   : std::to_string(major(device)) + ":" + std::to_string(minor(device));
    std::error_code failed;
    const auto root = fs::canonical(where.sysfs_root, failed);
    if (failed) return persistence_domain::unknown;
    const auto resolved = fs::canonical(root / "dev/block" / number, failed);
    if (failed) return persistence_domain::unknown;
    return domain_of_device(root, resolved, 0);
}

/// Ordinary memory that looks like such a device survives the process, as tmpfs does.
storage storage_of(const device_description& device, const discovery& where) {
    storage found;
    found.file_system = "device " + device.name;
    found.kind = device.is_persistent ? medium::dax : medium::tmpfs;
    found.map_sync = device.is_persistent;
    if (device.stands_in) found.kind = medium::nvram;
    std::error_code failed;
    const auto root = std::filesystem::canonical(where.sysfs_root, failed);
    if (!failed && !device.directory.empty()) found.domain = domain_of_device(root, device.directory, 0);
    return found;
}

result<bool> try_mapping(const file& candidate) {
    const auto tried = mapping::map(candidate, 0, 4096, 4096, mapping::kind::shared_sync);
    if (tried) return true;
    if (tried.error().code == errc::level_unavailable) return false;
    return tried.error();
}

/// True when the kernel says that the file at `path`, or else behind `descriptor`, is not on DAX.
bool surely_not_dax(const char* path, int descriptor = AT_FDCWD) noexcept {
    struct statx status {};
    if (::statx(descriptor, path, AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0) return false;
    return (status.stx_attributes_mask & STATX_ATTR_DAX) != 0 && (status.stx_attributes & STATX_ATTR_DAX) == 0;
}

result<bool> try_map_sync_of(const file& opened) {
    if (surely_not_dax("", opened.descriptor())) return false;
    const auto bytes = opened.size();
    if (!bytes) return bytes.error();
    if (*bytes < 4096) return false;
    return try_mapping(opened);
}

result<bool> try_map_sync(const std::string& path, bool is_directory, const file* opened) {
    if (opened != nullptr) return try_map_sync_of(*opened);
    if (is_directory) {
        auto unnamed = file::create_unnamed(path);
        if (!unnamed && unnamed.error().code == errc::permission_denied) return unnamed.error();
        if (!unnamed) return false;  // a directory that holds no files of ours, such as /proc
        if (surely_not_dax("", unnamed->descriptor())) return false;
        if (auto allocated = unnamed->allocate(4096); !allocated) return allocated.error();
        return try_mapping(*unnamed);
    }
    if (surely_not_dax(path.c_str())) return false;
    auto found = file::open(path, file::access::read_write);
    if (!found) return found.error();
    return try_map_sync_of(*found);
}

result<storage> discover_at(const std::string& path, const discovery& where, const file* opened) {
    if (const auto device = find_device(path, where.sysfs_root)) return storage_of(*device, where);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return system_error("stat", path, errno);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        return error{.code = errc::invalid_argument,
                     .what = "cannot determine what this path is",
                     .path = path,
                     .expected = "a regular file, a directory or a device of persistent memory"};
    }
    struct statfs system {};
    if (::statfs(path.c_str(), &system) != 0) return system_error("statfs", path, errno);
    const auto magic = static_cast<std::uint64_t>(system.f_type) & 0xFFFFFFFFu;
    const auto known = look_up(magic);

    storage found;
    found.file_system = known.name.empty() ? name_of_unknown(magic) : std::string(known.name);
    found.copy_on_write = known.copy_on_write;
    if (where.map_sync_answer >= 0) {
        found.map_sync = where.map_sync_answer != 0;
    } else if (known.may_be_dax) {
        const auto tried = try_map_sync(path, S_ISDIR(status.st_mode), opened);
        if (!tried) return tried.error();
        found.map_sync = *tried;
    }
    if (found.map_sync) {
        found.kind = medium::dax;
        found.domain = find_domain(where, status.st_dev);
    } else if (known.in_memory && where.tmpfs_is_nvram) {
        found.kind = medium::nvram;
        // It stands for a named device where one is given, so that every domain can be run for real.
        found.domain =
            where.device.empty() ? persistence_domain::memory_controller : find_domain(where, status.st_dev);
    } else if (known.in_memory && !where.tmpfs_is_file) {
        found.kind = medium::tmpfs;
    }
    return found;
}

}  // namespace

std::string_view name_of(medium kind) noexcept {
    switch (kind) {
        case medium::file: return "file";
        case medium::tmpfs: return "tmpfs";
        case medium::nvram: return "nvram";
        case medium::dax: return "dax";
    }
    return "unknown";
}

std::string_view name_of(persistence_domain domain) noexcept {
    switch (domain) {
        case persistence_domain::cpu_cache: return "cpu_cache";
        case persistence_domain::memory_controller: return "memory_controller";
        case persistence_domain::unknown: return "unknown";
    }
    return "unknown";
}

result<storage> discover(const std::string& path, const discovery& where) { return discover_at(path, where, nullptr); }

result<storage> discover_for_new(const std::string& path, const discovery& where) {
    return discover(find_device(path, where.sysfs_root) ? path : directory_of(path), where);
}

result<storage> discover(const file& opened, const discovery& where) {
    return discover_at(opened.path(), where, &opened);
}

}  // namespace holdfast::persist
