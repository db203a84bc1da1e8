// What is touched outside of blocks, and the line that a program ends with then.
#pragma once

namespace holdfast::dnv {

/// Prints which variable or block was touched, and ends the program as a touch does. `what`: e.g. "a store".
[[noreturn]] void end_for_touch(const void* at, const char* what) noexcept;

/// Handles SIGSEGV: a touch of the window is told in one line (what was touched, where in it, by which code). Then, as
/// for every other fault, the handler that was there before has it; without one the program ends.
void guard_window() noexcept;

}  // namespace holdfast::dnv
