// What is touched outside of blocks, and the line that a program ends with then.
#pragma once

namespace holdfast::dnv {

/// Prints which variable or block, where in it, and from where it was touched, and aborts. `what`: e.g. "a store".
[[noreturn]] void end_for_touch(const void* at, const char* what, const void* code) noexcept;

/// Handles SIGSEGV: a touch of the window ends the program with that line; everything else goes to the handler that was
/// there before. Once a process is enough.
void guard_window() noexcept;

}  // namespace holdfast::dnv
