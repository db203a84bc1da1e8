// Whole files: copied, and put in the place of another.
#pragma once

#include <holdfast/persist/file.hpp>

#include <string>

namespace holdfast::persist {

/// Which of a file is copied.
struct copied_part {
    std::uint64_t bytes = ~std::uint64_t{0};  ///< from its beginning on; all, if it has less
    std::uint64_t newest = 0;                 ///< as file::publish has it
};

/// Makes `path` a copy of the file, durably: shares its blocks where the file system can (FICLONE), else copies them.
/// If the process dies inside: nothing stands at `path`, or a whole copy does, or what file::publish leaves on a
/// device. Counts a sync or two.
/// Errors: already_exists, permission_denied, not_found (no such directory), no_space, io.
result<void> copy_to(const file& from, const std::string& path, const copied_part& part = {});

/// Gives what stands at `from` the name `to`, in place of what had it, durably. Both in one directory. If the process
/// dies inside: one of the two stands at `to`, whole. Errors: not_found, permission_denied, io.
result<void> rename_over(const std::string& from, const std::string& to);

}  // namespace holdfast::persist
