// System calls, by Linux's numbers: the simulated machine has these, and so has Linux.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::guest {

inline long call_system(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
    register long a0 asm("a0") = a;
    register long a1 asm("a1") = b;
    register long a2 asm("a2") = c;
    register long a3 asm("a3") = d;
    register long a4 asm("a4") = e;
    register long a5 asm("a5") = f;
    register long a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

/// Ends the program, all threads.
[[noreturn]] inline void leave(int status) noexcept {
    call_system(94, status);
    __builtin_unreachable();
}

/// Writes a line to the standard output and ends the program with status 3: for what a parameter brought about.
[[noreturn]] void give_up(const char* reason) noexcept;

/// Fresh memory, all zero, at `address`. Gives up if there is none.
void* map_memory(std::uint64_t address, std::size_t bytes) noexcept;

/// Sleeps while *word is `value`; may also return without a reason.
inline void sleep_while(const std::uint32_t* word, std::uint32_t value) noexcept {
    constexpr long wait_private = 0 | 128;
    call_system(98, reinterpret_cast<long>(word), wait_private, value);
}
/// The same for a word that the kernel changes when a thread ends, which it does not treat as private.
inline void sleep_while_shared(const std::uint32_t* word, std::uint32_t value) noexcept {
    call_system(98, reinterpret_cast<long>(word), 0, value);
}
inline void wake(const std::uint32_t* word, std::uint32_t most) noexcept {
    constexpr long wake_private = 1 | 128;
    call_system(98, reinterpret_cast<long>(word), wake_private, most);
}

}  // namespace holdfast::guest
