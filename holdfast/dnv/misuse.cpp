// The guard of the window: the pages have no access, so whoever touches one outside of a block gets a SIGSEGV.
//
// What runs in the handler is safe there: it reads memory of the library, and writes one line by write(2).
#include <holdfast/dnv/misuse.hpp>

#include <holdfast/dnv/space.hpp>
#include <holdfast/dnv/statics.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

namespace holdfast::dnv {
namespace {

struct sigaction handler_before;

/// "block of 64 bytes, at 8" or "variable head_ + 0".
void describe(const void* at, char* text, std::size_t size) noexcept {
    if (const static_variable* const variable = find_static(at)) {
        std::snprintf(text, size, "variable %s + %zu", variable->name.c_str(),
                      reinterpret_cast<std::uintptr_t>(at) - variable->address);
        return;
    }
    if (const auto in = the_space.chunks.find(at)) {
        const std::size_t bytes = block_bytes(in->which.of_class);
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - in->which.begin;
        std::snprintf(text, size, "block of %zu bytes at %p + %zu", bytes,
                      reinterpret_cast<void*>(in->which.begin + offset / bytes * bytes), offset % bytes);
        return;
    }
    std::snprintf(text, size, "no block");
}

const void* code_of(const void* context) noexcept {
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
    static_cast<void>(context);
    return nullptr;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
    // Sent by somebody, who gave no address.
    const bool is_access = info->si_code > 0;
    if (is_access && the_space.of_parent.holds(info->si_addr))
        end_for_touch(info->si_addr, "a touch in a forked child, which does not have the pool,", code_of(context));
    if (is_access && the_placement.holds(info->si_addr))
        end_for_touch(info->si_addr, "a touch outside of blocks", code_of(context));
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) return handler_before.sa_sigaction(signal, info, context);
    if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
        return handler_before.sa_handler(signal);
    // As it would have been: the instruction is executed once more, or the signal sent.
    ::sigaction(SIGSEGV, &handler_before, nullptr);
    if (!is_access) ::raise(signal);
}

}  // namespace

void end_for_touch(const void* at, const char* what, const void* code) noexcept {
    char where[256];
    describe(at, where, sizeof where);
    char from[256] = "";
    Dl_info found;
    if (code != nullptr && ::dladdr(code, &found) != 0 && found.dli_fname != nullptr) {
        std::snprintf(from, sizeof from, " by %s (%s+0x%zx)", found.dli_sname != nullptr ? found.dli_sname : "code",
                      found.dli_fname,
                      reinterpret_cast<std::uintptr_t>(code) - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
    }
    char line[768];
    const int length = std::snprintf(line, sizeof line,
                                     "holdfast: %s, of persistent memory at %p (%s)%s: expected an access in "
                                     "__transaction_atomic, by code that was compiled for it (holdfast_target_dnv). A "
                                     "__transaction_relaxed block that always calls an unsafe function has none\n",
                                     what, at, where, from);
    if (length > 0) {
        const std::size_t size = std::min(static_cast<std::size_t>(length), sizeof line - 1);
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, size);
    }
    // Not abort(): a core dump shows the access, and the shell "Segmentation fault".
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    std::abort();
}

void guard_window() noexcept {
    static const bool is_installed = [] {
        struct sigaction ours{};
        ours.sa_sigaction = &on_fault;
        ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        return ::sigaction(SIGSEGV, &ours, &handler_before) == 0;
    }();
    static_cast<void>(is_installed);
}

}  // namespace holdfast::dnv
