// System calls that write to memory: the kernel sees a recorded pool as read-only and would answer
// EFAULT, which a program may take for an error of the file. So it writes to memory beside the pool,
// and what came is stored to the pool by instructions, which are recorded.
// What else writes there (fread, stat, …) gets the EFAULT: refused, never unrecorded.
#include <crash/record/interpose.hpp>
#include <crash/record/recorder.hpp>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace holdfast::crash {

void interpose_reads() noexcept {}

namespace {

using bytes = std::unique_ptr<std::byte[]>;

bytes beside_pool(std::size_t size) { return bytes(new (std::nothrow) std::byte[std::max<std::size_t>(size, 1)]); }

ssize_t out_of_memory() {
    errno = ENOMEM;
    return -1;
}

/// `read` is told where to, and returns how many bytes came or -1.
template <class Read>
ssize_t read_to(void* to, std::size_t size, Read&& read) {
    if (!recorder::covers(to, size)) return read(to);
    const bytes beside = beside_pool(size);
    if (!beside) return out_of_memory();
    const ssize_t came = read(beside.get());
    // A datagram may say that more came than fits.
    if (came > 0) std::memcpy(to, beside.get(), std::min(static_cast<std::size_t>(came), size));
    return came;
}

/// The same to several places; `read` is told them as readv is.
template <class Read>
ssize_t read_to_all(const iovec* places, int count, Read&& read) {
    const bool usual = count <= 0 || std::none_of(places, places + count, [](const iovec& each) {
        return recorder::covers(each.iov_base, each.iov_len);
    });
    if (usual) return read(places);
    std::size_t size = 0;
    for (int i = 0; i < count; ++i) size += places[i].iov_len;
    const bytes beside = beside_pool(size);
    const std::unique_ptr<iovec[]> others(new (std::nothrow) iovec[static_cast<std::size_t>(count)]);
    if (!beside || !others) return out_of_memory();
    for (std::size_t i = 0, at = 0; i < static_cast<std::size_t>(count); at += places[i++].iov_len)
        others[i] = {beside.get() + at, places[i].iov_len};
    const ssize_t came = read(others.get());
    for (std::size_t i = 0, at = 0; came > 0 && at < static_cast<std::size_t>(came); at += places[i++].iov_len)
        std::memcpy(places[i].iov_base, beside.get() + at,
                    std::min(places[i].iov_len, static_cast<std::size_t>(came) - at));
    return came;
}

}  // namespace
}  // namespace holdfast::crash

using namespace holdfast::crash;

extern "C" {

ssize_t read(int file, void* to, std::size_t size) {
    static auto* const next = next_definition<ssize_t(int, void*, std::size_t)>("read");
    return read_to(to, size, [&](void* at) { return next(file, at, size); });
}
ssize_t pread(int file, void* to, std::size_t size, off_t offset) {
    static auto* const next = next_definition<ssize_t(int, void*, std::size_t, off_t)>("pread");
    return read_to(to, size, [&](void* at) { return next(file, at, size, offset); });
}
ssize_t pread64(int file, void* to, std::size_t size, off64_t offset) { return pread(file, to, size, offset); }
ssize_t readv(int file, const iovec* places, int count) {
    static auto* const next = next_definition<ssize_t(int, const iovec*, int)>("readv");
    return read_to_all(places, count, [&](const iovec* others) { return next(file, others, count); });
}
ssize_t preadv(int file, const iovec* places, int count, off_t offset) {
    static auto* const next = next_definition<ssize_t(int, const iovec*, int, off_t)>("preadv");
    return read_to_all(places, count, [&](const iovec* others) { return next(file, others, count, offset); });
}
ssize_t preadv64(int file, const iovec* places, int count, off64_t offset) {
    return preadv(file, places, count, offset);
}
ssize_t preadv2(int file, const iovec* places, int count, off_t offset, int flags) {
    static auto* const next = next_definition<ssize_t(int, const iovec*, int, off_t, int)>("preadv2");
    return read_to_all(places, count, [&](const iovec* others) { return next(file, others, count, offset, flags); });
}
ssize_t recv(int socket, void* to, std::size_t size, int flags) {
    static auto* const next = next_definition<ssize_t(int, void*, std::size_t, int)>("recv");
    return read_to(to, size, [&](void* at) { return next(socket, at, size, flags); });
}
ssize_t recvfrom(int socket, void* to, std::size_t size, int flags, sockaddr* from, socklen_t* from_size) {
    static auto* const next =
        next_definition<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)>("recvfrom");
    return read_to(to, size, [&](void* at) { return next(socket, at, size, flags, from, from_size); });
}

}  // extern "C"
