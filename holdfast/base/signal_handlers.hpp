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
//     stack is looked at once more), and for coroutines, whose switches keep the control word with the stack.
//   * Whoever resets the control word (fninit, a restored environment) only makes us look again.
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

/// is_handler_frame where there is no mark. Leaves one when no handler is found.
bool look_for_handler(const void* frame, const void* caller) noexcept;

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

/// Where this thread leaves no marks: what was last found to be outside handlers.
struct outside_handlers {
    const void* frame;
    const void* caller;
};
inline constinit thread_local outside_handlers last_outside_handlers{};

/// True when a signal handler is among the callers. `frame` and `caller` are those of the function that asks.
inline bool is_handler_frame(const void* frame, const void* caller) noexcept {
    if (is_marked_outside_handlers()) [[likely]]
        return false;
    if (last_outside_handlers.frame == frame && last_outside_handlers.caller == caller) return false;
    return look_for_handler(frame, caller);
}

}  // namespace holdfast::detail
