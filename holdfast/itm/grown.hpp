// The runtime's own lists. They do not throw: a barrier cannot.
#pragma once

#include <holdfast/stm/grown_array.hpp>

#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace holdfast::itm {

/// Ends the program with a message: what a runtime under nothrow barriers has left where it can neither go on nor go
/// back. Writes to stderr without allocating.
[[noreturn]] inline void stop(const char* what, const char* why) noexcept {
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

struct stop_without_memory {
    [[noreturn]] static void no_memory() noexcept {
        stop("out of memory", "a transaction's list of what to undo cannot grow, and a barrier cannot throw");
    }
};

/// Elements are bytes to it. One thread's.
template <class T>
using grown = stm::grown_array<T, stop_without_memory>;

}  // namespace holdfast::itm
