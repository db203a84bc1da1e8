#include <holdfast/persist/device_memory.hpp>

#include <holdfast/persist/addresses.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/system_error.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace holdfast::persist {
namespace {

using detail::system_error;
using detail::system_error_at;

std::uint64_t number_in(const std::filesystem::path& attribute) {
    std::uint64_t number = 0;
    std::ifstream(attribute) >> number;
    return number;
}

/// Persistent memory has a region of the kernel's nvdimm bus above it; ordinary memory has not.
bool is_below_region(const std::filesystem::path& directory) {
    return std::any_of(directory.begin(), directory.end(),
                       [](const auto& part) { return part.string().starts_with("ndbus"); });
}

/// Devices are numbered in the order in which they are found, so one has another name when others come or go. What it
/// was configured with has a number of its own, above it in the tree.
std::string identity_of(const std::filesystem::path& device) {
    constexpr int levels = 3;
    std::filesystem::path at = device;
    for (int level = 0; level < levels; ++level, at = at.parent_path()) {
        std::string uuid;
        if (std::getline(std::ifstream(at / "uuid"), uuid) && !uuid.empty()) return uuid;
    }
    return device.filename();
}

}  // namespace

std::optional<device_description> find_device(const std::string& path, const std::string& sysfs_root) {
    namespace fs = std::filesystem;
    if (auto chunk = chunk_of_path(path, sysfs_root))
        return device_description{.name = "holdfast:" + std::to_string(chunk->key),
                                  .identity = "holdfast:" + std::to_string(chunk->key),
                                  .node = chunk->node,
                                  .chunk = *chunk,
                                  .alignment = memory_page_bytes(),
                                  .is_persistent = true};
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    if (const auto* stands = detail::device_stand_in; stands != nullptr && stands->path == path)
        return device_description{.name = "stand-in",
                                  .identity = "stand-in",
                                  .node = path,
                                  .bytes = static_cast<std::uint64_t>(status.st_size),
                                  .alignment = stands->alignment,
                                  .is_persistent = true,
                                  .stands_in = true};
    if (!S_ISCHR(status.st_mode)) return std::nullopt;
    std::error_code failed;
    const auto number = std::to_string(major(status.st_rdev)) + ":" + std::to_string(minor(status.st_rdev));
    const auto at = fs::canonical(fs::path(sysfs_root) / "dev/char" / number, failed);
    if (failed) return std::nullopt;
    const auto kind = fs::canonical(at / "subsystem", failed).filename();
    if (failed || kind != "dax") return std::nullopt;
    device_description found{.name = at.filename(),
                             .identity = identity_of(at),
                             .node = path,
                             .bytes = number_in(at / "size"),
                             .alignment = number_in(at / "align"),
                             .is_persistent = is_below_region(at),
                             .directory = at};
    // Kernels that do not say have pages of 2 MiB.
    if (found.alignment == 0) found.alignment = 2 << 20;
    return found;
}

device_memory::device_memory(std::byte* base, device_description about, std::string path) noexcept
    : base_(base),
      about_(std::move(about)),
      path_(std::move(path)),
      used_(about_.bytes),
      fork_generation_(detail::fork_generation()) {}

device_memory::device_memory(device_description about) noexcept : device_memory(nullptr, std::move(about), {}) {}

