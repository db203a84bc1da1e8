#include <holdfast/base/signal_handlers.hpp>

#include <unwind.h>

#include <atomic>

#if defined(__x86_64__) && defined(__linux__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HOLDFAST_MARKS_HANDLERS 1
#endif

namespace holdfast::detail {
namespace {

_Unwind_Reason_Code look_for_signal_frame(_Unwind_Context* context, void* found) {
    int before_instruction = 0;
    _Unwind_GetIPInfo(context, &before_instruction);
    // Set only for the frame that a signal interrupted: its address is not a return address.
    if (before_instruction == 0) return _URC_NO_REASON;
    *static_cast<bool*>(found) = true;
    return _URC_END_OF_STACK;
}

#ifdef HOLDFAST_MARKS_HANDLERS
/// False where something runs the program that does not keep the bit.
constinit std::atomic<bool> keeps_mark{true};

void mark() noexcept {
    std::uint16_t control_word;
    asm volatile("fnstcw %0" : "=m"(control_word));
    control_word |= mark_outside_handlers;
    asm volatile("fldcw %0" : : "m"(control_word));
    if (!is_marked_outside_handlers()) keeps_mark.store(false, std::memory_order_relaxed);
}
#else
void mark() noexcept {}
#endif

}  // namespace

bool inside_signal_handler() noexcept {
    bool found = false;
    ++looks_at_stack;
    _Unwind_Backtrace(look_for_signal_frame, &found);
    return found;
}

bool marks_handlers() noexcept {
#ifdef HOLDFAST_MARKS_HANDLERS
    return __rseq_size != 0 && keeps_mark.load(std::memory_order_relaxed);
#else
    return false;
#endif
}

bool look_for_handler(std::uintptr_t key) noexcept {
    if (inside_signal_handler()) return true;
    if (marks_handlers()) {
        mark();
    } else {
        place_of_frame(key) = key;
    }
    return false;
}

}  // namespace holdfast::detail
