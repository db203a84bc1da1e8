// Persistent memory without a file system: a character device (device-dax) or a chunk of the kernel module's, which can
// be mapped and nothing else. It is mapped whole, and class file reads, writes and syncs it there.
//
// Whether there is something on it: a device is empty while its first `name_bytes` are zeros. What is made on an empty
// one keeps those bytes back until all the rest is durable, as a new file gets its name last.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/chunk.hpp>
#include <holdfast/persist/site.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::persist {

/// What the kernel says of such a device.
struct device_description {
    std::string name;               ///< as "dax0.0" or "holdfast:17", however the path spells it
    std::string identity;           ///< the same in each boot
    std::string node;               ///< the path that is opened
    std::optional<chunk_name> chunk = {};
    std::uint64_t bytes = 0;        ///< of a chunk not known before it is used
    unsigned mode = 0600;           ///< of a chunk, permission bits
    std::uint64_t alignment = 0;    ///< of what is mapped, its place and its size
    bool is_persistent = false;     ///< not where it is ordinary memory that the firmware reserved
    bool stands_in = false;         ///< a test's
    std::string directory = {};     ///< in sysfs; empty: not there
};

/// The device that the path names; nothing if it names none. A chunk need not be there.
std::optional<device_description> find_device(const std::string& path, const std::string& sysfs_root = "/sys");

namespace detail {
/// For tests: the regular file that stands for a device. Set while nobody opens anything.
struct stand_in_device {
    std::string path;
    std::uint64_t alignment = 0;
};
inline constinit const stand_in_device* device_stand_in = nullptr;
}  // namespace detail

/// The bytes of an open device. Not inherited by fork: in a child every call is an error.
/// Thread safety: calls that reach different bytes may run concurrently. If the process dies: what was stored is still
/// in the caches, and becomes durable by a `sync` of a later process in the same boot.
class device_memory {
public:
    static constexpr std::uint64_t name_bytes = 8192;

    /// Nothing yet: a chunk that is to be made.
    explicit device_memory(device_description about) noexcept;
    /// Maps all of it. Errors: permission_denied, io.
    static result<device_memory> map(int descriptor, const std::string& path, device_description about, bool writable);

    device_memory(device_memory&& other) noexcept;
    device_memory& operator=(device_memory&& other) noexcept;
    ~device_memory();

    const device_description& about() const noexcept { return about_; }
    bool is_mapped() const noexcept { return base_ != nullptr; }
    bool is_empty() const noexcept;
    /// How much of it is in use, as the size of a file: all of it, unless it was prepared or shrunk.
    std::uint64_t used_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }

    /// Nothing of it is in use, and the first bytes are kept back until `publish`. Requires: empty.
    void prepare();
    /// Makes the first bytes what was written to them, durably, half by half: first the one at `newest`, which may
    /// stand alone. Requires: prepared, and everything else durable. If the process dies inside: a part of them may be
    /// there, and then the device is not empty either.
    void publish(std::uint64_t newest);
    /// Makes it empty, durably; the half at `newest` goes last. If the process dies inside: a part may be there.
    void erase(std::uint64_t newest);

    /// New bytes are zeros. Errors: no_space.
    result<void> allocate(std::uint64_t size);
    void shrink(std::uint64_t size) noexcept;

    /// Errors: truncated, io (in a forked child).
    result<void> read_at(std::uint64_t offset, void* to, std::size_t size) const;
    /// Durable with the next sync. Counts bytes and write-backs. Errors: as read_at.
    result<void> write_at(std::uint64_t offset, const void* from, std::size_t size, site_id where);
    /// Orders what was written before what is written behind it. Counts one fence.
    void fence(site_id where) const noexcept;
    /// Writes back every line of the range that is in use, stored by any process through any mapping: the kernel
    /// does not track stores. Takes about 50 ms a GiB. Counts as write_at and fence. Errors: io (in a forked child).
    result<void> sync(site_id where, std::uint64_t offset, std::uint64_t bytes) const;

private:
    device_memory(std::byte* base, device_description about, std::string path) noexcept;
    void release() noexcept;
    result<void> check(std::uint64_t offset, std::size_t size) const;
    void put_half(std::uint64_t begin, const std::byte* from);

    std::byte* base_ = nullptr;
    device_description about_;
    std::string path_;
    std::atomic<std::uint64_t> used_{0};  ///< a snapshot reads while the pool grows
    std::uint64_t fork_generation_ = 0;
    std::vector<std::byte> kept_back_;  ///< empty: nothing is
};

}  // namespace holdfast::persist
