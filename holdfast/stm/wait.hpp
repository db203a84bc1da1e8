// Waiting for another thread without a lock of the operating system.
#pragma once

#include <holdfast/stm/planted.hpp>

namespace holdfast::stm {

/// Tells the processor that this is a loop that waits.
inline void relax_processor() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The pauses of one wait: short ones first, then the processor is yielded, then a sleep, so that the awaited thread
/// can run on a machine with fewer processors than threads.
class waiter {
public:
    void pause() noexcept;
    /// How often it has paused.
    unsigned pauses() const noexcept { return pauses_; }

private:
    unsigned pauses_ = 0;
};

}  // namespace holdfast::stm
