// Begin, end, cancel, restart and irrevocability of the compiler's transactions over an algorithm of stm/.
//
//   1. `_ITM_beginTransaction` (begin_assembly.hpp) saves the registers a callee must keep: of the outermost block in
//      the thread's state, of an inner one on the stack. Then it calls begin or begin_inner here.
//   2. Instrumented code calls the barriers (barriers.hpp). A conflict inside one calls `restart`: the algorithm rolls
//      back, locals and exceptions are as they were, and begin returns once more.
//   3. The end of an inner block counts down. One that may be cancelled (the compiler says so) has a mark in every
//      list: a cancel takes back what came after the mark, stores through the algorithm, and begin returns once more.
//   4. The end of the outermost commits; what is left to do afterwards (user actions) runs then.
#pragma once

#include <holdfast/base/signal_handlers.hpp>
#include <holdfast/itm/alone_blocks.hpp>
#include <holdfast/itm/exceptions.hpp>
#include <holdfast/itm/hardware_blocks.hpp>
#include <holdfast/itm/lists.hpp>
#include <holdfast/itm/planted.hpp>
#include <holdfast/itm/state.hpp>
#include <holdfast/itm/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <pthread.h>

namespace holdfast::itm {

/// The compiler's transactions over `Algorithm` (stm::algorithm). All of it belongs to the calling thread. Nothing
/// throws; what can conflict does not return then, but restarts the outermost block.
template <class Algorithm>
class runtime {
public:
    /// Begins the outermost block, whose checkpoint is in `thread`. Returns the action.
    static std::uint32_t begin(std::uint32_t properties, thread_state& thread) noexcept {
        refuse_in_handler(thread.outermost);
        Algorithm& algorithm = Algorithm::of_this_thread();
        if (algorithm.active()) [[unlikely]]
            return join(properties, thread);
        thread.depth = 1;
        thread.id = ++thread.last_id + no_transaction;
        thread.frames_below = stack_pointer_of(thread.outermost);
        if (needs_no_rollback(properties)) [[unlikely]] {
            begin_irrevocably(algorithm, thread);
        } else {
            stm::start start;
            start.read_only = (properties & property::read_only) != 0;
            start.frames_below = thread.frames_below;
            start.restart = &restart;
            if (alone::begin(algorithm, properties, start)) {
                // Without another thread nobody cancels this one, unless it does so itself: roll_back_unwound().
                if (!is_process_single_threaded()) hold_cancellation_cheaply(thread);
                return action::run_uninstrumented;
            }
            if constexpr (hardware::exist) thread.properties = properties;
            return hardware::open_attempt(algorithm, thread.properties, start) | action::save_live_variables;
        }
        return action::run_instrumented | action::save_live_variables;
    }

    /// Begins a block inside another one, with its checkpoint on the stack.
    static std::uint32_t begin_inner(std::uint32_t properties, thread_state& thread, stm::checkpoint& where) noexcept {
        refuse_in_handler(where);
        if (!Algorithm::of_this_thread().active()) [[unlikely]] {
            // A transaction that this one had joined was restarted from outside: what is here is left over from it.
            forget_everything(thread);
            thread.outermost = where;
            return begin(properties, thread);
        }
        if (stack_pointer_of(where) > thread.frames_below) [[unlikely]]
            stop("an atomic block",
                 "the block that is open began in a frame that was left by a jump, or on another stack");
        ++thread.depth;
        if constexpr (hardware::exist) {
            if (Algorithm::of_this_thread().in_hardware())
                return hardware::begin_inner(properties, needs_no_rollback(properties));
        }
        if (alone::runs_inside(Algorithm::of_this_thread(), properties, thread.notes_stores))
            return action::run_uninstrumented;
        if ((properties & property::no_abort) == 0) open_nested(thread, where);
        if (needs_no_rollback(properties)) become_irrevocable();
        return action::run_instrumented | action::save_live_variables;
    }

    /// Ends the innermost block.
    static void commit() noexcept {
        thread_state& thread = state();
        if (thread.depth != 1 && !is_planted(fault::flat_commit_ends_all)) {
            end_inner(thread);
            return;
        }
        if (thread.used_lists) [[unlikely]]
            return commit_with_lists(thread);
        if (!Algorithm::of_this_thread().commit()) [[unlikely]]
            restart();
        thread.depth = 0;
        release_cancellation(thread);
    }

