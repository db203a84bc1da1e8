// The C library's functions that look for the end of a text: it is not instrumented, and how far they read only the
// bytes tell. The linker sends instrumented code's calls here (--wrap). Uninstrumented, like runtime.cpp.
#include <crash/cut/lazy_memory.hpp>

#include <cstddef>

namespace {

using holdfast::crash::instrumented_memory;

unsigned char byte_at(const void* text, std::size_t index) {
    const auto* at = static_cast<const unsigned char*>(text) + index;
    if (instrumented_memory != nullptr) instrumented_memory->read(at, 1);
    // What was just read may have taken shape this moment.
    return *static_cast<const volatile unsigned char*>(at);
}

}  // namespace

extern "C" {

std::size_t __wrap_strnlen(const char* text, std::size_t size) {
    std::size_t length = 0;
    while (length < size && byte_at(text, length) != 0) ++length;
    return length;
}
std::size_t __wrap_strlen(const char* text) { return __wrap_strnlen(text, ~std::size_t{0}); }

int __wrap_strncmp(const char* a, const char* b, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        const int left = byte_at(a, i);
        const int right = byte_at(b, i);
        if (left != right || left == 0) return left - right;
    }
    return 0;
}
int __wrap_strcmp(const char* a, const char* b) { return __wrap_strncmp(a, b, ~std::size_t{0}); }

void* __wrap_memchr(const void* bytes, int wanted, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
        if (byte_at(bytes, i) == static_cast<unsigned char>(wanted))
            return const_cast<unsigned char*>(static_cast<const unsigned char*>(bytes) + i);
    return nullptr;
}
char* __wrap_strchr(const char* text, int wanted) {
    for (std::size_t i = 0;; ++i) {
        const unsigned char letter = byte_at(text, i);
        if (letter == static_cast<unsigned char>(wanted)) return const_cast<char*>(text + i);
        if (letter == 0) return nullptr;
    }
}

// Clang's names for copies.
void* __wrap_memcpy(void* to, const void* from, std::size_t size);
void* __wrap_memmove(void* to, const void* from, std::size_t size);
void* __wrap_memset(void* to, int value, std::size_t size);
void* __tsan_memcpy(void* to, const void* from, std::size_t size) { return __wrap_memcpy(to, from, size); }
void* __tsan_memmove(void* to, const void* from, std::size_t size) { return __wrap_memmove(to, from, size); }
void* __tsan_memset(void* to, int value, std::size_t size) { return __wrap_memset(to, value, size); }

}  // extern "C"
