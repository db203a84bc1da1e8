// The copying half of class file.
#include <holdfast/base/checksum.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/system_error.hpp>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

namespace holdfast::persist {
namespace {

using detail::retried;
using detail::system_error;
using detail::this_thread;

struct extent {
    std::uint64_t begin;
    std::uint64_t end;
};

/// The first stretch of data in [begin, end); empty, at the end, where there is none. A file system that does
/// not know has data everywhere.
extent next_data(int descriptor, std::uint64_t begin, std::uint64_t end) noexcept {
    const off_t data = ::lseek(descriptor, static_cast<off_t>(begin), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? extent{end, end} : extent{begin, end};
    const auto first = static_cast<std::uint64_t>(data);
    if (first >= end) return {end, end};
    const off_t hole = ::lseek(descriptor, data, SEEK_HOLE);
    return {first, hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole))};
}

/// Both of a comparison fit into a processor's cache.
constexpr std::uint64_t piece_bytes = 256 << 10;

/// Reads what `from` holds in [offset, offset + bytes) and gives it to `f(offset, bytes)`, piece by piece.
template <class F>
result<void> for_each_piece(const file& from, std::uint64_t offset, std::uint64_t bytes,
                            const std::function<void(std::uint64_t)>& done, F&& f) {
    std::vector<std::byte> piece(std::min(bytes, piece_bytes));
    const std::uint64_t end = offset + bytes;
    for (std::uint64_t at = offset; at < end;) {
        const extent data = from.is_device() ? extent{at, end} : next_data(from.descriptor(), at, end);
        for (at = data.begin; at < data.end;) {
            const std::uint64_t count = std::min(data.end - at, piece_bytes);
            if (auto read = from.read_at(at, piece.data(), count); !read) return read;
            if (auto used = f(at, std::span<const std::byte>(piece.data(), count)); !used) return used;
            at += count;
            if (done) done(at - offset);
        }
    }
    if (done) done(bytes);
    return {};
}

/// Writes bytes that are there already. An observer has nothing to see: what may be read there stays the same.
result<void> put_back(int descriptor, const std::string& path, std::uint64_t offset,
                      std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return system_error("pwrite", path, written < 0 ? errno : ENOSPC);
        this_thread.written_bytes += static_cast<std::uint64_t>(written);
        offset += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

}  // namespace

result<unsigned> file::mode() const {
    if (device_ && device_->about().chunk) return device_->about().mode;
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return system_error("fstat", path_, errno);
    return static_cast<unsigned>(status.st_mode & 07777);
}

result<file_place> file::place() const {
    // The device's node is made anew at each boot.
    if (device_) {
        const std::string& identity = device_->about().identity;
        return file_place{0, crc32c(identity.data(), identity.size(), ~0u), 0, 0};
    }
    struct statx status {};
    if (::statx(descriptor_, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0)
        return system_error("statx", path_, errno);
    file_place found{std::uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor, status.stx_ino, 0, 0};
    if ((status.stx_mask & STATX_BTIME) != 0) {
        found.born_seconds = status.stx_btime.tv_sec;
        found.born_ns = status.stx_btime.tv_nsec;
    }
    return found;
}

result<void> file::write_anew(std::uint64_t offset, std::uint64_t bytes) {
    if (device_) return {};
    return for_each_piece(*this, offset, bytes, {}, [&](std::uint64_t at, std::span<const std::byte> piece) {
        return put_back(descriptor_, path_, at, piece);
    });
}

result<bool> file::clone(const file& from) {
    if (device_ || from.device_) return false;
    if (retried([&] { return ::ioctl(descriptor_, FICLONE, from.descriptor_); }) == 0) return true;
    static constexpr std::array cannot = {EOPNOTSUPP, ENOTTY, EXDEV, EINVAL, ENOSYS, EPERM};
    if (std::find(cannot.begin(), cannot.end(), errno) != cannot.end()) return false;
    return system_error("ioctl(FICLONE)", path_, errno);
}

result<void> file::copy_range(const file& from, std::uint64_t offset, std::uint64_t bytes, site_id where,
                              const std::function<void(std::uint64_t)>& done) {
    const auto is_zero = [](std::byte each) { return each == std::byte{}; };
    return for_each_piece(from, offset, bytes, done, [&](std::uint64_t at, std::span<const std::byte> piece) {
        // A device does not know what was never written.
        if (from.is_device() && std::all_of(piece.begin(), piece.end(), is_zero)) return result<void>{};
        return write_at(at, piece.data(), piece.size(), where);
    });
}

result<void> file::copy_changes(const file& from, std::uint64_t offset, std::uint64_t bytes, site_id where,
                                const std::function<void(std::uint64_t)>& done) {
    constexpr std::size_t block_bytes = 4096;
    std::vector<std::byte> here(std::min(bytes, piece_bytes));
    return for_each_piece(from, offset, bytes, done, [&](std::uint64_t at, std::span<const std::byte> piece) {
        auto copied = read_at(at, here.data(), piece.size());
        for (std::size_t block = 0; copied && block < piece.size(); block += block_bytes) {
            const std::size_t count = std::min(block_bytes, piece.size() - block);
            if (std::memcmp(&piece[block], &here[block], count) != 0)
                copied = write_at(at + block, &piece[block], count, where);
        }
        return copied;
    });
}

}  // namespace holdfast::persist