device_memory::device_memory(device_memory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      about_(std::move(other.about_)),
      path_(std::move(other.path_)),
      used_(other.used_bytes()),
      fork_generation_(other.fork_generation_),
      kept_back_(std::move(other.kept_back_)) {}

device_memory& device_memory::operator=(device_memory&& other) noexcept {
    if (this == &other) return *this;
    release();
    base_ = std::exchange(other.base_, nullptr);
    about_ = std::move(other.about_);
    path_ = std::move(other.path_);
    used_ = other.used_bytes();
    fork_generation_ = other.fork_generation_;
    kept_back_ = std::move(other.kept_back_);
    return *this;
}

device_memory::~device_memory() { release(); }

void device_memory::release() noexcept {
    if (base_ != nullptr && fork_generation_ == detail::fork_generation()) ::munmap(base_, about_.bytes);
    base_ = nullptr;
}

result<device_memory> device_memory::map(int descriptor, const std::string& path, device_description about,
                                         bool writable) {
    std::string its_path = path;
    const auto range = detail::reserve_aligned(path, 0, about.bytes, about.alignment);
    if (!range) return range.error();
    device_memory made(*range, std::move(about), std::move(its_path));
    const std::uint64_t bytes = made.about_.bytes;
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    const detail::fork_gate no_child;
    if (::mmap(made.base_, bytes, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED)
        return system_error("mmap", path, errno);
    if (::madvise(made.base_, bytes, MADV_DONTFORK) != 0) return system_error("madvise(MADV_DONTFORK)", path, errno);
    return made;
}

bool device_memory::is_empty() const noexcept {
    const auto is_zero = [](std::byte each) { return each == std::byte{}; };
    return std::all_of(base_, base_ + std::min(name_bytes, about_.bytes), is_zero);
}

void device_memory::prepare() {
    kept_back_.assign(name_bytes, std::byte{});
    used_ = 0;
}

void device_memory::put_half(std::uint64_t begin, const std::byte* from) {
    copy(base_ + begin, from, name_bytes / 2, site::pool_format);
    write_back(line_path{}, base_ + begin, name_bytes / 2, site::pool_format);
    // Orders the one half before the other.
    fence(site::pool_format);
}

void device_memory::publish(std::uint64_t newest) {
    const std::uint64_t first = newest < name_bytes / 2 ? 0 : name_bytes / 2;
    for (const std::uint64_t begin : {first, name_bytes / 2 - first}) put_half(begin, kept_back_.data() + begin);
    kept_back_.clear();
}

void device_memory::erase(std::uint64_t newest) {
    const std::uint64_t last = newest < name_bytes / 2 ? 0 : name_bytes / 2;
    const std::vector<std::byte> zeros(name_bytes / 2);
    for (const std::uint64_t begin : {name_bytes / 2 - last, last}) put_half(begin, zeros.data());
}

result<void> device_memory::allocate(std::uint64_t size) {
    if (size > about_.bytes)
        return error{.code = errc::no_space,
                     .what = "the device is too small",
                     .path = path_,
                     .expected = std::to_string(size) + " bytes",
                     .found = std::to_string(about_.bytes) + " bytes",
                     .remedy = about_.chunk ? "a chunk does not grow: if it is no longer needed, free it "
                                              "(holdfast pool erase), and create a larger one"
                                            : "name a smaller size, or another device"};
    if (auto usable = check(0, 0); !usable) return usable;
    const std::uint64_t used = used_bytes();
    if (size > used) {
        // The first bytes of a prepared device are zeros, and stay so until they are published.
        const std::uint64_t begin = kept_back_.empty() ? used : std::max(used, std::min(name_bytes, size));
        std::memset(base_ + begin, 0, size - begin);
    }
    used_ = std::max(used, size);
    return {};
}

void device_memory::shrink(std::uint64_t size) noexcept { used_ = std::min(used_bytes(), size); }

result<void> device_memory::check(std::uint64_t offset, std::size_t size) const {
    if (fork_generation_ != detail::fork_generation()) return system_error_at("mmap", path_, offset, EBADF);
    const std::uint64_t used = used_bytes();
    if (offset <= used && size <= used - offset) return {};
    return error{.code = errc::truncated,
                 .what = "the device ends too early",
                 .path = path_,
                 .offset = offset,
                 .expected = std::to_string(size) + " bytes",
                 .found = std::to_string(used - std::min(used, offset)) + " bytes"};
}

result<void> device_memory::read_at(std::uint64_t offset, void* to, std::size_t size) const {
    if (auto usable = check(offset, size); !usable) return usable;
    auto* bytes = static_cast<std::byte*>(to);
    if (offset < kept_back_.size()) {
        const std::size_t first = std::min<std::size_t>(size, kept_back_.size() - offset);
        std::memcpy(bytes, kept_back_.data() + offset, first);
        offset += first, bytes += first, size -= first;
    }
    std::memcpy(bytes, base_ + offset, size);
    return {};
}

result<void> device_memory::write_at(std::uint64_t offset, const void* from, std::size_t size, site_id where) {
    if (auto usable = check(offset, size); !usable) return usable;
    detail::this_thread.written_bytes += size;
    const auto* bytes = static_cast<const std::byte*>(from);
    if (offset < kept_back_.size()) {
        const std::size_t first = std::min<std::size_t>(size, kept_back_.size() - offset);
        std::memcpy(kept_back_.data() + offset, bytes, first);
        offset += first, bytes += first, size -= first;
    }
    if (size == 0) return {};
    copy(base_ + offset, bytes, size, where);
    write_back(line_path{}, base_ + offset, size, where);
    return {};
}

void device_memory::fence(site_id where) const noexcept { persist::fence(line_path{}, where); }

result<void> device_memory::sync(site_id where, std::uint64_t offset, std::uint64_t bytes) const {
    if (auto usable = check(0, 0); !usable) return usable;
    const std::uint64_t used = used_bytes();
    offset = std::min(offset, used);
    write_back(line_path{}, base_ + offset, std::min(bytes, used - offset), where);
    fence(where);
    return {};
}

}  // namespace holdfast::persist
