#include <holdfast/persist/chunk.hpp>

#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/system_error.hpp>

#include <kernel/holdfast_chunks.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

namespace holdfast::persist {
namespace {

std::string path_of(const chunk_name& name) { return name.node + ":" + std::to_string(name.key); }

error chunk_error(const char* call, const chunk_name& name, int number) {
    error reason = detail::system_error(call, path_of(name), number);
    switch (number) {
    case ENODATA: reason.what = "the kernel module's region is not formatted"; break;
    case ENODEV: reason.what = "the kernel module has no region of persistent memory"; break;
    case ENOENT: reason.what = "there is no such chunk"; break;
    case ENOSPC:
        reason.code = errc::no_space;
        reason.what = "the kernel module's region has no room for the chunk";
        break;
    case EBUSY: reason.code = errc::busy; break;
    case EINTR: reason.what = "the process is being killed"; break;
    case ENOTEMPTY:
        reason.code = errc::busy;
        reason.what = "the chunk has an unacknowledged save of a power failure";
        reason.remedy = "open the pool that was saved there";
        break;
    default: break;
    }
    return reason;
}

std::optional<std::uint64_t> key_in(std::string_view text) {
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    std::uint64_t key = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), key, base);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || key == 0) return std::nullopt;
    return key;
}

bool is_node_of_module(const std::string& node, const std::string& sysfs_root) {
    struct stat status {};
    if (::stat(node.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
    std::error_code failed;
    const auto number = std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
    const auto at = std::filesystem::canonical(std::filesystem::path(sysfs_root) / "dev/char" / number, failed);
    return !failed && at.filename() == "holdfast";
}

}  // namespace

std::optional<chunk_name> chunk_of_path(const std::string& path, const std::string& sysfs_root) {
    const auto colon = path.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    const auto key = key_in(std::string_view(path).substr(colon + 1));
    if (!key || !is_node_of_module(path.substr(0, colon), sysfs_root)) return std::nullopt;
    return chunk_name{path.substr(0, colon), *key};
}

result<chunk_in_use> use_chunk(int descriptor, const chunk_name& name) {
    holdfast_chunk about{};
    about.key = name.key;
    if (::ioctl(descriptor, HOLDFAST_USE, &about) != 0) return chunk_error("ioctl(HOLDFAST_USE)", name, errno);
    return chunk_in_use{about.bytes, about.mode};
}

result<std::uint64_t> make_chunk(int descriptor, const chunk_name& name, std::uint64_t bytes, unsigned mode) {
    holdfast_chunk about{};
    about.key = name.key;
    about.bytes = bytes;
    // Bits that only files have mean nothing for a chunk.
    about.mode = mode & 0777;
    if (::ioctl(descriptor, HOLDFAST_MAKE, &about) != 0) return chunk_error("ioctl(HOLDFAST_MAKE)", name, errno);
    return about.bytes;
}

result<void> free_chunk(const chunk_name& name) {
    // Known to the lock table: closing a descriptor of the node drops the names of those who hold other chunks.
    const int node =
        detail::remember_opened([&] { return ::open(name.node.c_str(), O_RDWR | O_CLOEXEC); }, name.key);
    if (node < 0) return chunk_error("open", name, errno);
    holdfast_chunk about{};
    about.key = name.key;
    const int number = ::ioctl(node, HOLDFAST_FREE, &about) == 0 ? 0 : errno;
    detail::close_descriptor(node);
    if (number != 0) return chunk_error("ioctl(HOLDFAST_FREE)", name, number);
    return {};
}

}  // namespace holdfast::persist
