// One call of the library in which one allocation or one system call fails. The C library's functions are replaced in
// the program that includes this, so one source of a program includes it.
#pragma once

#include <fcntl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

namespace holdfast::test {

/// Not an errno: the call writes or reads half of what it was asked for.
constexpr int half = -1;
/// Not an errno: no call fails, an allocation does.
constexpr int no_memory = -2;
/// Not an errno: a durable write is made, and then fails.
constexpr int written = -3;

/// What fails on this thread while it is armed.
struct failing_calls {
    bool armed = false;
    int how = 0;              ///< an errno, `half` or `no_memory`
    unsigned at = 0;          ///< the number of the call that fails, from 1; 0: none
    unsigned more = 0;        ///< the number of calls after that one that fail as well
    unsigned seen = 0;        ///< calls so far
    bool sync_failed = false;
    const char** failed = nullptr;  ///< where the name of the first function that failed goes

    void arm(int kind, unsigned number, unsigned also) {
        how = kind;
        at = number;
        more = also;
        seen = 0;
        sync_failed = false;
        armed = true;
    }
    bool is_next(const char* name) {
        ++seen;
        if (at == 0 || seen < at || seen - at > more) return false;
        if (seen == at) *failed = name;
        return true;
    }
    /// True where this call is the one that fails; errno is then set.
    bool fails(const char* name, bool can_be_short = false) {
        if (!armed || how == no_memory || (how == half && !can_be_short)) return false;
        if (how == written && name != std::string_view("pwritev2")) return false;
        if (!is_next(name)) return false;
        errno = how == written ? EIO : how;
        if (how != half) sync_failed |= is_sync(name);
        return true;
    }
    bool fails_to_allocate(const char* name) { return armed && how == no_memory && is_next(name); }
    /// Only by itself: where a thread_local finds no memory for its end, the C library ends the process.
    bool fails_to_allocate_zeros(const char* name) { return fails_to_allocate(name) && seen == at; }
    /// The functions that make bytes durable; the library writes with pwritev2 only to sync as well.
    static bool is_sync(std::string_view name) {
        return name == "fdatasync" || name == "fsync" || name == "msync" || name == "pwritev2";
    }
    /// What a call of `size` bytes is to do: all, half, or fail (0).
    std::size_t part(const char* name, std::size_t size) {
        if (!fails(name, size > 1)) return size;
        return how == half ? size / 2 : 0;
    }
};
inline constinit thread_local failing_calls this_thread_fails;

namespace detail {

template <class F>
F* next(F*, const char* name) {
    const bool armed = std::exchange(this_thread_fails.armed, false);
    F* const found = reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
    this_thread_fails.armed = armed;
    return found;
}

inline void* allocated(const char* name, std::size_t bytes, std::size_t alignment) {
    if (this_thread_fails.fails_to_allocate(name)) return nullptr;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    return alignment <= 16 ? std::malloc(bytes != 0 ? bytes : 1) : std::aligned_alloc(alignment, whole);
}

inline void* allocated_or_thrown(const char* name, std::size_t bytes, std::size_t alignment = 16) {
    void* const made = allocated(name, bytes, alignment);
    if (made == nullptr) throw std::bad_alloc();
    return made;
}

}  // namespace detail
}  // namespace holdfast::test

// What the C library's function of that name does, looked up once.
#define HOLDFAST_TEST_NEXT(name) \
    ([]() -> auto* { \
        static auto* const next = holdfast::test::detail::next(&::name, #name); \
        return next; \
    }())
// A function all of whose failures look alike.
#define HOLDFAST_TEST_FAILS(returned, name, parameters, arguments, failure) \
    returned name parameters { \
        if (holdfast::test::this_thread_fails.fails(#name)) return failure; \
        return HOLDFAST_TEST_NEXT(name) arguments; \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* block, std::size_t bytes) noexcept;

void* calloc(std::size_t count, std::size_t bytes) noexcept {
    if (!holdfast::test::this_thread_fails.fails_to_allocate_zeros("calloc")) return __libc_calloc(count, bytes);
    errno = ENOMEM;
    return nullptr;
}
void* realloc(void* block, std::size_t bytes) noexcept {
    if (!holdfast::test::this_thread_fails.fails_to_allocate("realloc")) return __libc_realloc(block, bytes);
    errno = ENOMEM;
    return nullptr;
}

ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) {
    const std::size_t part = holdfast::test::this_thread_fails.part("pwrite", size);
    return part == 0 && size != 0 ? -1 : HOLDFAST_TEST_NEXT(pwrite)(descriptor, bytes, part, offset);
}
ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
    const std::size_t part = holdfast::test::this_thread_fails.part("pread", size);
    return part == 0 && size != 0 ? -1 : HOLDFAST_TEST_NEXT(pread)(descriptor, bytes, part, offset);
}
ssize_t pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
    auto& fails = holdfast::test::this_thread_fails;
    if (!fails.fails("pwritev2", true)) return HOLDFAST_TEST_NEXT(pwritev2)(descriptor, pieces, count, offset, flags);
    if (fails.how == holdfast::test::written) {
        static_cast<void>(HOLDFAST_TEST_NEXT(pwritev2)(descriptor, pieces, count, offset, flags));
        errno = EIO;
        return -1;
    }
    if (fails.how != holdfast::test::half) return -1;
    // Half of the first piece.
    const iovec first{pieces->iov_base, (pieces->iov_len + 1) / 2};
    return HOLDFAST_TEST_NEXT(pwritev2)(descriptor, &first, 1, offset, flags);
}

