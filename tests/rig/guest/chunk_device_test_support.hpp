// The calls of the kernel module's device.
#pragma once

#include <kernel/holdfast_chunks.h>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <cstddef>

namespace holdfast::rig {

/// Of the smallest chunk in the regions that the rig formats.
inline constexpr __u64 leaf_bytes = 2 << 20;
/// Of the chunk that a pool takes, and what it takes in the end.
inline constexpr __u64 pool_key = 0x1d;
inline constexpr __u64 largest_pool_bytes = 64 << 20;

/// The device, opened: it uses at most one chunk.
class chunk_device {
public:
    explicit chunk_device(int flags = O_RDWR) : opened_(::open("/dev/holdfast", flags | O_CLOEXEC)) {}
    ~chunk_device() { ::close(opened_); }
    chunk_device(const chunk_device&) = delete;
    chunk_device& operator=(const chunk_device&) = delete;

    int descriptor() const noexcept { return opened_; }
    /// 0 or the errno.
    template <class T>
    int call(unsigned long number, T* about) const {
        return ::ioctl(opened_, number, about) == 0 ? 0 : errno;
    }
    int make(__u64 key, __u64 bytes, __u32 mode = 0600) const {
        holdfast_chunk chunk = asked(key, bytes, mode);
        return call(HOLDFAST_MAKE, &chunk);
    }
    int use(__u64 key) const {
        holdfast_chunk chunk = asked(key);
        return call(HOLDFAST_USE, &chunk);
    }
    int free(__u64 key) const {
        holdfast_chunk chunk = asked(key);
        return call(HOLDFAST_FREE, &chunk);
    }
    int format(__u64 leaf) const {
        holdfast_format wanted{leaf, 0};
        return call(HOLDFAST_FORMAT, &wanted);
    }
    /// Null: errno says why.
    unsigned char* map(std::size_t bytes, off_t from = 0, int flags = MAP_SHARED_VALIDATE | MAP_SYNC,
                       int access = PROT_READ | PROT_WRITE) const {
        void* const at = ::mmap(nullptr, bytes, access, flags, opened_, from);
        return at == MAP_FAILED ? nullptr : static_cast<unsigned char*>(at);
    }

    static holdfast_chunk asked(__u64 key, __u64 bytes = 0, __u32 mode = 0) {
        holdfast_chunk chunk{};
        chunk.key = key;
        chunk.bytes = bytes;
        chunk.mode = mode;
        return chunk;
    }

private:
    int opened_;
};

}  // namespace holdfast::rig
