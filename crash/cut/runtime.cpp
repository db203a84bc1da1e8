// What the compiler calls before each load and store of instrumented code (-fsanitize=thread), and
// nothing else of that sanitizer. Compiled without instrumentation; so is what it calls.
#include <crash/cut/lazy_memory.hpp>
#include <crash/cut/randomness.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstring>

std::mt19937_64 holdfast::crash::randomness;

namespace {

using holdfast::crash::instrumented_memory;

inline void reads(const void* at, std::size_t size) {
    if (instrumented_memory != nullptr) instrumented_memory->read(at, size);
}
inline void writes(void* at, std::size_t size) {
    if (instrumented_memory != nullptr) instrumented_memory->write(at, size);
}

}  // namespace

// The names are the compiler's.
#define HOLDFAST_PLAIN(size)                                                      \
    void __tsan_read##size(void* at) { reads(at, size); }                         \
    void __tsan_write##size(void* at) { writes(at, size); }                       \
    void __tsan_unaligned_read##size(void* at) { reads(at, size); }               \
    void __tsan_unaligned_write##size(void* at) { writes(at, size); }             \
    void __tsan_volatile_read##size(void* at) { reads(at, size); }                \
    void __tsan_volatile_write##size(void* at) { writes(at, size); }              \
    void __tsan_unaligned_volatile_read##size(void* at) { reads(at, size); }      \
    void __tsan_unaligned_volatile_write##size(void* at) { writes(at, size); }

#define HOLDFAST_CHANGE(bits, type, name, builtin)                                       \
    type __tsan_atomic##bits##_##name(volatile type* at, type value, int) {              \
        reads(const_cast<type*>(at), sizeof(type));                                      \
        writes(const_cast<type*>(at), sizeof(type));                                     \
        return builtin(at, value, __ATOMIC_SEQ_CST);                                     \
    }

#define HOLDFAST_ATOMIC(bits, type)                                                                                \
    type __tsan_atomic##bits##_load(const volatile type* at, int) {                                                \
        reads(const_cast<type*>(at), sizeof(type));                                                                \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                              \
    }                                                                                                              \
    void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                                         \
        writes(const_cast<type*>(at), sizeof(type));                                                               \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                             \
    }                                                                                                              \
    HOLDFAST_CHANGE(bits, type, exchange, __atomic_exchange_n)                                                     \
    HOLDFAST_CHANGE(bits, type, fetch_add, __atomic_fetch_add)                                                     \
    HOLDFAST_CHANGE(bits, type, fetch_sub, __atomic_fetch_sub)                                                     \
    HOLDFAST_CHANGE(bits, type, fetch_and, __atomic_fetch_and)                                                     \
    HOLDFAST_CHANGE(bits, type, fetch_or, __atomic_fetch_or)                                                       \
    HOLDFAST_CHANGE(bits, type, fetch_xor, __atomic_fetch_xor)                                                     \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type wanted, int, int) {  \
        reads(const_cast<type*>(at), sizeof(type));                                                                \
        writes(const_cast<type*>(at), sizeof(type));                                                               \
        return __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    }                                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type wanted, int, int) {    \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, wanted, 0, 0);                          \
    }                                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type wanted, int, int) {     \
        __tsan_atomic##bits##_compare_exchange_strong(at, &expected, wanted, 0, 0);                                \
        return expected;                                                                                           \
    }

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** at, void*) { writes(at, sizeof *at); }
void __tsan_vptr_read(void** at) { reads(at, sizeof *at); }
void __tsan_read_range(void* at, std::size_t size) { reads(at, size); }
void __tsan_write_range(void* at, std::size_t size) { writes(at, size); }
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

HOLDFAST_PLAIN(1)
HOLDFAST_PLAIN(2)
HOLDFAST_PLAIN(4)
HOLDFAST_PLAIN(8)
HOLDFAST_PLAIN(16)
HOLDFAST_ATOMIC(8, unsigned char)
HOLDFAST_ATOMIC(16, unsigned short)
HOLDFAST_ATOMIC(32, unsigned)
HOLDFAST_ATOMIC(64, unsigned long)

// Salts and ids are drawn: the same workload is to give the same images, so that none counts twice.
ssize_t __wrap_getrandom(void* to, std::size_t size, unsigned) {
    auto* bytes = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(holdfast::crash::randomness());
    return static_cast<ssize_t>(size);
}

// The linker sends instrumented code's calls here (--wrap): the functions themselves are not instrumented.
void* __real_memcpy(void* to, const void* from, std::size_t size);
void* __real_memmove(void* to, const void* from, std::size_t size);
void* __real_memset(void* to, int value, std::size_t size);
int __real_memcmp(const void* a, const void* b, std::size_t size);

void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
    reads(from, size);
    writes(to, size);
    return __real_memcpy(to, from, size);
}
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
    reads(from, size);
    writes(to, size);
    return __real_memmove(to, from, size);
}
void* __wrap_memset(void* to, int value, std::size_t size) {
    writes(to, size);
    return __real_memset(to, value, size);
}
int __wrap_memcmp(const void* a, const void* b, std::size_t size) {
    reads(a, size);
    reads(b, size);
    return __real_memcmp(a, b, size);
}

// The same for an image that is opened as a file: in a run, files are read and written by these calls, and
// all of them are the image's.
ssize_t __real_pread(int file, void* to, std::size_t size, off_t offset);
ssize_t __real_pwrite(int file, const void* from, std::size_t size, off_t offset);
ssize_t __real_pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags);
int __real_fstat(int file, struct stat* status);
void* __real_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void* at, std::size_t size);

ssize_t __wrap_pread(int file, void* to, std::size_t size, off_t offset) {
    if (instrumented_memory != nullptr) instrumented_memory->read_file(static_cast<std::uint64_t>(offset), size);
    writes(to, size);
    return __real_pread(file, to, size, offset);
}
ssize_t __wrap_pwrite(int file, const void* from, std::size_t size, off_t offset) {
    reads(from, size);
    if (instrumented_memory != nullptr) instrumented_memory->write_file(static_cast<std::uint64_t>(offset), size);
    return __real_pwrite(file, from, size, offset);
}
ssize_t __wrap_pwritev2(int file, const iovec* pieces, int count, off_t offset, int flags) {
    auto at = static_cast<std::uint64_t>(offset);
    for (int i = 0; i < count; ++i) {
        reads(pieces[i].iov_base, pieces[i].iov_len);
        if (instrumented_memory != nullptr) instrumented_memory->write_file(at, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
    return __real_pwritev2(file, pieces, count, offset, flags);
}
int __wrap_fstat(int file, struct stat* status) {
    const int answer = __real_fstat(file, status);
    if (answer == 0 && instrumented_memory != nullptr && S_ISREG(status->st_mode))
        status->st_size = static_cast<off_t>(instrumented_memory->file_bytes());
    return answer;
}
void* __wrap_mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
    void* got = __real_mmap(at, size, protection, flags, file, offset);
    if (instrumented_memory != nullptr && instrumented_memory->is_seen_at(got))
        instrumented_memory->seen_in_copy(file >= 0 && (flags & MAP_PRIVATE) != 0 && got != MAP_FAILED);
    return got;
}
int __wrap_munmap(void* at, std::size_t size) {
    if (instrumented_memory != nullptr && instrumented_memory->is_seen_at(at)) instrumented_memory->seen_in_copy(false);
    return __real_munmap(at, size);
}

}  // extern "C"