    /// Ends the innermost block, which `exception` leaves: the language says that it commits. The unwinding of a thread
    /// that is cancelled or exits is no exception of the language: it rolls back.
    static void commit_after_exception(const void* exception) noexcept {
        if (is_forced_unwind(exception) && !is_planted(fault::forced_unwind_commits)) {
            roll_back_unwound();
            return;
        }
        if (is_planted(fault::exception_rolls_back)) {
            Algorithm::of_this_thread().roll_back();
            forget_everything(state());
            return;
        }
        commit();
    }

    /// `__transaction_cancel`.
    [[noreturn]] static void abort(std::uint32_t why) noexcept {
        thread_state& thread = state();
        hardware::leave();
        if ((why & reason::user_retry) != 0) {
            if (Algorithm::of_this_thread().irrevocable())
                stop("a restart of a transaction", "the outermost block is irrevocable, or runs alone");
            restart();
        }
        const bool outer = (why & reason::outer_cancel) != 0 && !is_planted(fault::reason_outer_ignored);
        if (outer && thread.joined) thread.nested.keep(1);
        if (!thread.nested.empty() && (!outer || thread.joined)) cancel_nested(thread);
        Algorithm& algorithm = Algorithm::of_this_thread();
        if (thread.joined || algorithm.irrevocable())
            stop("cancel of a transaction", "the outermost block is irrevocable, or not the compiler's");
        take_all_back(algorithm, thread);
        thread.depth = 0;
        finish(thread);
        leave(thread.outermost);
    }

    /// What a barrier calls at a conflict: the outermost block begins again.
    [[noreturn]] static void restart() noexcept {
        thread_state& thread = state();
        Algorithm& algorithm = Algorithm::of_this_thread();
        if constexpr (hardware::exist) {
            // What hardware takes back was never there, actions included. Only a stand-in comes here.
            if (algorithm.in_hardware()) thread.undo_actions.keep(0);
        }
        take_all_back(algorithm, thread);
        if constexpr (requires { Algorithm::home_policy::between_attempts(); }) {
            if (!may_begin_again(thread)) {
                finish(thread);
                leave(thread.outermost);
            }
        }
        thread.used_lists = true;
        thread.patience.conflict();
        stm::start start;
        start.serial = thread.wants_serial || thread.patience.should_be_serial();
        start.frames_below = thread.frames_below;
        start.restart = &restart;
        thread.depth = 1;
        const std::uint32_t code = hardware::open_attempt(algorithm, thread.properties, start);
        stm::resume(thread.outermost, static_cast<int>(code | action::restore_live_variables));
    }

    /// What the algorithm's home does between two attempts, which may run blocks of its own. False: there is no other.
    static bool may_begin_again(thread_state& thread) noexcept {
        const stm::checkpoint outermost = thread.outermost;
        const auto patience = thread.patience;
        const bool wants_serial = thread.wants_serial;
        const std::uintptr_t frames_below = thread.frames_below;
        const bool again = Algorithm::home_policy::between_attempts();
        thread.outermost = outermost;
        thread.patience = patience;
        thread.wants_serial = wants_serial;
        thread.frames_below = frames_below;
        return again;
    }

    /// Goes on alone, with stores that are home at once; begins again that way if others are in between.
    static void become_irrevocable() noexcept {
        Algorithm& algorithm = Algorithm::of_this_thread();
        if (algorithm.irrevocable()) return;
        hardware::leave();
        if (algorithm.become_irrevocable()) {
            hold_cancellation(state());
            return;
        }
        if (state().joined)
            stop("a block in a transaction that it did not begin", "it has to become irrevocable, and cannot here");
        state().wants_serial = true;
        restart();
    }

