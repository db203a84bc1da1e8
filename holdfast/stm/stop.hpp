// The end of a program that can neither go on nor go back.
#pragma once

#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace holdfast::stm {

/// Writes what and why to stderr, without allocating, and aborts: from code that has no way to fail.
[[noreturn, gnu::cold]] inline void stop(const char* what, const char* why) noexcept {
    const auto say = [](const char* text) {
        const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
        static_cast<void>(written);
    };
    say("holdfast: ");
    say(what);
    say(": ");
    say(why);
    say("\n");
    std::abort();
}

/// The same for a transaction that is begun in a signal handler.
[[noreturn, gnu::cold]] inline void stop_in_signal_handler(const char* transaction) noexcept {
    stop(transaction, "found in a signal handler; what the handler interrupts may be half done. Expected: a flag that "
                      "the program looks at");
}

}  // namespace holdfast::stm
