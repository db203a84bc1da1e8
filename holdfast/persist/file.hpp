// Files under the seam: open, lock, allocate, map, read, write, sync. All errors are values that
// name the file; nothing here knows what the bytes mean. A device of persistent memory (device_memory.hpp) is a file of
// fixed size, which is there while it is not empty.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/device_memory.hpp>
#include <holdfast/persist/site.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace holdfast::persist {

/// The directory part of `path`.
std::string directory_of(const std::string& path);

/// The error of creating a file at `path` whose directory is missing.
error no_directory_for(const std::string& path);
/// Makes the names in a directory durable. Counts one sync. Errors: not_found, permission_denied, io.
result<void> sync_directory(const std::string& directory);

/// The identity of a file, which a copy does not share.
struct file_place {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t born_seconds = 0;  ///< 0 if the file system does not record it
    std::uint64_t born_ns = 0;
};

/// An open file: move-only, close-on-exec, closed on destruction. A forked child does not have it: there every use is
/// an error.
/// Thread safety: read_at, write_at, write_durable and sync may run concurrently. If the process dies: written data
/// stay in the page cache, synced data are on the device.
class file {
public:
    enum class access : std::uint8_t { read_only, read_write };

    /// An empty file with exactly `mode`, whatever the umask, that appears at `path` with `publish`. If it is closed
    /// before, it vanishes. If the process dies before: nothing is left, except on file systems without unnamed files
    /// (`unnamed` false acts like them), where a file with another name is left. At the path of an empty device the
    /// file is that device, locked, and stays empty if nothing is published.
    /// Errors: already_exists, busy (a device), permission_denied, not_found (no such directory), io.
    static result<file> prepare(const std::string& path, unsigned mode, bool unnamed = true);
    /// Gives a prepared file its name, durably. If the process dies inside: the file is there, complete, or not at all.
    /// Of a device's first `name_bytes` one half may be there alone, which is the one that has the byte at `newest`.
    /// Counts one sync. Errors: already_exists, io. After an error it has no name.
    result<void> publish(std::uint64_t newest = 0);
    /// Creates a file without a name in `directory`; it vanishes when closed.
    /// Errors: permission_denied, not_found, no_space, io.
    static result<file> create_unnamed(const std::string& directory);
    /// Opens an existing regular file, or a device. Errors: not_found (also an empty device), permission_denied (also a
    /// read-only file system), not_a_pool (something else), busy (this process holds its lock), io.
    static result<file> open(const std::string& path, access how);

