// The mechanisms without a library, a run-time system or an operating system's help but for one call: a program of its
// own, linked with nothing. It exits with 0, or with the number of the line that found something wrong.
#include <holdfast/line/copies.hpp>
#include <holdfast/line/mechanism.hpp>

using holdfast::cache_line::copies;
using holdfast::cache_line::copies_transaction;
using holdfast::cache_line::open_object;
using holdfast::cache_line::transaction;

// What a compiler may call in every program.
extern "C" void* memcpy(void* to, const void* from, size_t size) {
    for (size_t i = 0; i < size; ++i)
        static_cast<volatile unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
    return to;
}
extern "C" void* memset(void* to, int value, size_t size) {
    for (size_t i = 0; i < size; ++i) static_cast<volatile unsigned char*>(to)[i] = static_cast<unsigned char>(value);
    return to;
}

namespace {

[[noreturn]] void leave(int status) {
#if defined(__x86_64__)
    asm volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
#else
    register long number asm("x8") = 93;
    register long argument asm("x0") = status;
    asm volatile("svc 0" : : "r"(number), "r"(argument) : "memory");
#endif
    __builtin_unreachable();
}

/// A kernel's own.
struct medium {
    static inline open_object* list = nullptr;
    static inline unsigned made_durable = 0;

    static open_object*& innermost() noexcept { return list; }
    static void order() noexcept { __atomic_thread_fence(__ATOMIC_RELEASE); }
    static void make_durable(void*) noexcept { ++made_durable; }
    static void make_durable(void*, const uint64_t*, size_t) noexcept { ++made_durable; }
    static void make_taken_over_durable(void*, const uint64_t*, size_t) noexcept { ++made_durable; }
    static void make_recovered_durable(void*, const uint64_t*, size_t) noexcept { ++made_durable; }
    static void store_recovered_header(void* header, uint64_t sequence, uint64_t sum) noexcept {
        static_cast<volatile uint64_t*>(header)[0] = sequence;
        static_cast<volatile uint64_t*>(header)[1] = sum;
    }
};

void expect(bool holds, int line) {
    if (!holds) leave(line);
}

struct counter {
    unsigned value;
};

void try_one_line() {
    alignas(64) static unsigned char line[64];
    for (unsigned i = 1; i <= 3; ++i) {
        transaction<medium, sizeof(counter)> open(line);
        auto* const active = static_cast<counter*>(open.active());
        expect(active->value == i - 1, __LINE__);
        active->value = i;
        expect(static_cast<const counter*>(holdfast::cache_line::valid_half(line))->value == i - 1, __LINE__);
        open.commit();
    }
    {
        transaction<medium, sizeof(counter)> rolled_back(line);
        static_cast<counter*>(rolled_back.active())->value = 9;
    }
    expect(static_cast<const counter*>(holdfast::cache_line::valid_half(line))->value == 3, __LINE__);
    expect(medium::made_durable == 3, __LINE__);
}

struct record {
    uint64_t words[20];
};

void try_many_lines() {
    alignas(64) static copies<sizeof(record)> object;
    const record first{};
    object.begin_with(&first);
    for (uint64_t i = 1; i <= 3; ++i) {
        copies_transaction<medium, sizeof(record)> open(object);
        static_cast<record*>(open.active())->words[19] += i;
        open.commit();
    }
    expect(static_cast<const record*>(object.at(object.valid()).object())->words[19] == 6, __LINE__);
    expect(object.recover<medium>(), __LINE__);
    expect(medium::made_durable == 3 + 3 + 2, __LINE__);
}

}  // namespace

extern "C" [[noreturn]] void run() {
    try_one_line();
    try_many_lines();
    leave(0);
}

// The kernel enters with whatever alignment; functions expect another.
#if defined(__x86_64__)
asm(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call run\n");
#else
asm(".globl _start\n_start:\n  mov x29, 0\n  bl run\n");
#endif
