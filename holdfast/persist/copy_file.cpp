#include <holdfast/persist/copy_file.hpp>

#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/system_error.hpp>

#include <cerrno>
#include <cstdio>

namespace holdfast::persist {
namespace {

result<void> copy_bytes(const file& from, file& to) {
    const auto size = from.size();
    if (!size) return size.error();
    if (auto allocated = to.allocate(*size); !allocated) return allocated;
    return to.copy_range(from, 0, *size, site::pool_format, {});
}

}  // namespace

result<void> copy_to(const file& from, const std::string& path) {
    const auto mode = from.mode();
    if (!mode) return mode.error();
    auto to = file::prepare(path, *mode);
    if (!to) return to.error();
    const auto cloned = to->clone(from);
    if (!cloned) return cloned.error();
    if (!*cloned)
        if (auto copied = copy_bytes(from, *to); !copied) return copied;
    if (auto synced = to->sync(site::pool_format); !synced) return synced;
    return to->publish();
}

result<void> rename_over(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) return detail::system_error("rename", to, errno);
    return sync_directory(directory_of(to));
}

}  // namespace holdfast::persist
