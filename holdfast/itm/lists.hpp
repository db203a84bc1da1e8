// What a block leaves to do at its end, and the lists of its thread: how actions run, and when memory goes back.
#pragma once

#include <holdfast/base/threads.hpp>
#include <holdfast/itm/state.hpp>

#include <cstddef>

#include <pthread.h>

namespace holdfast::itm {

inline void release_lists(thread_state& thread) noexcept {
    thread.undo.release();
    thread.nested.release();
    thread.commit_actions.release();
    thread.undo_actions.release();
    thread.exceptions.release();
    thread.allocated.release();
    thread.freed.release();
}

/// Releases a thread's lists when it ends.
struct lists_of_thread {
    ~lists_of_thread() { release_lists(state()); }
    bool constructed = true;
};
inline thread_local lists_of_thread lists_of_this_thread;

/// For a block that is still the outermost and has nothing else to do at its end.
inline void hold_cancellation_cheaply(thread_state& thread) noexcept {
    thread.holds_cancellation = pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &thread.cancel_state) == 0;
}

/// What an irrevocable block has done stays: its thread is not cancelled before its end.
[[gnu::cold, gnu::noinline]] inline void hold_cancellation(thread_state& thread) noexcept {
    if (thread.holds_cancellation) return;
    thread.used_lists = true;
    hold_cancellation_cheaply(thread);
}
inline void release_cancellation(thread_state& thread) noexcept {
    if (!thread.holds_cancellation) return;
    thread.holds_cancellation = false;
    pthread_setcancelstate(thread.cancel_state, nullptr);
}

/// Runs actions that may use transactions themselves; `list` is empty afterwards.
inline void run_actions(grown<user_action>& list, std::size_t mark, bool newest_first) {
    if (list.size() == mark) return;
    // What is committed or taken back has all its actions, also in a thread that is cancelled.
    const cancellation_held uncancelled;
    grown<user_action> actions;
    for (std::size_t each = mark; each < list.size(); ++each) actions.push(list[each]);
    list.keep(mark);
    const std::size_t count = actions.size();
    for (std::size_t each = 0; each < count; ++each) {
        const user_action& next = actions[newest_first ? count - 1 - each : each];
        next.run(next.argument);
    }
    actions.release();
}

}  // namespace holdfast::itm
