// Transactions of an algorithm by explicit calls, for programs whose compiler knows nothing of them.
#pragma once

#include <holdfast/base/signal_handlers.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/back_off.hpp>
#include <holdfast/stm/blocks.hpp>
#include <holdfast/stm/checkpoint.hpp>
#include <holdfast/stm/stop.hpp>

#include <csetjmp>
#include <cstdlib>
#include <type_traits>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_STM_LONG_JUMPS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_STM_LONG_JUMPS 1
#endif

namespace holdfast::stm {

namespace detail {

/// The outermost atomic block of a thread. In memory, since what is in registers is lost at a restart.
struct atomic_block {
#ifdef HOLDFAST_STM_LONG_JUMPS
    // ThreadSanitizer keeps a stack of its own and knows how setjmp and longjmp change it.
    std::jmp_buf here;
#else
    checkpoint here;
#endif
    back_off pauses;
};

template <class A>
inline constinit thread_local atomic_block* open_block = nullptr;

enum : int { has_begun = 0, met_conflict = 1, was_abandoned = 2 };

[[noreturn]] inline void leave_block(atomic_block& block, int why) noexcept {
#ifdef HOLDFAST_STM_LONG_JUMPS
    std::longjmp(block.here, why);
#else
    resume(block.here, why);
#endif
}

/// What the home does between two attempts. False: there is no other one.
template <class A>
bool may_begin_again() noexcept {
    if constexpr (requires { A::home_policy::between_attempts(); }) {
        // It may run transactions of its own.
        atomic_block* const block = open_block<A>;
        const bool again = A::home_policy::between_attempts();
        open_block<A> = block;
        return again;
    }
    return true;
}

template <class A>
[[noreturn]] void restart_block() noexcept {
    A::of_this_thread().roll_back();
    const bool again = may_begin_again<A>();
    leave_block(*open_block<A>, again ? met_conflict : was_abandoned);
}

/// A handler runs between any two steps of the thread: a transaction in it would be part of the one that it interrupts,
/// or find the algorithm half done. The mark of threads outside handlers is saved with the block's registers.
inline void refuse_in_handler([[maybe_unused]] atomic_block& block, const void* frame, const void* caller) noexcept {
#if defined(__x86_64__) && !defined(HOLDFAST_STM_LONG_JUMPS)
    if ((block.here.x87_control & holdfast::detail::mark_outside_handlers) != 0) [[likely]]
        return;
#endif
    if (holdfast::detail::is_handler_frame(frame, caller)) stop_in_signal_handler("atomically()");
#if defined(__x86_64__) && !defined(HOLDFAST_STM_LONG_JUMPS)
    // A restart brings the mark back, too.
    if (holdfast::detail::is_marked_outside_handlers())
        block.here.x87_control |= holdfast::detail::mark_outside_handlers;
#endif
}

template <class F>
void run_once(F& f, auto& transaction) {
    if constexpr (std::is_nothrow_invocable_v<F&>) {
        f();
    } else {
        try {
            f();
        } catch (...) {
            if (transaction.irrevocable())
                transaction.commit();
            else
                transaction.roll_back();
            throw;
        }
    }
}

template <class A, class F>
[[gnu::noinline]] bool run_outermost(F& f, bool read_only) {
    atomic_block block;
    open_block<A> = &block;
#ifdef HOLDFAST_STM_LONG_JUMPS
    const int arrived = setjmp(block.here);
#else
    const int arrived = holdfast_stm_save(&block.here);
#endif
    if (arrived == has_begun) refuse_in_handler(block, __builtin_frame_address(0), __builtin_return_address(0));
    if (arrived == was_abandoned) return false;
    A& transaction = A::of_this_thread();
    if (arrived == met_conflict) open_block<A>->pauses.conflict();
    for (;;) {
        // All of this frame, which f may be inlined into: on aarch64 its variables are above the frame address.
        transaction.begin({.read_only = read_only,
                           .serial = open_block<A>->pauses.should_be_serial(),
                           .frames_below = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()),
                           .restart = restart_block<A>});
        run_once(f, transaction);
        if (transaction.commit()) return true;
        transaction.roll_back();
        if (!may_begin_again<A>()) return false;
        open_block<A>->pauses.conflict();
    }
}

}  // namespace detail

/// Runs f() as one transaction of algorithm `A`: all or nothing to all other transactions. Inside, shared data is
/// loaded and stored through A::of_this_thread(). Restarts after conflicts, with back-off, serially in the end. Nested
/// calls join the open transaction. An exception that leaves f rolls back and goes on; an irrevocable one commits
/// first.
///
/// f is left at a conflict without any destructor being run, as by longjmp, and begins again: what it changes other
/// than through the transaction must not matter. Variables of f itself may be changed freely.
/// Returns true when it committed; false when it was abandoned. In a signal handler the program ends with a message.
template <algorithm A, class F>
bool atomically(F&& f, bool read_only = false) {
    if (A::of_this_thread().active()) {
        if (holdfast::detail::is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
            stop_in_signal_handler("atomically()");
        f();
        return true;
    }
    return detail::run_outermost<A>(f, read_only);
}

/// Rolls back the open transaction and leaves atomically(), which returns false. Requires: not irrevocable.
template <algorithm A>
[[noreturn]] void abandon() noexcept {
    A::of_this_thread().roll_back();
    detail::leave_block(*detail::open_block<A>, detail::was_abandoned);
}

/// The workloads' access to memory in transactions of `A`; see workload/access.hpp. Copyable; no state.
template <algorithm A>
class stm_access {
public:
    template <class T>
    T load(const T* home) const {
        A& transaction = A::of_this_thread();
        if (!transaction.active()) return *home;
        return load_value<T>(transaction, home);
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& what) const {
        store_value<T>(A::of_this_thread(), home, what);
    }
    template <class T>
    void will_write(T*) const noexcept {}

    void* allocate(std::size_t bytes) const {
        void* const made = std::malloc(bytes);
        if (made == nullptr) abandon<A>();
        A::of_this_thread().note_allocated(made, bytes, alignof(std::max_align_t), give_back_block);
        return made;
    }
    void free(void* address) const {
        A::of_this_thread().free_at_commit(address, bytes_of_malloc(address), alignof(std::max_align_t),
                                           give_back_block);
    }

    template <class F>
    bool atomically(F&& f) const {
        return stm::atomically<A>(f);
    }
    /// A lock that others take for the same data is not needed.
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        return stm::atomically<A>(f);
    }

private:
    static void give_back_block(void* address, std::size_t, std::size_t) { std::free(address); }
};

}  // namespace holdfast::stm
