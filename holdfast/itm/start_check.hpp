// What is wrong with a program as a whole is said where it starts, or where it calls what it must not: the compiler's
// own runtime beside this one, and a function without an instrumented clone.
#pragma once

#include <holdfast/itm/grown.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>

#include <dlfcn.h>
#include <unistd.h>

namespace holdfast::itm {

/// Says which function was called where, and terminates: the block cannot be rolled back by a call that must not throw,
/// and the function would change memory behind the runtime's back.
[[noreturn, gnu::cold]] inline void stop_at_unsafe(const void* function, const void* caller) noexcept {
    const auto name_of = [](const void* address) -> const char* {
        Dl_info about{};
        return dladdr(address, &about) != 0 && about.dli_sname != nullptr ? about.dli_sname : "?";
    };
    char message[640];
    const int length = std::snprintf(
        message, sizeof message,
        "holdfast: function %p (%s), called by pointer in an atomic block at %p (%s), has no instrumented clone: "
        "expected one declared transaction_safe, and its source compiled with -fno-lto: -flto drops the tables of "
        "clones. The program ends, because the block cannot continue and the call has no way to fail.\n",
        function, name_of(function), caller, name_of(caller));
    const std::size_t bytes = length < 0 ? 0 : static_cast<std::size_t>(length);
    const auto written = ::write(STDERR_FILENO, message, bytes < sizeof message ? bytes : sizeof message - 1);
    static_cast<void>(written);
    std::terminate();
}

/// Refuses to start beside libitm: it defines the same functions, and which module would call whose is chance.
/// `mark` is a function that libitm has and this runtime has not.
inline void refuse_libitm(const void* mark) noexcept {
    if (mark == nullptr) return;
    const char message[] =
        "holdfast: libitm is loaded, too: expected this runtime alone. Compile with -fgnu-tm and link without it, "
        "since at the link it adds -litm (CMake: holdfast_target_tm).\n";
    const auto written = ::write(STDERR_FILENO, message, sizeof message - 1);
    static_cast<void>(written);
    ::_exit(1);
}

}  // namespace holdfast::itm

/// The symbol that <holdfast/itm/itm.hpp> refers to, so that a program without this runtime does not link; the check.
#define HOLDFAST_ITM_START_CHECK                                                                    \
    extern "C" {                                                                                    \
    extern const char holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked;                   \
    const char holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked = 0;                      \
    __attribute__((weak)) const char* _ITM_libraryVersion();                                        \
    }                                                                                               \
    __attribute__((constructor)) static void holdfast_itm_refuse_libitm() {                         \
        holdfast::itm::refuse_libitm(reinterpret_cast<const void*>(&_ITM_libraryVersion));         \
    }
