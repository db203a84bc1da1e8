// Runs one transaction of an engine that isolates by itself: the function is called until an attempt meets no conflict.
#pragma once

#include <holdfast/engine/block_landing.hpp>
#include <holdfast/engine/conflict.hpp>
#include <holdfast/engine/run.hpp>
#include <holdfast/stm/back_off.hpp>

#include <cxxabi.h>

namespace holdfast::detail {

enum class attempt_end : unsigned char { committed, refused, conflict };

/// Rolls an attempt back, before the next one. Locks that joining calls acquired are released, because another thread
/// may have to make progress there first. The call's own locks stay held, unless the attempt gave way to the thread
/// that has a lock.
template <class Engine>
[[gnu::cold, gnu::noinline]] void take_attempt_back(typename Engine::transaction& transaction) {
    const busy_section busy;
    transaction_runner::leave<Engine>();
    transaction.roll_back();
    transaction_runner::forget_doom(transaction);
    transaction_runner::drop_actions(transaction);
    transaction_runner::release_joined(transaction);
    if (block_runtime_of_program != nullptr) block_runtime_of_program->attempt_was_lost();
}

/// Runs f and seals. `problem`: why it cannot commit; nothing of f is left then, and the locks are released. The same
/// holds when an exception leaves. After a conflict nothing of f is left, and the locks are held.
template <class Engine, class R, class F, class... Locks>
attempt_end run_attempt(typename Engine::transaction& transaction, transaction_locks<Locks...>& held_locks, F& f,
                        held_value<R>& held, kept_error& problem) {
    bool is_sealing = false;
    try {
        auto call = [&] { return run_function<R>(transaction, f, held); };
        problem = call_with_landing(call);
        if (was_lost(transaction, held_locks)) [[unlikely]] {
            problem = keep(lost_in_child());
            return attempt_end::refused;
        }
        is_sealing = true;
        if (!problem && !transaction.met_conflict()) [[likely]] {
            const busy_section busy;
            transaction_runner::leave<Engine>();
            result<void> sealed = transaction.seal();
            if (sealed) [[likely]]
                return attempt_end::committed;
            problem = std::move(sealed).give_error();
        }
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        throw;
#endif
    } catch (const abi::__forced_unwind&) {
        // A thread that is cancelled must go on unwinding.
        if (is_sealing || !was_lost(transaction, held_locks)) abandon<Engine>(transaction, held_locks);
        throw;
    } catch (...) {
        if (!is_sealing && was_lost(transaction, held_locks)) throw;
        if (!transaction.met_conflict()) {
            abandon<Engine>(transaction, held_locks);
            throw;
        }
    }
    // Whatever f made of it: what it saw was not the state of one moment.
    if (transaction.met_conflict()) {
        problem = nullptr;
        take_attempt_back<Engine>(transaction);
        return attempt_end::conflict;
    }
    abandon<Engine>(transaction, held_locks);
    return attempt_end::refused;
}

template <class Engine, class R, class F, class... Locks>
result<R> run_attempts(open_pool& pool, F& f, Locks&... locks) {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        return refused_in_signal_handler();
    auto& transaction = transaction_runner::of_this_thread<Engine>();
    transaction_locks<Locks...> held_locks(transaction, locks...);
    if (pool.is_in_barrier_here()) [[unlikely]]
        return refused_in_barrier(pool);
    stm::back_off pauses;
    for (;;) {
        transaction.begin(pool, pauses.should_be_serial());
        transaction_runner::open<Engine>(transaction);
        if (block_runtime_of_program != nullptr) [[unlikely]]
            block_runtime_of_program->attempt_begins();
        held_value<R> held;
        kept_error problem = nullptr;
        const attempt_end ended = run_attempt<Engine>(transaction, held_locks, f, held, problem);
        if (ended == attempt_end::conflict) [[unlikely]] {
            // The thread that has the wanted lock may want one of these.
            const bool lets_go = transaction.gives_way();
            if (lets_go) held_locks.release();
            pauses.conflict();
            if (lets_go) held_locks.hold_again();
            continue;
        }
        if (ended == attempt_end::refused) [[unlikely]]
            return problem;
        result<void> settled = [&] {
            const busy_section busy;
            held_locks.release();
            return transaction.settle();
        }();
        if (!settled) [[unlikely]] {
            transaction_runner::drop_actions(transaction);
            return std::move(settled).give_error();
        }
        persist::tell_committed();
        transaction_runner::run_actions(transaction, true);
        return held.take();
    }
}

}  // namespace holdfast::detail
