// Which boot of the machine this is, and which file: what a pool in use below `power` must not have outlived.
#pragma once

#include <holdfast/persist/file.hpp>

#include <cstdint>
#include <string>

namespace holdfast {

/// The kernel's boot id; empty where it has none.
std::string current_boot_id();

/// A number that a copy of the file does not have, wherever it is mounted: made from the file system's device, the
/// inode and its birth. 0 where the kernel does not say, which is no mark.
std::uint32_t mark_of(const persist::file& file) noexcept;

}  // namespace holdfast
