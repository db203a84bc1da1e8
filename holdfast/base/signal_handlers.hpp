// Whether a signal handler is among the callers. Owns: the mark that makes the answer cheap.
//
// Looking at the stack answers it, but costs more the deeper the stack is. So a thread in which no handler was found is
// marked, and a handler runs without the mark:
//   * The mark is bit 12 of the x87 control word ("infinity control"). No processor since the 80287 gives it a
//     meaning, it can be set and read, and the ABI keeps the control word across calls.
//   * Linux begins each handler with the initial floating-point state, in which the bit is 0, on whatever stack the
//     handler runs. Returning from the handler brings the interrupted state back, with its mark.
//   * So the mark says: since this control word was set no handler has begun that did not return. That holds for nested
//     handlers (each begins without it), after siglongjmp out of one (the control word stays the handler's; then the
//     stack is examined once more), and for coroutines, whose switches keep the control word with the stack.
//   * A reset of the control word (fninit, a restored environment) only makes the library look again.
// What would go unseen: a handler that installs a floating-point environment that was saved outside of all handlers.
//
// An emulator may deliver signals without resetting the state. None that we know of registers restartable sequences,
// which Linux does for the C library. Where they are not registered, and on other processors, no mark is set: there a
// frame that was looked at before, called from the same place, is not looked at again.
//
// The kernel clears the pointer to a restartable sequence, too, when it delivers a signal; but newer kernels do not
// where they deliver it at the end of a system call, and all do at each preemption.
#pragma once

#include <cstdint>

namespace holdfast::detail {

/// Inspects the whole stack. Costs about a microsecond, and 200 ns for each caller.
bool inside_signal_handler() noexcept;

/// Frames in which this thread was found outside every signal handler, each with the place that called it: a handler
/// runs in other frames. Only where the thread leaves no marks.
inline constinit thread_local std::uintptr_t frames_outside_handlers[64]{};

inline std::uintptr_t key_of_frame(const void* frame, const void* caller) noexcept {
    constexpr std::uintptr_t golden_ratio = 0x9E3779B97F4A7C15u;
    return (reinterpret_cast<std::uintptr_t>(frame) ^ reinterpret_cast<std::uintptr_t>(caller) << 17) * golden_ratio;
}
inline std::uintptr_t& place_of_frame(std::uintptr_t key) noexcept { return frames_outside_handlers[key >> 58]; }

/// is_handler_frame where there is no mark. Leaves one, or remembers the frame, when no handler is found.
bool look_for_handler(std::uintptr_t key) noexcept;

/// Number of times that this thread inspected its stack; for tests.
inline constinit thread_local std::uint64_t looks_at_stack = 0;

#if defined(__x86_64__) && defined(__linux__)
inline constexpr std::uint16_t mark_outside_handlers = 1u << 12;

inline bool is_marked_outside_handlers() noexcept {
    std::uint16_t control_word;
    asm volatile("fnstcw %0" : "=m"(control_word));
    return (control_word & mark_outside_handlers) != 0;
}
#else
inline bool is_marked_outside_handlers() noexcept { return false; }
#endif

/// Whether this thread leaves marks that a handler does not inherit.
bool marks_handlers() noexcept;

/// True when a signal handler is among the callers. `frame` and `caller` are those of the function that asks.
inline bool is_handler_frame(const void* frame, const void* caller) noexcept {
    if (is_marked_outside_handlers()) [[likely]]
        return false;
    const std::uintptr_t key = key_of_frame(frame, caller);
    return place_of_frame(key) != key && look_for_handler(key);
}

}  // namespace holdfast::detail
