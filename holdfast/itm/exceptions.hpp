// Exceptions made inside a transaction: what a restart or a cancel drops has to be freed and uncounted (the layout of
// the thread's exception state is that of the Itanium C++ ABI, section 2.2.2).
#pragma once

#include <holdfast/itm/planted.hpp>
#include <holdfast/itm/state.hpp>

#include <cstddef>

#include <cxxabi.h>
#include <unwind.h>

namespace holdfast::itm {

/// Whether the stack is unwound for the end of its thread (pthread_cancel, pthread_exit): then the unwinder keeps there
/// what it asks at each frame.
inline bool is_forced_unwind(const void* exception) noexcept {
    return static_cast<const _Unwind_Exception*>(exception)->private_1 != 0;
}

/// Begins to know an exception object. `destroy` may be nullptr.
inline void note_exception(thread_state& thread, void* object, void (*destroy)(void*)) noexcept {
    thread.used_lists = true;
    thread.exceptions.push({object, destroy, false});
}

inline void note_thrown(thread_state& thread, const void* object) noexcept {
    for (exception_object& each : thread.exceptions)
        if (each.object == object) each.thrown = true;
}

/// Forgets an object that its maker frees.
inline void forget_exception(thread_state& thread, const void* object) noexcept {
    for (exception_object& each : thread.exceptions)
        if (each.object == object) {
            each = thread.exceptions.back();
            thread.exceptions.pop();
            return;
        }
}

/// Frees those above `mark` as if they had not been made: no handler will see them.
inline void drop_exceptions(thread_state& thread, std::size_t mark) noexcept {
    struct thread_exceptions {
        void* caught;
        unsigned uncaught;
    };
    while (thread.exceptions.size() > mark) {
        const exception_object dropped = thread.exceptions.back();
        thread.exceptions.pop();
        if (dropped.thrown && !is_planted(fault::uncaught_not_counted_back))
            --reinterpret_cast<thread_exceptions*>(abi::__cxa_get_globals())->uncaught;
        if (dropped.destroy != nullptr) dropped.destroy(dropped.object);
        abi::__cxa_free_exception(dropped.object);
    }
}

}  // namespace holdfast::itm
