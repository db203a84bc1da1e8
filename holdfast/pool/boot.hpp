// Which boot of the machine this is, and which file: what a pool in use below `power` must not have outlived.
#pragma once

#include <holdfast/persist/file.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast {

/// A boot id; empty where the kernel has none.
class boot_id {
public:
    std::string_view text() const noexcept { return {text_, ::strnlen(text_, sizeof text_)}; }

    char text_[40] = {};
};

/// Asks the kernel for its boot id, once in a process. Without an answer a pool would be opened that no later opening
/// could tell from one of another boot. Errors: io and what else opening and reading say, but for a kernel without one.
/// Thread-safe.
result<void> learn_boot_id();

/// What `learn_boot_id` has learnt; empty before.
boot_id current_boot_id() noexcept;

/// A number that a copy of the file does not have, wherever it is mounted: made from the file system's device, the
/// inode and its birth. 0 where a sandbox forbids the question, which is no mark. Errors: io and what else statx says;
/// without the answer a copy cannot be told from the file.
result<std::uint32_t> mark_of(const persist::file& file);

}  // namespace holdfast