    file(file&& other) noexcept;
    file& operator=(file&& other) noexcept;
    ~file();

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_; }
    bool is_device() const noexcept { return device_.has_value(); }
    /// What the place and size of a mapping of it are multiples of.
    std::uint64_t mapping_alignment() const noexcept;

    /// Makes the device at `path` empty, durably: what was on it is lost. `newest_in` is called with the locked device,
    /// unless it is empty; the half of its first `name_bytes` that has the byte that it names goes last. If the process
    /// dies inside: the device is empty, or as it was, or that half is there alone, or is damaged.
    /// Errors: as open and lock, invalid_argument (no device).
    static result<void> erase_device(const std::string& path, std::uint64_t (*newest_in)(const file&));

    result<std::uint64_t> size() const;

    /// Opens an existing file and acquires the holder's lock. Ensures: the path named this file when the lock was
    /// acquired; a file that was replaced meanwhile is opened again. Errors: as open and lock.
    static result<file> open_locked(const std::string& path, access how);
    /// Whether the path still names this file. Errors: permission_denied, io.
    result<bool> is_at_path() const;

    /// Acquires the holder's lock: exclusive, or for a read_only file shared among readers. They are refused while the
    /// file has sharers, who store to it. A second open by the same process is refused as well. A
    /// forked child never holds it, and a killed process leaves no lock behind. Held until this object is destroyed;
    /// locking twice has no effect. Closing other descriptors of the file does not release it; at most it hides the
    /// holder's process id from others.
    /// Errors: busy (names the holder's process id where it is known, or says that it is this process), io.
    result<void> lock();

    /// The same with a lock that other processes may hold too, while there is no exclusive holder. Errors: as lock.
    result<void> lock_shared();
    /// Converts the holder's lock to a shared one, or a shared one to the holder's. Requires: locked. Errors: busy
    /// (others share it; the lock stays as it is), io.
    result<void> change_lock(bool exclusive);
    /// Releases all locks of this object.
    void unlock() noexcept;

    /// Acquires the turn, which one object among all processes has at a time; waits for it if `wait`. It ends with
    /// `end_turn`, with `unlock` or with this object. Requires: read_write. Errors: busy (not with `wait`), io.
    result<void> take_turn(bool wait);
    void end_turn() noexcept;
    /// Registers this object as a sharer of the file, until `unlock` or its destruction. Errors: io.
    result<void> join_sharers();
    /// Whether other objects share the file. Certain only during a turn, because objects begin and end sharing in
    /// turns; a killed sharer may disappear at any moment.
    bool has_other_sharers() const noexcept;

    /// Gives the file `size` bytes of allocated space, so that a store to the mapping cannot fail for lack of space;
    /// existing contents stay, new bytes are zero. After an error the file has its old size; its creator removes it.
    /// All bytes of a device exist, but for those behind the size that it was shrunk to.
    /// Errors: no_space (bytes needed, bytes free), io.
    result<void> allocate(std::uint64_t size);

    /// Truncates the file to `size` bytes; a file that is not longer stays unchanged. Requires: no access to mapped
    /// bytes behind them. Not durable until sync. Errors: io; the file then has its old size.
    result<void> shrink(std::uint64_t size);

    /// The permission bits; of a chunk its own, not those of the node by which all are reached.
    result<unsigned> mode() const;
    /// Errors: io.
    result<file_place> place() const;

    /// Makes this empty file a copy of `from` that shares its blocks until one of them is written (FICLONE); immediate
    /// for any size. Returns false, with nothing done, if the file system does not support it. Errors: no_space, io.
    result<bool> clone(const file& from);
    /// Copies [offset, offset + bytes) of `from` to the same place here, leaving out what `from` has never written.
    /// `done` is a progress callback with the bytes processed. Requires: allocated, and zero there. Not durable until
    /// sync. Errors: truncated, no_space, io.
    result<void> copy_range(const file& from, std::uint64_t offset, std::uint64_t bytes, site_id where,
                            const std::function<void(std::uint64_t)>& done);
    /// The same again, writing only the 4 KiB blocks that have changed since: reading both is faster than writing.
    result<void> copy_changes(const file& from, std::uint64_t offset, std::uint64_t bytes, site_id where,
                              const std::function<void(std::uint64_t)>& done);

    /// Rewrites the page cache's contents of [offset, offset + bytes), so that the next sync writes them to the device:
    /// a page whose write-back failed looks clean, and no sync would write it again. Skips parts that were never
    /// written, and devices, which have no page cache. Requires: no writes there meanwhile. Errors: no_space, io.
    result<void> write_anew(std::uint64_t offset, std::uint64_t bytes);

    /// Reads exactly `size` bytes. Errors: truncated, io.
    result<void> read_at(std::uint64_t offset, void* bytes, std::size_t size) const;
    /// Writes exactly; not durable until sync. Counts written bytes. Errors: no_space, io.
    result<void> write_at(std::uint64_t offset, const void* bytes, std::size_t size, site_id where);
    /// Writes the pieces one after another at `offset` and returns when they are on the device (pwritev2 with
    /// RWF_DSYNC; pwritev and fdatasync where the kernel lacks it, or for more than IOV_MAX pieces). Counts one sync,
    /// and one more for each further 2 GiB, the most that one call takes. After an error the state of the range is
    /// unknown; do not call again to find out.
    result<void> write_durable(std::uint64_t offset, std::span<const iovec> pieces, site_id where);
    /// fdatasync. Counts one sync. After an error: as write_durable. On a device the lines of the range are written
    /// back, stored by any process through any mapping, which counts as that; of a file all is synced.
    result<void> sync(site_id where, std::uint64_t offset = 0, std::uint64_t bytes = ~std::uint64_t{0});

