// The data half of class file: allocate, read, write, sync.
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/system_error.hpp>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <vector>

#ifdef HOLDFAST_OBSERVED
#include <holdfast/persist/observer.hpp>

#include <cstring>
#endif

namespace holdfast::persist {
namespace {

using detail::retried;
using detail::system_error;
using detail::system_error_at;

constexpr std::uint64_t file_size_max = std::numeric_limits<off_t>::max();

off_t as_offset(std::uint64_t offset) noexcept { return static_cast<off_t>(std::min(offset, file_size_max)); }

error no_space(const char* call, const std::string& path, int descriptor, std::uint64_t needed_bytes, int number) {
    error reason = system_error(call, path, number);
    reason.code = errc::no_space;
    reason.expected = std::to_string(needed_bytes) + " bytes free";
    struct statvfs room {};
    if (number != EFBIG && ::fstatvfs(descriptor, &room) == 0)
        reason.found = std::to_string(std::uint64_t{room.f_bavail} * room.f_frsize) + " bytes free";
    return reason;
}

/// Again after EINTR, which reports nothing of the data: a kernel that knows of a failed write-back reports that, and
/// takes it for reported only then. What the interrupted call did not wait for, the next one does.
int sync_data(int descriptor) noexcept {
    return retried([&] { return ::fdatasync(descriptor); });
}

/// For file systems without fallocate. Returns errno, 0 on success.
int write_zeros(int descriptor, std::uint64_t from, std::uint64_t to) noexcept {
    static constexpr std::array<std::byte, 65536> zeros{};
    while (from < to) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, zeros.size()));
        const ssize_t written = ::pwrite(descriptor, zeros.data(), part, as_offset(from));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return ENOSPC;
        from += static_cast<std::uint64_t>(written);
    }
    return 0;
}

/// One call writes at most this number of pieces. Nothing is allocated for them: commits write when memory may have run
/// out.
constexpr std::size_t most_pieces = 64;

/// Those bytes of the pieces that are still to be written.
class piece_cursor {
public:
    explicit piece_cursor(std::span<const iovec> pieces) noexcept : left_(pieces) { advance(0); }

    bool done() const noexcept { return left_.empty(); }
    /// The next pieces, for one call.
    std::span<const iovec> next(std::array<iovec, most_pieces>& room) const noexcept {
        const std::size_t count = std::min(left_.size(), most_pieces);
        std::copy_n(left_.begin(), count, room.begin());
        room[0].iov_base = static_cast<char*>(room[0].iov_base) + begun_;
        room[0].iov_len -= begun_;
        return {room.data(), count};
    }
    void advance(std::size_t written) noexcept {
        begun_ += written;
        while (!left_.empty() && begun_ >= left_.front().iov_len) {
            begun_ -= left_.front().iov_len;
            left_ = left_.subspan(1);
        }
    }

private:
    std::span<const iovec> left_;
    std::size_t begun_ = 0;  ///< bytes of the first that are written
};

struct write_outcome {
    std::uint64_t written = 0;
    int number = 0;  ///< errno, 0 on success
};

/// Writes all pieces with `flags`, counting bytes, and a sync for each call where the flags ask for one.
write_outcome write_all(int descriptor, std::uint64_t offset, std::span<const iovec> pieces, int flags) noexcept {
    write_outcome outcome;
    std::array<iovec, most_pieces> room;
    for (piece_cursor cursor(pieces); !cursor.done();) {
        const auto now = cursor.next(room);
        const ssize_t written = ::pwritev2(descriptor, now.data(), static_cast<int>(now.size()),
                                           as_offset(offset + outcome.written), flags);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            outcome.number = written < 0 ? errno : ENOSPC;
            return outcome;
        }
        if ((flags & RWF_DSYNC) != 0) ++detail::this_thread.syncs;
        detail::this_thread.written_bytes += static_cast<std::uint64_t>(written);
        outcome.written += static_cast<std::uint64_t>(written);
        cursor.advance(static_cast<std::size_t>(written));
    }
    return outcome;
}

#ifdef HOLDFAST_OBSERVED
/// One call for all pieces: they become durable together.
void observe_durable_write(std::uint64_t offset, std::span<const iovec> pieces, site_id where) {
    std::vector<std::byte> bytes;
    for (const auto& piece : pieces) {
        const auto* begin = static_cast<const std::byte*>(piece.iov_base);
        bytes.insert(bytes.end(), begin, begin + piece.iov_len);
    }
    observe_file_write(offset, bytes.data(), bytes.size(), true, where);
}
#endif

}  // namespace

