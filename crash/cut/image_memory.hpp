// Where images lie while recovery runs on them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::crash {

/// Zeroed memory, for as long as it lives: at the place of a pool, or as a file that a pool can be opened from.
class image_memory {
public:
    image_memory(std::byte* base, std::size_t size) : bytes_{base, size} {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED_NOREPLACE;
        if (::mmap(base, size, PROT_READ | PROT_WRITE, flags, -1, 0) != base) std::abort();
    }
    image_memory(const std::string& path, std::size_t size) : path_(path) {
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(size)) != 0) std::abort();
        void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
        ::close(descriptor);
        if (at == MAP_FAILED) std::abort();
        bytes_ = {static_cast<std::byte*>(at), size};
    }
    ~image_memory() {
        ::munmap(bytes_.data(), bytes_.size());
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    image_memory(const image_memory&) = delete;
    image_memory& operator=(const image_memory&) = delete;
    std::span<std::byte> bytes() const { return bytes_; }

private:
    std::string path_;
    std::span<std::byte> bytes_;
};

}  // namespace holdfast::crash
