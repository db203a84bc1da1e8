// Who decides about words that nothing corrects, and how a program ends that may not go on.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/damage.hpp>

namespace holdfast::dnv {

/// Asks the thread's handler, or the process's; without one: end. What a handler throws is: end. The thread is not
/// cancelled meanwhile.
verdict ask_about(const damage& found) noexcept;
error error_of(const damage& found);
/// Enters the word in the pool's list of damages, or takes it from there. What fails there is as if it was not tried.
void note(const damage& found) noexcept;
void forget(const damage& found) noexcept;
/// Prints it and aborts. Nothing of the open transaction is in the pool.
[[noreturn]] void end_for(const error& reason) noexcept;

}  // namespace holdfast::dnv
