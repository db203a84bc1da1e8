// Functions of the C library that this program defines itself, so that calls come here first: from
// its own code, and from shared libraries as well (libstdc++'s condition variables).
#pragma once

#include <dlfcn.h>

namespace holdfast::crash {

/// What the call would have reached. F: the function's type.
template <class F>
F* next_definition(const char* name) noexcept {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

/// Whoever relies on the definitions calls this: of an archive, the linker takes what is asked for.
void interpose_locks() noexcept;
void interpose_reads() noexcept;

}  // namespace holdfast::crash
