// Laws of blocks that end otherwise than by their own code: in signal handlers, and in threads that are cancelled or
// exit. Compiled at each level of optimization; HOLDFAST_ITM_LEVEL is the level.
#include <holdfast/itm/itm.hpp>
#include <holdfast/itm/laws_test.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::itm {
namespace {

long first, second;
std::atomic<bool> is_inside, may_go_on;
std::string told;

void block_in_handler(int) {
    __transaction_atomic {
        first += 1;
        second += 1;
    }
}

/// How a child ended that runs `body` with SIGUSR1 handled by `handler`; its stderr is `said`.
template <class Body>
int status_of_child(void (*handler)(int), std::string& said, Body body) {
    int out[2];
    if (::pipe(out) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(out[1], STDERR_FILENO);
        std::signal(SIGUSR1, handler);
        body();
        ::_exit(0);
    }
    ::close(out[1]);
    char text[256];
    said.clear();
    for (ssize_t count; (count = ::read(out[0], text, sizeof text)) > 0;)
        said.append(text, static_cast<std::size_t>(count));
    ::close(out[0]);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

bool was_refused(int status, const std::string& said) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && said.find("signal handler") != std::string::npos;
}

[[gnu::transaction_pure, gnu::noinline]] void raise_here() { std::raise(SIGUSR1); }

const char* handler_in_block_is_refused() {
    std::string said;
    const int status = status_of_child(block_in_handler, said, [] {
        __transaction_atomic {
            first += 1;
            raise_here();
            second += 1;
        }
    });
    HOLDFAST_ITM_HOLDS(was_refused(status, said));
    return nullptr;
}

const char* handler_outside_is_refused() {
    std::string said;
    const int status = status_of_child(block_in_handler, said, [] {
        for (int each = 0; each < 3; ++each) __transaction_atomic { first += 1; }
        std::raise(SIGUSR1);
    });
    HOLDFAST_ITM_HOLDS(was_refused(status, said));
    return nullptr;
}

/// What a block deletes is given back while its transaction ends.
struct raises_when_given_back {
    [[gnu::transaction_pure]] static void* operator new(std::size_t bytes) { return std::malloc(bytes); }
    [[gnu::transaction_pure, gnu::noinline]] static void operator delete(void* block) {
        _ITM_addUserCommitAction(
            [](void* given_back) {
                std::raise(SIGUSR1);
                std::free(given_back);
            },
            1, block);
    }
    long value = 0;
};

const char* handler_behind_commit_is_refused() {
    std::string said;
    const int status = status_of_child(block_in_handler, said, [] {
        __transaction_atomic {
            auto* const made = new raises_when_given_back;
            first += made->value;
            delete made;
        }
    });
    HOLDFAST_ITM_HOLDS(was_refused(status, said));
    return nullptr;
}

const char* handler_without_block_disturbs_nothing() {
    static volatile std::sig_atomic_t handled;
    handled = 0;
    first = second = 0;
    const auto before = std::signal(SIGUSR1, [](int) { handled = handled + 1; });
    for (int each = 0; each < 5; ++each) __transaction_atomic {
            first += 1;
            raise_here();
            second += 1;
        }
    std::signal(SIGUSR1, before);
    HOLDFAST_ITM_HOLDS(first == 5 && second == 5 && handled >= 5);
    return nullptr;
}

/// What a thread returns that runs `body` and is cancelled once it has come to `wait_here`.
void* cancelled(void* (*body)(void*)) {
    is_inside = may_go_on = false;
    first = second = 0;
    told.clear();
    pthread_t thread;
    if (pthread_create(&thread, nullptr, body, nullptr) != 0) return nullptr;
    while (!is_inside) ::usleep(100);
    pthread_cancel(thread);
    may_go_on = true;
    void* result = nullptr;
    pthread_join(thread, &result);
    return result;
}
/// A cancellation point.
[[gnu::transaction_pure, gnu::noinline]] void wait_here() {
    is_inside = true;
    while (!may_go_on) ::usleep(100);
    for (int each = 0; each < 3; ++each) ::usleep(1);
}
[[gnu::transaction_pure, gnu::noinline]] void tell_if_undone() {
    _ITM_addUserUndoAction([](void*) { told += "undone"; }, nullptr);
}
[[gnu::transaction_pure, gnu::noinline]] void tell_at_commit() {
    _ITM_addUserCommitAction([](void*) { told += "committed"; }, 1, nullptr);
}

const char* cancelled_thread_rolls_back() {
    void* const result = cancelled([](void*) -> void* {
        __transaction_atomic {
            tell_if_undone();
            tell_at_commit();
            first += 1;
            wait_here();
            second += 1;
        }
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 0 && second == 0);
    HOLDFAST_ITM_HOLDS(told == "undone");
    __transaction_atomic { first += 1; }
    HOLDFAST_ITM_HOLDS(first == 1);
    return nullptr;
}

[[gnu::transaction_safe, gnu::noipa]] void put(long* home, long value) { *home = value; }

const char* cancelled_thread_rolls_back_all_blocks() {
    void* const result = cancelled([](void*) -> void* {
        __transaction_atomic {
            put(&first, 1);
            __transaction_atomic {
                put(&second, 1);
                wait_here();
                if (first == 7) __transaction_cancel;
            }
        }
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 0 && second == 0);
    return nullptr;
}

// To the compiler this call cannot throw, as with code in C: the block has no place to be unwound through.
#define HOLDFAST_ITM_NAME(level) "holdfast_itm_wait_here_" #level
#define HOLDFAST_ITM_NAME_AT(level) HOLDFAST_ITM_NAME(level)
extern "C" void wait_in_c() asm(HOLDFAST_ITM_NAME_AT(HOLDFAST_ITM_LEVEL));
extern "C" void wait_in_c() { wait_here(); }
extern "C" { [[gnu::transaction_pure]] void wait_quietly() noexcept asm(HOLDFAST_ITM_NAME_AT(HOLDFAST_ITM_LEVEL)); }

const char* cancelled_thread_without_unwinding_rolls_back() {
    void* const result = cancelled([](void*) -> void* {
        __transaction_atomic {
            put(&first, 1);
            wait_quietly();
            put(&second, 1);
        }
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 0 && second == 0);
    __transaction_atomic { put(&first, 1); }
    HOLDFAST_ITM_HOLDS(first == 1);
    return nullptr;
}

// So many that they are stored in place.
constexpr long words_of_caller = 1024;
[[gnu::noinline, gnu::transaction_safe]] void fill(long* words) {
    for (long each = 0; each < words_of_caller; ++each) words[each] = each;
}
[[gnu::noinline]] void fill_and_wait(long* words) {
    __transaction_atomic {
        put(&first, 1);
        fill(words);
        wait_quietly();
    }
}

const char* ended_thread_leaves_frames_that_are_gone_alone() {
    void* const result = cancelled([](void*) -> void* {
        long words[words_of_caller];
        for (long& each : words) each = 0x4141414141414141;
        fill_and_wait(words);
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 0);
    __transaction_atomic { put(&first, 1); }
    HOLDFAST_ITM_HOLDS(first == 1);
    return nullptr;
}

[[gnu::transaction_pure, gnu::noinline]] void wait_at_commit() {
    _ITM_addUserCommitAction([](void*) {
        wait_here();
        told += "committed";
    }, 1, nullptr);
}

const char* actions_are_not_cancelled() {
    void* const result = cancelled([](void*) -> void* {
        __transaction_atomic {
            first += 1;
            wait_at_commit();
            tell_at_commit();
        }
        for (;;) ::usleep(1);
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 1 && told == "committedcommitted");
    return nullptr;
}

const char* exiting_thread_rolls_back() {
    first = second = 0;
    pthread_t thread;
    struct leaving {
        [[noreturn, gnu::transaction_pure, gnu::noinline]] static void now() { pthread_exit(&first); }
    };
    pthread_create(&thread, nullptr, [](void*) -> void* {
        __transaction_atomic {
            first += 1;
            if (first == 1) leaving::now();
            second += 1;
        }
        return nullptr;
    }, nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    HOLDFAST_ITM_HOLDS(result == &first && first == 0 && second == 0);
    return nullptr;
}

[[gnu::noipa]] void without_clone() { wait_here(); }

const char* irrevocable_block_ends_first() {
    void* const result = cancelled([](void*) -> void* {
        __transaction_relaxed {
            first += 1;
            without_clone();
            second += 1;
        }
        for (;;) ::usleep(1);
        return nullptr;
    });
    HOLDFAST_ITM_HOLDS(result == PTHREAD_CANCELED);
    HOLDFAST_ITM_HOLDS(first == 1 && second == 1);
    return nullptr;
}

}  // namespace

template <>
std::vector<law> laws_of_ends<HOLDFAST_ITM_LEVEL>() {
    return {
        {"a block in a handler that interrupts a block is refused", handler_in_block_is_refused, true},
        {"a block in a handler that interrupts other code is refused", handler_outside_is_refused, true},
        {"a block in a handler that interrupts an end is refused", handler_behind_commit_is_refused, true},
        {"a handler without a block disturbs nothing", handler_without_block_disturbs_nothing},
        {"a cancelled thread's block is rolled back", cancelled_thread_rolls_back, true},
        {"a cancelled thread's blocks are all rolled back", cancelled_thread_rolls_back_all_blocks, true},
        {"a block that cannot be unwound is rolled back at its thread's end",
         cancelled_thread_without_unwinding_rolls_back, true, true},
        {"the end of a thread stores nothing to frames that are gone", ended_thread_leaves_frames_that_are_gone_alone,
         true, true},
        {"actions run to their end in a cancelled thread", actions_are_not_cancelled, true},
        {"the block of a thread that exits is rolled back", exiting_thread_rolls_back, true},
        {"an irrevocable block ends before its thread is cancelled", irrevocable_block_ends_first, true},
    };
}

}  // namespace holdfast::itm
