// A region of persistent memory of the guest, without the library: a file on DAX, a device, or a chunk of the kernel
// module's.
#pragma once

#include "chunk_device_test_support.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

namespace holdfast::rig {

class mapped_region {
public:
    /// Makes the file or the chunk if there is none; another device must have the size. Throws std::system_error, also
    /// where the kernel does not promise that stores reach the medium (MAP_SYNC).
    mapped_region(const std::string& path, std::size_t bytes) : bytes_(bytes) {
        const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (opened < 0) throw std::system_error(errno, std::generic_category(), "open " + path);
        struct stat is {};
        int failed = ::fstat(opened, &is) == 0 ? 0 : errno;
        if (failed == 0 && S_ISREG(is.st_mode)) failed = ::posix_fallocate(opened, 0, static_cast<off_t>(bytes));
        if (failed == 0 && path == "/dev/holdfast") failed = use_chunk(opened, bytes);
        if (failed == 0) {
            data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, opened, 0);
            if (data_ == MAP_FAILED) failed = errno;
        }
        ::close(opened);
        if (failed != 0) throw std::system_error(failed, std::generic_category(), "map " + path + " with MAP_SYNC");
    }
    ~mapped_region() { ::munmap(data_, bytes_); }
    mapped_region(const mapped_region&) = delete;
    mapped_region& operator=(const mapped_region&) = delete;

    std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

private:
    static int use_chunk(int opened, std::size_t bytes) {
        holdfast_chunk chunk = chunk_device::asked(1, bytes, 0600);
        if (::ioctl(opened, HOLDFAST_MAKE, &chunk) == 0) return 0;
        if (errno != EEXIST) return errno;
        return ::ioctl(opened, HOLDFAST_USE, &chunk) == 0 ? 0 : errno;
    }

    void* data_ = MAP_FAILED;
    std::size_t bytes_;
};

}  // namespace holdfast::rig
