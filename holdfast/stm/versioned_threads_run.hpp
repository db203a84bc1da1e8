// The life of a thread in `versioned`: its first transaction, those of the only one, its end, a fork.
#pragma once

#include <holdfast/stm/stop.hpp>
#include <holdfast/stm/versioned.hpp>
#include <holdfast/stm/wait.hpp>

namespace holdfast::stm {

/// When the program is loaded: a lock that is taken at a thread's first transaction would stay locked in a child that
/// is forked then. A transaction before that runs serially.
template <class Home>
const bool basic_versioned<Home>::is_known_to_process_ = [] {
    return pthread_key_create(&exit_key_, leave) == 0 &&
           pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}();

/// The thread's first transaction, or its first since no slot was free.
template <class Home>
void basic_versioned<Home>::enter() noexcept {
    own_mark_ = held_bit | std::uint64_t{registry::most_threads} << owner_shift;
    // Without notice of the thread's end its slot would be lost: it runs serially instead.
    if (!is_known_to_process_ || pthread_setspecific(exit_key_, this) != 0) return;
    slot_ = registry_.claim();
    if (slot_ == nullptr) return;
    own_mark_ = held_bit | std::uint64_t{registry_.index_of(*slot_)} << owner_shift;
}

/// The only thread: all is home, and nobody else can have looked.
template <class Home>
void basic_versioned<Home>::commit_alone() noexcept {
    began_alone_ = alone_ = irrevocable_ = false;
    close(0);
    registry_.end_alone();
}

/// At thread exit, after the destructors of thread_local objects, which may still run transactions.
template <class Home>
void basic_versioned<Home>::leave(void* of_thread) noexcept {
    auto& own = *static_cast<basic_versioned*>(of_thread);
    // A thread that was cancelled where nothing unwinds, in code without exceptions.
    if (own.active()) {
        if (own.began_alone())
            stop("a thread that has ended", "its transaction runs alone and cannot be rolled back");
        if (own.irrevocable()) {
            own.commit();
        } else {
            own.replaced_.forget_own_stack();
            own.roll_back();
        }
    }
    if (own.slot_ != nullptr) registry::release(*own.slot_);
    own.slot_ = nullptr;
    own.reads_.release();
    own.held_.release();
    own.writes_.release();
    own.replaced_.release();
    own.blocks_.release();
}

/// No commit of another thread may be half done in the child.
template <class Home>
void basic_versioned<Home>::before_fork() noexcept {
    auto& own = of_this_thread();
    // In a signal handler that interrupts a transaction, or a home that still reads what the last one stored.
    if (own.active() || !own.writes_.empty()) return;
    own.begin({.serial = true});
    own.stopped_others_ = true;
}

/// Handlers of the program that run between ours may have had blocks, as parts of this transaction. In the child the
/// words that outlive the process are the parent's.
template <class Home>
void basic_versioned<Home>::go_on_after_fork(bool in_child) noexcept {
    auto& own = of_this_thread();
    if (!own.stopped_others_) return;
    own.stopped_others_ = false;
    const bool did_something = !own.writes_.empty() || own.keeps_old_values_ || !own.blocks_.empty();
    const bool commits = did_something && !Home::numbers_commits && !(in_child && Home::keeps_words);
    if (!commits || !own.commit()) own.roll_back();
}
template <class Home>
void basic_versioned<Home>::after_fork_in_parent() noexcept {
    go_on_after_fork(false);
}

template <class Home>
void basic_versioned<Home>::after_fork_in_child() noexcept {
    registry_.forget_others(of_this_thread().slot_);
    go_on_after_fork(true);
}

}  // namespace holdfast::stm
