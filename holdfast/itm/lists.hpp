// The lists of a thread's block: how actions run, and when memory goes back.
#pragma once

#include <holdfast/base/threads.hpp>
#include <holdfast/itm/state.hpp>

#include <cstddef>

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