int open(const char* path, int flags, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? __builtin_va_arg(more, unsigned) : 0;
    __builtin_va_end(more);
    if (holdfast::test::this_thread_fails.fails("open")) return -1;
    return HOLDFAST_TEST_NEXT(open)(path, flags, mode);
}
int fcntl(int descriptor, int command, ...) {
    __builtin_va_list more;
    __builtin_va_start(more, command);
    void* const argument = __builtin_va_arg(more, void*);
    __builtin_va_end(more);
    if (holdfast::test::this_thread_fails.fails("fcntl")) return -1;
    return HOLDFAST_TEST_NEXT(fcntl)(descriptor, command, argument);
}
int ioctl(int descriptor, unsigned long request, ...) noexcept {
    __builtin_va_list more;
    __builtin_va_start(more, request);
    void* const argument = __builtin_va_arg(more, void*);
    __builtin_va_end(more);
    if (holdfast::test::this_thread_fails.fails("ioctl")) return -1;
    return HOLDFAST_TEST_NEXT(ioctl)(descriptor, request, argument);
}
long syscall(long number, ...) noexcept {
    __builtin_va_list more;
    __builtin_va_start(more, number);
    long given[6];
    for (long& each : given) each = __builtin_va_arg(more, long);
    __builtin_va_end(more);
    if (holdfast::test::this_thread_fails.fails("syscall")) return -1;
    return HOLDFAST_TEST_NEXT(syscall)(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
    if (holdfast::test::this_thread_fails.fails("pthread_create")) return EAGAIN;
    return HOLDFAST_TEST_NEXT(pthread_create)(thread, attributes, run, argument);
}

HOLDFAST_TEST_FAILS(int, fdatasync, (int descriptor), (descriptor), -1)
HOLDFAST_TEST_FAILS(int, fsync, (int descriptor), (descriptor), -1)
HOLDFAST_TEST_FAILS(int, fallocate, (int descriptor, int mode, off_t offset, off_t bytes),
                    (descriptor, mode, offset, bytes), -1)
HOLDFAST_TEST_FAILS(int, fstatfs, (int descriptor, struct statfs* status) noexcept, (descriptor, status), -1)
HOLDFAST_TEST_FAILS(int, posix_fallocate, (int descriptor, off_t offset, off_t bytes), (descriptor, offset, bytes), EIO)
HOLDFAST_TEST_FAILS(int, ftruncate, (int descriptor, off_t bytes) noexcept, (descriptor, bytes), -1)
HOLDFAST_TEST_FAILS(void*, mmap,
                    (void* at, std::size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept,
                    (at, bytes, protection, flags, descriptor, offset), MAP_FAILED)
HOLDFAST_TEST_FAILS(int, madvise, (void* at, std::size_t bytes, int advice) noexcept, (at, bytes, advice), -1)
HOLDFAST_TEST_FAILS(int, msync, (void* at, std::size_t bytes, int flags), (at, bytes, flags), -1)
HOLDFAST_TEST_FAILS(int, fchmod, (int descriptor, mode_t mode) noexcept, (descriptor, mode), -1)
HOLDFAST_TEST_FAILS(int, fstat, (int descriptor, struct stat* status) noexcept, (descriptor, status), -1)
HOLDFAST_TEST_FAILS(int, stat, (const char* path, struct stat* status) noexcept, (path, status), -1)
HOLDFAST_TEST_FAILS(int, lstat, (const char* path, struct stat* status) noexcept, (path, status), -1)
HOLDFAST_TEST_FAILS(int, statfs, (const char* path, struct statfs* status) noexcept, (path, status), -1)
HOLDFAST_TEST_FAILS(int, fstatvfs, (int descriptor, struct statvfs* status) noexcept, (descriptor, status), -1)
HOLDFAST_TEST_FAILS(int, statx,
                    (int directory, const char* path, int flags, unsigned mask, struct statx* status) noexcept,
                    (directory, path, flags, mask, status), -1)
HOLDFAST_TEST_FAILS(int, mkostemp, (char* name, int flags), (name, flags), -1)
HOLDFAST_TEST_FAILS(int, link, (const char* from, const char* to) noexcept, (from, to), -1)
HOLDFAST_TEST_FAILS(int, linkat,
                    (int old_directory, const char* from, int directory, const char* to, int flags) noexcept,
                    (old_directory, from, directory, to, flags), -1)
HOLDFAST_TEST_FAILS(int, rename, (const char* from, const char* to) noexcept, (from, to), -1)
HOLDFAST_TEST_FAILS(int, renameat2,
                    (int old_directory, const char* from, int directory, const char* to, unsigned flags) noexcept,
                    (old_directory, from, directory, to, flags), -1)
int unlink(const char* path) noexcept {
    // Only by itself: what cannot be taken away behind another failure stays there.
    auto& fails = holdfast::test::this_thread_fails;
    if (fails.fails("unlink") && fails.seen == fails.at) return -1;
    return HOLDFAST_TEST_NEXT(unlink)(path);
}
HOLDFAST_TEST_FAILS(off_t, lseek, (int descriptor, off_t offset, int whence) noexcept, (descriptor, offset, whence), -1)

}  // extern "C"
#pragma GCC diagnostic pop

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    return holdfast::test::detail::allocated_or_thrown("new", bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
    return holdfast::test::detail::allocated_or_thrown("new[]", bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return holdfast::test::detail::allocated_or_thrown("new", bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return holdfast::test::detail::allocated_or_thrown("new[]", bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return holdfast::test::detail::allocated("new(nothrow)", bytes, 16);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return holdfast::test::detail::allocated("new[](nothrow)", bytes, 16);
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