private:
    file(std::string path, int descriptor, access how) noexcept;
    void release() noexcept;
    void drop_prepared_name() noexcept;
    result<void> link_to_path();
    static result<file> prepare_device(const std::string& path, device_description about, unsigned mode);
    static result<file> open_regular(const std::string& path, access how);
    /// Also an empty one; a chunk that is not there is not mapped.
    static result<file> open_device(const std::string& path, device_description about, access how);
    result<void> allocate_on_device(std::uint64_t size);

    std::string path_;
    std::string prepared_name_;  ///< the temporary name of a prepared file, if it needs one
    int descriptor_ = -1;
    access access_ = access::read_only;
    std::optional<device_memory> device_;
    unsigned mode_of_chunk_ = 0;             ///< that is to be made
    bool has_unpublished_chunk_ = false;     ///< made, and gone if nothing is published
};

/// The size of the pages in which memory is mapped.
std::uint64_t memory_page_bytes() noexcept;
/// The memory that this process may use: the machine's, or less if its control group has a limit.
std::uint64_t memory_bytes();

/// A reserved address range with the file mapped over its beginning; unmapped on destruction.
/// Not inherited by fork (MADV_DONTFORK): a child that touches it gets SIGSEGV.
/// Thread safety: none of its own; the bytes are the caller's.
class mapping {
public:
    enum class kind : std::uint8_t {
        shared,       ///< stores reach the page cache
        shared_sync,  ///< MAP_SYNC: stores reach DAX media
        private_copy, ///< stores stay in this process
        read_only,    ///< shared, not writable
    };

    /// Reserves [base, base + reserved) and maps the file's first `size` bytes at `base`.
    /// base 0: anywhere. Requires: base page-aligned, 0 < size <= reserved.
    /// Errors: address_taken (something is mapped in the range), level_unavailable (shared_sync
    /// refused), truncated (the file is shorter than `size`), permission_denied, invalid_argument, io.
    static result<mapping> map(const file& from, std::uintptr_t base, std::uint64_t reserved, std::uint64_t size,
                               kind how);

    mapping(mapping&& other) noexcept;
    mapping& operator=(mapping&& other) noexcept;
    ~mapping();

    std::byte* data() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t reserved() const noexcept { return reserved_; }

    /// Maps the file up to `size` bytes, in place behind the existing mapping, which threads may use meanwhile.
    /// Requires: size above size().
    /// Errors: invalid_argument (more than is reserved; the end so far is none of a page, which only processors with
    /// pages above 4 KiB can meet), truncated (the file is shorter), level_unavailable,
    /// io. After an error everything is as before.
    result<void> extend(const file& from, std::uint64_t size);
    /// Reverts `extend`: the range behind `size` bytes is only reserved again.
    void retract(std::uint64_t size) noexcept;

    /// Drops this process's copies of whole pages of a private mapping: the next access maps the file's. Requires:
    /// page-aligned. Returns false, with nothing dropped, if the kernel refuses (locked memory).
    bool give_back(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// A private mapping of a device is a copy, made when it was mapped: copies it again. Of a file nothing happens:
    /// the kernel shows what it holds. Errors: as file::read_at.
    result<void> copy_anew(const file& from);

    /// Touches all pages now (MADV_POPULATE_WRITE; _READ for read_only and private_copy), so that no
    /// later access faults; a private copy still faults once per page at its first store, for
    /// copying every page now would double the memory. Errors: io.
    result<void> populate();
    /// msync of the whole mapping; counts one sync.
    result<void> sync_all(site_id where);
    /// Declares that stores to a shared mapping are in the file and become durable with its next sync. The kernel needs
    /// no call for it; the observer is notified.
    void note_stored(site_id where) const;

private:
    mapping(std::byte* base, std::uint64_t size, std::uint64_t reserved, kind how, const file& from,
            std::string path) noexcept;
    void release() noexcept;
    bool is_copy_of_device() const noexcept { return is_of_device_ && kind_ == kind::private_copy; }

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint64_t reserved_ = 0;
    kind kind_ = kind::shared;
    std::uint64_t alignment_ = 0;  ///< of the ends of what is mapped
    bool is_of_device_ = false;
    std::uint64_t fork_generation_ = 0;
    std::string path_;
};

}  // namespace holdfast::persist