    /// Outside of transactions it runs at once: the compiler leaves out a block around nothing but pure calls.
    static void add_commit_action(user_action action) {
        thread_state& thread = state();
        if (thread.depth == 0) {
            action.run(action.argument);
            return;
        }
        thread.used_lists = true;
        thread.commit_actions.push(action);
    }
    static void add_undo_action(user_action action) noexcept {
        thread_state& thread = state();
        if (thread.depth == 0) return;
        thread.used_lists = true;
        thread.undo_actions.push(action);
    }

    /// Leaves the blocks that joined a transaction which has come to nothing, however deep: the thread's own variables
    /// and exceptions are as they were. `undo_actions` gets theirs, for the owner to run when he has taken all back.
    static void leave_joined(grown<user_action>& undo_actions) noexcept {
        thread_state& thread = state();
        take_back_to<Algorithm>(thread, 0, nullptr, thread.frames_below);
        drop_exceptions(thread, 0);
        for (const user_action& each : thread.undo_actions) undo_actions.push(each);
        forget_everything(thread);
        release_cancellation(thread);
    }

    /// Lets the algorithm do what it has to do before the program has blocks.
    static bool program_starts() noexcept {
        if constexpr (requires { Algorithm::program_starts(); }) Algorithm::program_starts();
        if constexpr (alone::exist) holdfast_itm_runs_alone = may_run_alone();
        return true;
    }

private:
    using hardware = hardware_blocks<Algorithm>;
    using alone = alone_blocks<Algorithm>;

    static std::uintptr_t stack_pointer_of(const stm::checkpoint& where) noexcept {
#if defined(__x86_64__)
        return where.rsp;
#else
        return where.sp;
#endif
    }

    /// A handler runs between any two steps of the thread, a block's or this runtime's own: a block in it would be part
    /// of the one that it interrupts, or find the runtime half done. The mark of threads outside handlers is in the
    /// checkpoint, with the other registers.
    static void refuse_in_handler(stm::checkpoint& where) noexcept {
#if defined(__x86_64__)
        if ((where.x87_control & holdfast::detail::mark_outside_handlers) != 0) [[likely]]
            return;
#endif
        look_for_handler(where);
    }
    [[gnu::cold, gnu::noinline]] static void look_for_handler(stm::checkpoint& where) noexcept {
        if (is_planted(fault::handlers_let_in)) return;
        const auto* const frame = reinterpret_cast<const void*>(stack_pointer_of(where));
        if (holdfast::detail::is_handler_frame(frame, reinterpret_cast<const void*>(return_address_of(where))))
            stm::stop_in_signal_handler("an atomic block");
#if defined(__x86_64__)
        // A restart brings the mark back, too.
        if (holdfast::detail::is_marked_outside_handlers())
            where.x87_control |= holdfast::detail::mark_outside_handlers;
#endif
    }
    static std::uintptr_t return_address_of(const stm::checkpoint& where) noexcept {
#if defined(__x86_64__)
        return where.rip;
#else
        return where.x19_to_x30[11];
#endif
    }

    /// Ends the innermost block of a thread whose stack is being unwound: with the outermost all is taken back. An
    /// irrevocable one commits, since it can do nothing else; only pthread_exit comes there.
    [[gnu::cold, gnu::noinline]] static void roll_back_unwound() noexcept {
        thread_state& thread = state();
        if (thread.depth == 0) return;
        if (thread.depth != 1) {
            if (thread.joined && thread.depth == 2) {
                // The outermost is its owner's, who takes it back when the unwinding comes there.
                thread.commit_actions.keep(0);
                run_actions(thread.undo_actions, 0, true);
            }
            end_inner(thread);
            return;
        }
        Algorithm& algorithm = Algorithm::of_this_thread();
        if (alone::runs(algorithm))
            stop("a thread that is cancelled or exits",
                 "its atomic block runs alone and cannot be rolled back. HOLDFAST_BLOCKS_ALONE=off allows it");
        if (algorithm.irrevocable()) {
            commit();
            return;
        }
        take_all_back(algorithm, thread);
        finish(thread);
    }

    /// Such a block has code without barriers alone.
    static bool needs_no_rollback(std::uint32_t properties) noexcept {
        return (properties & (property::instrumented | property::goes_irrevocable)) == property::goes_irrevocable;
    }

