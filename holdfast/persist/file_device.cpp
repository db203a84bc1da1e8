// The half of class file that knows of devices: what is at a path, and how it is opened, made and erased.
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/missing_device.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/system_error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace holdfast::persist {
namespace {

using detail::held_here;
using detail::retried;
using detail::system_error;

error no_pool_on_device(const std::string& path) {
    return error{.code = errc::not_found,
                 .what = "there is no such pool",
                 .path = path,
                 .expected = "a pool on the device",
                 .found = "nothing on it",
                 .remedy = "make one with create or open_or_create (holdfast pool create)"};
}

error device_in_use(const std::string& path) {
    return error{.code = errc::already_exists,
                 .what = "the device is not empty",
                 .path = path,
                 .expected = "an empty device, whose first " + std::to_string(device_memory::name_bytes) +
                             " bytes are zeros",
                 .found = "other bytes",
                 .remedy = "if they are no longer needed, erase it (holdfast pool erase)"};
}

error device_too_small(const std::string& path, std::uint64_t bytes) {
    return error{.code = errc::not_a_pool,
                 .what = "the device is smaller than the smallest pool",
                 .path = path,
                 .expected = "at least " + std::to_string(device_memory::name_bytes) + " bytes",
                 .found = std::to_string(bytes) + " bytes"};
}

/// Whether the directory is /dev, or below it in its file system, where devices have their nodes. Not where memory has
/// names, wherever that is mounted.
bool is_for_devices(std::string directory) {
    struct stat status {}, devices {}, root {}, memory {};
    if (::stat("/dev", &devices) != 0 || ::stat("/", &root) != 0) return false;
    const auto is = [&](const struct stat& other) {
        return status.st_dev == other.st_dev && status.st_ino == other.st_ino;
    };
    const bool has_memory = ::stat("/dev/shm", &memory) == 0;
    constexpr int depth_at_most = 40;
    for (int depth = 0; depth < depth_at_most; ++depth, directory += "/..") {
        if (::stat(directory.c_str(), &status) != 0 || (has_memory && is(memory))) return false;
        if (is(devices)) return true;
        if (status.st_dev != devices.st_dev || is(root)) return false;
    }
    return false;
}

}  // namespace

std::optional<error> missing_device(const std::string& path) {
    namespace fs = std::filesystem;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 || find_device(path)) return std::nullopt;
    // Through links: what is missing may be what they point to.
    std::error_code ignored;
    fs::path target = path;
    constexpr int links_at_most = 40;
    for (int links = 0; links < links_at_most && fs::is_symlink(fs::symlink_status(target, ignored)); ++links)
        target = fs::path(directory_of(target.string())) / fs::read_symlink(target, ignored);
    if (!is_for_devices(directory_of(target.string()))) return std::nullopt;
    return error{.code = errc::not_found,
                 .what = "there is no such device",
                 .path = path,
                 .expected = "a device of persistent memory",
                 .found = "nothing of that name",
                 .remedy = "configure the device (ndctl), or load the kernel module; files belong elsewhere"};
}

result<file> file::open(const std::string& path, access how) {
    auto about = find_device(path);
    if (!about) return open_regular(path, how);
    auto opened = open_device(path, *std::move(about), how);
    if (opened && (!opened->device_->is_mapped() || opened->device_->is_empty())) return no_pool_on_device(path);
    return opened;
}

result<file> file::prepare_device(const std::string& path, device_description about, unsigned mode) {
    auto opened = open_device(path, std::move(about), access::read_write);
    if (!opened) return opened;
    // Whoever else makes something on it either has the lock, or is through.
    if (auto locked = opened->lock(); !locked) return locked.error();
    opened->mode_of_chunk_ = mode;
    if (!opened->device_->is_mapped()) return opened;
    if (!opened->device_->is_empty()) return device_in_use(path);
    opened->device_->prepare();
    return opened;
}

result<void> file::erase_device(const std::string& path, std::uint64_t (*newest_in)(const file&)) {
    auto about = find_device(path);
    if (!about) {
        if (auto missing = missing_device(path)) return *std::move(missing);
        return error{.code = errc::invalid_argument,
                     .what = "only a device is erased; a file is removed",
                     .path = path,
                     .expected = "a device of persistent memory",
                     .found = "something else"};
    }
    const auto chunk = about->chunk;
    {
        auto opened = open_device(path, *std::move(about), access::read_write);
        if (!opened) return opened.error();
        if (auto locked = opened->lock(); !locked) return locked;
        if (!chunk) {
            if (!opened->device_->is_empty()) opened->device_->erase(newest_in(*opened));
            return {};
        }
    }
    return free_chunk(*chunk);
}

result<file> file::open_device(const std::string& path, device_description about, access how) {
    struct stat status {};
    const std::uint64_t part = about.chunk ? about.chunk->key : 0;
    if (::stat(about.node.c_str(), &status) != 0) return system_error("stat", about.node, errno);
    if (detail::held_by_this_process(status, part)) return held_here(path);
    const int flags = (how == access::read_write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    std::string its_path = path;
    const int descriptor = detail::remember_opened(
        [&] { return retried([&] { return ::open(about.node.c_str(), flags); }); }, part);
    if (descriptor < 0) return system_error("open", path, errno);
    file opened(std::move(its_path), descriptor, how);
    if (about.chunk) {
        const auto used = use_chunk(descriptor, *about.chunk);
        const bool is_missing = !used && used.error().code == errc::not_found;
        if (!used && !is_missing) return used.error();
        if (is_missing) opened.device_.emplace(std::move(about));
        if (is_missing) return opened;
        about.bytes = used->bytes;
        about.mode = used->mode;
    }
    if (about.bytes < device_memory::name_bytes) return device_too_small(path, about.bytes);
    auto mapped = device_memory::map(descriptor, path, std::move(about), how == access::read_write);
    if (!mapped) return mapped.error();
    opened.device_ = std::move(*mapped);
    return opened;
}

std::uint64_t file::mapping_alignment() const noexcept {
    return device_ ? device_->about().alignment : memory_page_bytes();
}

result<void> file::allocate_on_device(std::uint64_t size) {
    if (!device_->is_mapped()) {
        device_description about = device_->about();
        const auto bytes = make_chunk(descriptor_, *about.chunk, size, mode_of_chunk_);
        if (!bytes) return bytes.error();
        has_unpublished_chunk_ = true;
        about.bytes = *bytes;
        about.mode = mode_of_chunk_ & 0777;
        auto mapped = device_memory::map(descriptor_, path_, std::move(about), true);
        if (!mapped) return mapped.error();
        device_ = std::move(*mapped);
        device_->prepare();
    }
    return device_->allocate(size);
}

}  // namespace holdfast::persist
