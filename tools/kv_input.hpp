// What `kv load` reads: lines, each an entry.
#pragma once

#include <holdfast/base/result.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast::tools {

/// A place in the input: how many bytes and lines lie before it.
struct input_place {
    std::uint64_t offset = 0;
    std::uint64_t line = 0;
};

/// Some whole lines.
struct input_part {
    input_place begin;
    input_place end;
    bool empty() const noexcept { return begin.offset == end.offset; }
};

/// The whole input in memory. Immutable, so thread-safe.
class input {
public:
    /// Tells inputs apart: device, inode, size and time of the last change; all zero for what
    /// cannot be read twice, such as a pipe.
    using identity = std::array<std::uint64_t, 4>;

    /// Reads a file; "-" is standard input. Errors: not_found, permission_denied, io.
    static result<input> read(const std::string& path);

    const std::string& text() const noexcept { return text_; }
    const identity& id() const noexcept { return id_; }
    bool can_resume() const noexcept { return id_ != identity{}; }

    /// Calls visit(key, value) for the lines from `begin` on, at most `lines_max`, and returns
    /// where they end. The key is what stands before the first tab, the value what stands behind it;
    /// without a tab the value is the line's number. Empty lines are no entries.
    input_part walk(input_place begin, std::uint64_t lines_max,
                    const std::function<void(std::string_view key, std::string_view value)>& visit) const;

private:
    std::string text_;
    identity id_{};
};

}  // namespace holdfast::tools
