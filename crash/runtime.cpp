// What the compiler calls before each load and store of instrumented code (-fsanitize=thread), and
// nothing else of that sanitizer. Compiled without instrumentation; so is what it calls.
#include <crash/lazy_memory.hpp>

#include <cstring>

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

}  // extern "C"
