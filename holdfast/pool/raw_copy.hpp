// The bytes of a pool as they are, damaged or not: what cp and rm are for files, for devices without read and write.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/file.hpp>

#include <cstdint>
#include <string>

namespace holdfast {

/// Makes `path`, a file that does not exist or an empty device, a copy of the pool, durably. Of a device as much is
/// copied as the pool has, or all where one of its superblocks is damaged. A pool that was in use below `power` is
/// refused in its copy. Returns the bytes copied. Requires: locked.
/// If the process dies inside: `path` has nothing or all of it; on a device the newest superblock may be there without
/// the older one, or be torn. Errors: those of persist::copy_to.
result<std::uint64_t> copy_raw(const persist::file& from, const std::string& path);

/// Makes the device empty, durably: the pool is lost. If the process dies inside: the device is empty, or the pool is
/// as it was, or its newest superblock is there without the older one, or is damaged.
/// Errors: those of persist::file::erase_device.
result<void> erase_raw(const std::string& device);

}  // namespace holdfast
