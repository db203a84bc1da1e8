// What the C library does for programs that ask for private memory as they go, and that calculate: STAMP's. They are
// compiled against its declarations, and this is all of it that they need.
#include <sim/guest/heap.hpp>

namespace {

using holdfast::guest::lock;

constexpr std::size_t line_bytes = 64;

/// In front of what its owner gets, on a line of its own, so that any alignment up to a line's is right.
struct block {
    std::uint64_t size;  ///< with this, as a power of two
    block* next_free;
};

lock one_at_a_time;
block* freed[64];

void* allocate(std::size_t bytes) noexcept {
    std::uint64_t size = 7;
    while (std::size_t{1} << size < bytes + line_bytes) ++size;
    one_at_a_time.acquire();
    block* made = freed[size];
    if (made != nullptr) freed[size] = made->next_free;
    one_at_a_time.release();
    if (made == nullptr) {
        made = static_cast<block*>(holdfast::guest::allocate_volatile(std::size_t{1} << size));
        made->size = size;
    }
    return reinterpret_cast<char*>(made) + line_bytes;
}

}  // namespace

extern "C" {

[[noreturn]] void abort() { holdfast::guest::give_up("aborted"); }

void* malloc(std::size_t bytes) { return allocate(bytes); }

void* calloc(std::size_t count, std::size_t bytes) {
    return __builtin_memset(allocate(count * bytes), 0, count * bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return alignment <= line_bytes ? allocate(bytes) : nullptr;
}

void free(void* places) {
    if (places == nullptr) return;
    auto* const given = reinterpret_cast<block*>(static_cast<char*>(places) - line_bytes);
    one_at_a_time.acquire();
    given->next_free = freed[given->size];
    freed[given->size] = given;
    one_at_a_time.release();
}

/// Of positive normal numbers. The series of atanh, for a mantissa between the root of a half and the root of two: the
/// first term left out is below 2^-66.
double log(double of) {
    constexpr double root_of_two = 1.41421356237309504880;
    constexpr double log_of_two = 0.69314718055994530942;
    constexpr int terms = 13;
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &of, sizeof(bits));
    auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
    bits = (bits << 12 >> 12) | std::uint64_t{1023} << 52;
    double mantissa = 0;
    __builtin_memcpy(&mantissa, &bits, sizeof(mantissa));
    if (mantissa > root_of_two) {
        mantissa /= 2;
        ++exponent;
    }
    const double part = (mantissa - 1) / (mantissa + 1);
    double sum = 0;
    for (int i = terms - 1; i >= 0; --i) sum = sum * part * part + 1.0 / (2 * i + 1);
    return static_cast<double>(exponent) * log_of_two + 2 * part * sum;
}

/// Of angles up to a right one: the first term of the series that is left out is below 2^-60.
double sin(double of) {
    constexpr int terms = 11;
    double sum = 1;
    for (int i = terms - 1; i > 0; --i) sum = 1 - sum * of * of / (2 * i * (2 * i + 1));
    return of * sum;
}
}
