// Whole files: copied, and put in the place of another.
#pragma once

#include <holdfast/persist/file.hpp>

#include <string>

namespace holdfast::persist {

/// Makes `path` a copy of the file, durably: shares its blocks where the file system can (FICLONE), else copies them.
/// If the process dies inside: nothing stands at `path`, or a whole copy does. Counts a sync or two.
/// Errors: already_exists, permission_denied, not_found (no such directory), no_space, io.
result<void> copy_to(const file& from, const std::string& path);

/// Gives what stands at `from` the name `to`, in place of what had it, durably. Both in one directory. If the process
/// dies inside: one of the two stands at `to`, whole. Errors: not_found, permission_denied, io.
result<void> rename_over(const std::string& from, const std::string& to);

}  // namespace holdfast::persist
