// The calls of the kernel module's that concern logs.
#pragma once

#include "chunk_device_test_support.hpp"

#include <kernel/holdfast_powerfail.h>

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>

namespace holdfast::rig {

struct session {
    std::uint64_t words[HOLDFAST_SESSION_WORDS];
};

inline holdfast_log log_at(const void* at, std::size_t bytes, __u64 key, const session& of) {
    holdfast_log log{};
    log.address = reinterpret_cast<std::uintptr_t>(at);
    log.bytes = bytes;
    log.key = key;
    log.mode = 0600;
    std::memcpy(log.session, of.words, sizeof log.session);
    return log;
}

inline holdfast_saved saved_as(__u64 key, const session& of) {
    holdfast_saved saved{};
    saved.key = key;
    std::memcpy(saved.session, of.words, sizeof saved.session);
    return saved;
}

/// The first save under the key that is offered; false: there is none.
inline bool find_saved(const chunk_device& on, __u64 key, holdfast_saved& found) {
    found = {};
    while (on.call(HOLDFAST_NEXT_SAVED, &found) == 0) {
        if (found.key == key) return true;
        const __u64 behind = found.offset + 1;
        found = {};
        found.offset = behind;
    }
    return false;
}

/// 0 or the errno.
inline int read_saved(const chunk_device& on, __u64 key, const session& of, void* to, std::size_t bytes,
                      std::size_t from = 0) {
    holdfast_saved saved = saved_as(key, of);
    saved.from = from;
    saved.wanted = bytes;
    saved.address = reinterpret_cast<std::uintptr_t>(to);
    return on.call(HOLDFAST_READ_SAVED, &saved);
}

/// Memory of this process that can be registered.
class volatile_memory {
public:
    explicit volatile_memory(std::size_t bytes, int flags = MAP_PRIVATE) : bytes_(bytes) {
        at_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
        if (at_ == MAP_FAILED) throw std::bad_alloc();
    }
    ~volatile_memory() { ::munmap(at_, bytes_); }
    volatile_memory(const volatile_memory&) = delete;
    volatile_memory& operator=(const volatile_memory&) = delete;

    unsigned char* data() const noexcept { return static_cast<unsigned char*>(at_); }
    std::size_t size() const noexcept { return bytes_; }

private:
    void* at_;
    std::size_t bytes_;
};

/// A chunk of the open file's, mapped.
class mapped_chunk {
public:
    mapped_chunk(const chunk_device& of, std::size_t bytes) : at_(of.map(bytes)), bytes_(bytes) {
        if (at_ == nullptr) throw std::system_error(errno, std::generic_category(), "map a chunk");
    }
    ~mapped_chunk() { ::munmap(at_, bytes_); }
    mapped_chunk(const mapped_chunk&) = delete;
    mapped_chunk& operator=(const mapped_chunk&) = delete;

    unsigned char* data() const noexcept { return at_; }

private:
    unsigned char* at_;
    std::size_t bytes_;
};

}  // namespace holdfast::rig
