// Stops the threads of this process by a signal, wherever they are, and lets them run on.
//
// Protocol
//   1. A round begins: its number is stored.
//   2. Each thread that /proc/self/task lists is entered into a table and gets the signal. In its handler it finds its
//      entry, counts itself as parked, and waits on a futex until the round is over. Nobody spins: a thread that spins
//      with a real-time priority starves those for which it waits.
//   3. The caller waits until all that got the signal are parked or gone. Then it looks for more: one that was not
//      parked yet may have started another. Two looks in a row that find nobody new end this.
//   4. The round ends: its number is stored as the one that is over. A thread that gets the signal only now returns at
//      once.
// A parked thread may hold any lock, also the allocator's. So nothing here allocates or locks once a round has begun.
#pragma once

#include <chrono>

namespace holdfast::powerfail::parking {

/// Takes the signal for the rest of the process. Repeating it is harmless, and a forked child must. Requires: no round.
void prepare() noexcept;
/// Stops every other thread. False: after `patience` a thread still ran (it blocks the signal, or is in a call of the
/// kernel that nothing interrupts), or there are more than 4096; all run on. Requires: `prepare`; no other round.
bool stop(std::chrono::nanoseconds patience) noexcept;
/// How many threads the last `stop` has stopped.
unsigned count() noexcept;
/// Lets them run on. Requires: `stop` has returned true.
void release() noexcept;

}  // namespace holdfast::powerfail::parking