    [[gnu::cold, gnu::noinline]] static void begin_irrevocably(Algorithm& algorithm, thread_state& thread) noexcept {
        for (;;) {
            stm::start start;
            start.serial = true;
            start.frames_below = thread.frames_below;
            start.restart = &restart;
            algorithm.begin(start);
            if (algorithm.become_irrevocable()) {
                hold_cancellation(thread);
                return;
            }
            algorithm.roll_back();
            thread.used_lists = true;
            thread.patience.conflict();
        }
    }

    /// Runs inside a transaction that explicit calls opened: flat, but that it can be cancelled alone.
    [[gnu::cold, gnu::noinline]] static std::uint32_t join(std::uint32_t properties, thread_state& thread) noexcept {
        forget_everything(thread);
        thread.joined = true;
        thread.depth = 2;  // the first is the caller's
        thread.id = ++thread.last_id + no_transaction;
        thread.frames_below = stack_pointer_of(thread.outermost);
        if ((properties & property::no_abort) == 0) open_nested(thread, thread.outermost);
        if (needs_no_rollback(properties)) become_irrevocable();
        return action::run_instrumented | action::save_live_variables;
    }

    [[gnu::noinline]] static void open_nested(thread_state& thread, const stm::checkpoint& where) noexcept {
        thread.nested.push({where, stack_pointer_of(where), thread.depth, thread.undo.size(),
                            thread.commit_actions.size(), thread.undo_actions.size(), thread.exceptions.size(),
                            thread.allocated.size(), thread.freed.size()});
        thread.notes_stores = true;
        thread.used_lists = true;
    }

    [[gnu::noinline]] static void end_inner(thread_state& thread) noexcept {
        if (!thread.nested.empty() && thread.nested.back().depth == thread.depth) {
            const std::size_t mark = thread.nested.back().undo;
            thread.nested.pop();
            if (thread.nested.empty()) {
                thread.notes_stores = false;
                thread.allocated.keep(0);
                hand_over_frees(thread);
                forget_shared(thread, mark);
            }
        }
        --thread.depth;
        if (thread.joined && thread.depth == 1) {
            thread.depth = 0;
            thread.joined = false;
            release_cancellation(thread);
            end_actions_of_joined(thread);
            forget_everything(thread);
        }
    }

    /// A block that joined ends: the actions are those of the transaction's owner, if he takes them.
    static void end_actions_of_joined(thread_state& thread) noexcept {
        if constexpr (requires { Algorithm::take_actions(thread.commit_actions, thread.undo_actions); }) {
            if (Algorithm::take_actions(thread.commit_actions, thread.undo_actions)) return;
        }
        run_actions(thread.commit_actions, 0, false);
    }

    static void hand_over_frees(thread_state& thread) noexcept {
        for (const memory_block& block : thread.freed)
            Algorithm::of_this_thread().free_at_commit(block.address, block.bytes, block.alignment, block.give_back);
        thread.freed.keep(0);
    }

    [[noreturn, gnu::noinline]] static void cancel_nested(thread_state& thread) noexcept {
        Algorithm& algorithm = Algorithm::of_this_thread();
        nested_block cancelled = thread.nested.back();
        if (is_planted(fault::nested_undoes_all)) cancelled.undo = 0;
        take_back_to(thread, cancelled.undo, &algorithm, cancelled.frames_below);
        drop_exceptions(thread, cancelled.exceptions);
        if (!is_planted(fault::nested_blocks_lost))
            for (std::size_t each = cancelled.allocated; each < thread.allocated.size(); ++each) {
                const memory_block& block = thread.allocated[each];
                algorithm.free_at_commit(block.address, block.bytes, block.alignment, block.give_back);
            }
        thread.allocated.keep(cancelled.allocated);
        if (!is_planted(fault::nested_frees_kept)) thread.freed.keep(cancelled.freed);
        if (!is_planted(fault::cancelled_actions_kept)) thread.commit_actions.keep(cancelled.commit_actions);
        thread.nested.pop();
        if (thread.nested.empty()) {
            thread.notes_stores = false;
            thread.allocated.keep(0);
            hand_over_frees(thread);
        }
        thread.depth = cancelled.depth - 1;
        run_actions(thread.undo_actions, cancelled.undo_actions, true);
        if (thread.joined && thread.depth == 1) {
            release_cancellation(thread);
            end_actions_of_joined(thread);
            forget_everything(thread);
        }
        leave(cancelled.where);
    }

