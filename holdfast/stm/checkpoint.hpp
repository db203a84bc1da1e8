// The registers of a place that a transaction returns to: what setjmp does, without what it does besides, and with the
// floating-point control words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::stm {

/// Registers that a function must leave as they were, stack pointer, and where to go on. Plain data, whose offsets
/// assembly relies on.
struct checkpoint {
#if defined(__x86_64__)
    std::uint64_t rbx, rbp, r12, r13, r14, r15;
    std::uint64_t rsp;  ///< as it is after the return
    std::uint64_t rip;
    std::uint32_t mxcsr;
    std::uint16_t x87_control;
    std::uint16_t unused;
#elif defined(__aarch64__)
    std::uint64_t x19_to_x30[12];  ///< x30 is where to go on
    std::uint64_t sp;
    std::uint64_t d8_to_d15[8];
    std::uint64_t fpcr;
#else
#error "No checkpoint for this processor: name its callee-saved registers here and in checkpoint.cpp"
#endif
};

#if defined(__x86_64__)
static_assert(offsetof(checkpoint, rsp) == 48 && offsetof(checkpoint, rip) == 56 && offsetof(checkpoint, mxcsr) == 64 &&
              offsetof(checkpoint, x87_control) == 68);
#elif defined(__aarch64__)
static_assert(offsetof(checkpoint, sp) == 96 && offsetof(checkpoint, d8_to_d15) == 104 &&
              offsetof(checkpoint, fpcr) == 168);
#endif

extern "C" {

/// Fills `here` and returns 0; returns again, with resume's `result`, for each resume(here, result). The caller's
/// frame must still be there then, and what it keeps in registers and changed since is as it was: keep such things in
/// memory that others can reach.
[[gnu::returns_twice]] int holdfast_stm_save(checkpoint* here) noexcept;
/// Goes on where `here` was saved. No destructor of the frames in between runs. Requires: result != 0, same thread.
[[noreturn]] void holdfast_stm_resume(const checkpoint* here, int result) noexcept;

}  // extern "C"

[[noreturn]] inline void resume(const checkpoint& here, int result) noexcept { holdfast_stm_resume(&here, result); }

}  // namespace holdfast::stm
