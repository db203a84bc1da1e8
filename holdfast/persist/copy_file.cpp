#include <holdfast/persist/copy_file.hpp>

#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/system_error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace holdfast::persist {
namespace {

result<void> copy_bytes(const file& from, file& to, std::uint64_t most) {
    const auto size = from.size();
    if (!size) return size.error();
    const std::uint64_t bytes = std::min(*size, most);
    if (auto allocated = to.allocate(bytes); !allocated) return allocated;
    return to.copy_range(from, 0, bytes, site::pool_format, {});
}

}  // namespace

result<void> copy_to(const file& from, const std::string& path, const copied_part& part) {
    const auto mode = from.mode();
    if (!mode) return mode.error();
    auto to = file::prepare(path, *mode);
    if (!to) return to.error();
    const auto cloned = to->clone(from);
    if (!cloned) return cloned.error();
    if (!*cloned)
        if (auto copied = copy_bytes(from, *to, part.bytes); !copied) return copied;
    if (auto synced = to->sync(site::pool_format); !synced) return synced;
    return to->publish(part.newest);
}

result<void> rename_over(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) return detail::system_error("rename", to, errno);
    return sync_directory(directory_of(to));
}

}  // namespace holdfast::persist