    [[noreturn]] static void leave(stm::checkpoint& where) noexcept {
        const std::uint32_t next =
            is_planted(fault::cancel_returns_run) ? action::run_instrumented : action::leave_block;
        stm::resume(where, static_cast<int>(next | action::restore_live_variables));
    }

    /// What a block leaves to do behind its end. The algorithm gives memory back before, to an allocator that may have
    /// blocks of its own.
    struct rest_of_block {
        grown<user_action> commit_actions;
        bool holds_cancellation;
        int cancel_state;
    };
    static rest_of_block put_rest_aside(thread_state& thread) noexcept {
        return {std::exchange(thread.commit_actions, {}), std::exchange(thread.holds_cancellation, false),
                thread.cancel_state};
    }

    [[gnu::noinline]] static void commit_with_lists(thread_state& thread) noexcept {
        const rest_of_block rest = put_rest_aside(thread);
        if (!Algorithm::of_this_thread().commit()) [[unlikely]] {
            thread.commit_actions = rest.commit_actions;
            thread.holds_cancellation = rest.holds_cancellation;
            restart();
        }
        finish(thread, rest);
    }

    /// The same for what a roll-back needs. Blocks that the allocator has are outermost ones.
    static void roll_back(Algorithm& algorithm, thread_state& thread) noexcept {
        thread_state open = std::exchange(thread, thread_state{});
        thread.last_id = open.last_id;
        algorithm.roll_back();
        if (thread.last_id != open.last_id) release_lists(thread);
        open.last_id = thread.last_id;
        thread = open;
    }

    /// Nothing of the outermost block has happened; the algorithm is inactive.
    [[gnu::noinline]] static void take_all_back(Algorithm& algorithm, thread_state& thread) noexcept {
        roll_back(algorithm, thread);
        take_back_to<Algorithm>(thread, 0, nullptr, thread.frames_below);
        drop_exceptions(thread, 0);
        grown<user_action> actions = std::exchange(thread.undo_actions, {});
        const stm::checkpoint outermost = thread.outermost;
        const auto patience = thread.patience;
        const bool wants_serial = thread.wants_serial;
        const std::uintptr_t frames_below = thread.frames_below;
        forget_everything(thread);
        run_actions(actions, 0, true);
        actions.release();
        thread.outermost = outermost;
        thread.patience = patience;
        thread.wants_serial = wants_serial;
        thread.frames_below = frames_below;
    }

    /// After the end of the outermost block.
    static void finish(thread_state& thread) noexcept { finish(thread, put_rest_aside(thread)); }
    [[gnu::noinline]] static void finish(thread_state& thread, const rest_of_block& rest) noexcept {
        if (is_planted(fault::undo_actions_at_commit)) run_actions(thread.undo_actions, 0, true);
        grown<user_action> actions = rest.commit_actions;
        forget_everything(thread);
        if (!thread.gives_back_at_exit) thread.gives_back_at_exit = lists_of_this_thread.constructed;
        // Before the actions, which are not cancelled either: their blocks hold and release it, too.
        if (rest.holds_cancellation) pthread_setcancelstate(rest.cancel_state, nullptr);
        run_actions(actions, 0, is_planted(fault::commit_actions_backwards));
        if (thread.commit_actions.empty()) {
            thread.commit_actions.release();
            thread.commit_actions = actions;
        } else {
            actions.release();
        }
    }

    static void forget_everything(thread_state& thread) noexcept {
        thread.undo.keep(0);
        thread.nested.keep(0);
        thread.commit_actions.keep(0);
        thread.undo_actions.keep(0);
        thread.exceptions.keep(0);
        thread.allocated.keep(0);
        thread.freed.keep(0);
        thread.depth = 0;
        thread.joined = false;
        thread.used_lists = false;
        thread.notes_stores = false;
        thread.wants_serial = false;
        thread.patience.reset();
    }
};

}  // namespace holdfast::itm