result<void> file::allocate(std::uint64_t size) {
    if (device_) return allocate_on_device(size);
    const auto before = this->size();
    if (!before) return before.error();
    if (size > file_size_max) return no_space("fallocate", path_, descriptor_, size, EFBIG);
    if (size == 0) return {};
    int number = 0;
    const char* call = "fallocate";
    do {
        number = ::fallocate(descriptor_, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
    } while (number == EINTR);
    if (number == EOPNOTSUPP || number == ENOSYS) {
        call = "pwrite";
        number = write_zeros(descriptor_, *before, size);
    }
    if (number == 0) {
#ifdef HOLDFAST_OBSERVED
        observe_file_resize(std::max(*before, size));
#endif
        return {};
    }
    if (*before < size && retried([&] { return ::ftruncate(descriptor_, static_cast<off_t>(*before)); }) != 0)
        return system_error("ftruncate", path_, errno);
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        return no_space(call, path_, descriptor_, size - std::min(size, *before), number);
    return system_error(call, path_, number);
}

result<void> file::shrink(std::uint64_t size) {
    if (device_) {
        device_->shrink(size);
        return {};
    }
    const auto before = this->size();
    if (!before) return before.error();
    if (*before > size && retried([&] { return ::ftruncate(descriptor_, as_offset(size)); }) != 0)
        return system_error("ftruncate", path_, errno);
    return {};
}

result<void> file::read_at(std::uint64_t offset, void* bytes, std::size_t size) const {
    if (device_) return device_->read_at(offset, bytes, size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got =
            ::pread(descriptor_, static_cast<char*>(bytes) + done, size - done, as_offset(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error_at("pread", path_, offset + done, errno);
        if (got == 0) {
            return error{.code = errc::truncated,
                         .what = "the file ends too early",
                         .path = path_,
                         .offset = offset,
                         .expected = std::to_string(size) + " bytes",
                         .found = std::to_string(done) + " bytes"};
        }
        done += static_cast<std::size_t>(got);
    }
    return {};
}

result<void> file::write_at(std::uint64_t offset, const void* bytes, std::size_t size, [[maybe_unused]] site_id where) {
    if (device_) return device_->write_at(offset, bytes, size, where);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t written =
            ::pwrite(descriptor_, static_cast<const char*>(bytes) + done, size - done, as_offset(offset + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return system_error_at("pwrite", path_, offset + done, written < 0 ? errno : ENOSPC);
        done += static_cast<std::size_t>(written);
        detail::this_thread.written_bytes += static_cast<std::uint64_t>(written);
    }
#ifdef HOLDFAST_OBSERVED
    observe_file_write(offset, bytes, size, false, where);
#endif
    return {};
}

result<void> file::write_durable(std::uint64_t offset, std::span<const iovec> pieces, [[maybe_unused]] site_id where) {
    if (device_) {
        for (const iovec& piece : pieces) {
            auto written = device_->write_at(offset, piece.iov_base, piece.iov_len, where);
            if (!written) return written;
            offset += piece.iov_len;
        }
        device_->fence(where);
        return {};
    }
    // Several calls would be several waits, so a single fdatasync is better for very many pieces.
    auto outcome = pieces.size() > most_pieces ? write_outcome{0, EOPNOTSUPP}
                                               : write_all(descriptor_, offset, pieces, RWF_DSYNC);
    if (outcome.number == EOPNOTSUPP || outcome.number == ENOSYS) {
        outcome = write_all(descriptor_, offset, pieces, 0);
        if (outcome.number == 0) {
            ++detail::this_thread.syncs;
            if (sync_data(descriptor_) != 0) return system_error_at("fdatasync", path_, offset, errno);
        }
    }
    if (outcome.number != 0)
        return system_error_at("pwritev2(RWF_DSYNC)", path_, offset + outcome.written, outcome.number);
#ifdef HOLDFAST_OBSERVED
    observe_durable_write(offset, pieces, where);
#endif
    return {};
}

result<void> file::sync([[maybe_unused]] site_id where, std::uint64_t offset, std::uint64_t bytes) {
    if (device_) return device_->sync(where, offset, bytes);
    ++detail::this_thread.syncs;
    if (sync_data(descriptor_) != 0) return system_error("fdatasync", path_, errno);
#ifdef HOLDFAST_OBSERVED
    observe_file_sync(where);
#endif
    return {};
}

}  // namespace holdfast::persist
