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
/// The handler that was there before is in force, or was: one that leads back here must not do so for ever.
volatile std::sig_atomic_t has_left = 0;

/// "block of 64 bytes, at 8" or "variable head_ + 0".
void describe(const void* at, char* text, std::size_t size) noexcept {
    if (const static_variable* const variable = find_static(at)) {
        std::snprintf(text, size, "variable %s + %zu", variable->name.c_str(),
                      reinterpret_cast<std::uintptr_t>(at) - variable->address);
        return;
    }
    if (const auto in = the_space.chunks.find(at); in && in->holds_in_block(at)) {
        const std::uintptr_t block = in->block_of(at);
        std::snprintf(text, size, "block of %zu bytes at %p + %zu", block_bytes(in->which.of_class),
                      reinterpret_cast<void*>(block), reinterpret_cast<std::uintptr_t>(at) - block);
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

/// One line by write(2).
void say_touch(const void* at, const char* what, const void* code) noexcept {
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
}

/// The access is executed once more, or the signal sent, under the handler that was there before.
void leave_to_handler_before(const siginfo_t* info) noexcept {
    has_left = 1;
    ::sigaction(SIGSEGV, &handler_before, nullptr);
    if (info->si_code <= 0) ::raise(SIGSEGV);
}

void on_fault(int, siginfo_t* info, void* context) {
    if (has_left != 0) {
        ::signal(SIGSEGV, SIG_DFL);
        return;
    }
    // Who sends a signal gives no address.
    if (info->si_code > 0) {
        if (the_space.of_parent.holds(info->si_addr))
            say_touch(info->si_addr, "a touch in a forked child, which does not have the pool,", code_of(context));
        else if (the_placement.holds(info->si_addr))
            say_touch(info->si_addr, "a touch outside of blocks", code_of(context));
    }
    leave_to_handler_before(info);
}

}  // namespace

void end_for_touch(const void* at, const char* what) noexcept {
    say_touch(at, what, nullptr);
    // Not abort(): the shell says "Segmentation fault", as for every other touch.
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    std::abort();
}

void guard_window() noexcept {
    has_left = 0;
    struct sigaction now{};
    if (::sigaction(SIGSEGV, nullptr, &now) != 0 || ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault))
        return;
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigaction(SIGSEGV, &ours, &handler_before);
}

}  // namespace holdfast::dnv
