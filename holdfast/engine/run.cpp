#include <holdfast/engine/run.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/engine/actions.hpp>

#include <atomic>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

namespace holdfast {
namespace {

error refusal(errc code, std::string what, const open_pool* pool = nullptr) {
    error reason{.code = code, .what = std::move(what)};
    if (pool != nullptr) reason.path = pool->path();
    return reason;
}

/// Made when the program starts: in a handler it would be too late.
const error* const in_signal_handler = &detail::make_lasting(
    refusal(errc::misuse, "a transaction was started inside a signal handler; set a flag there and act on it outside"));

}  // namespace

namespace detail {

error nested_in_other_pool(const open_pool& open, const open_pool& wanted) {
    error reason = refusal(
        errc::misuse, "a transaction on another pool is open in this thread; one transaction is on one pool", &wanted);
    reason.expected = open.path();
    reason.found = wanted.path();
    return reason;
}

void fail_in_other_pool(const open_pool& open, const open_pool& wanted) {
    throw failure(nested_in_other_pool(open, wanted));
}

kept_error refused_in_signal_handler() noexcept {
    return keep_lasting(in_signal_handler != nullptr ? *in_signal_handler : bare_error(errc::misuse));
}

error refused_in_child(const open_pool& pool) {
    return refusal(
        errc::misuse,
        "the pool was opened before a fork and is not mapped in the child; open it there once the parent has ended",
        &pool);
}

error refused_in_barrier(const open_pool& pool) {
    error reason = refusal(
        errc::misuse, "the function of a barrier called a pool of its engine, which might wait for the barrier", &pool);
    reason.remedy = "only read pools there, and make the call when barrier has returned";
    return reason;
}

error snapshot_of_volatile(const open_pool& pool) {
    return refusal(
        errc::level_unavailable,
        "volatile_only stores in place without a log; close the pool and copy it with holdfast pool snapshot", &pool);
}

error doomed_by_inner() {
    return refusal(errc::aborted, "an exception left an inner transaction; the whole transaction was rolled back");
}

kept_error group_aborted() noexcept {
    try {
        return keep(refusal(errc::aborted,
                            "a thread ended inside a transaction that shared its commit; all of it was rolled back"));
    } catch (const std::bad_alloc&) {
        return keep_lasting(bare_error(errc::aborted));
    }
}

error heap_store_failed() {
    return refusal(errc::aborted, "a store of the heap failed in this transaction; all of it was rolled back");
}

}  // namespace detail

void transaction_base::doom_by_exception() noexcept {
    try {
        doom(detail::doomed_by_inner());
    } catch (const std::bad_alloc&) {
        doom(failure(detail::keep_lasting(bare_error(errc::aborted))));
    }
}

void fail_outside_transaction() {
    fail(errc::misuse, "a write to a pool outside a transaction; write inside pool.atomically(…)");
}

void transaction_base::fail_exchange_across() const {
    throw failure(refusal(errc::misuse,
                          "a swap of an object in the pool with one outside: the latter is not rolled back, "
                          "so its value could be lost; copy it instead",
                          pool_));
}

void transaction_base::fail_outside_pool(const void* home) const {
    check_in_no_other_pool(home);
    throw failure(refusal(errc::misuse,
                          "a wrap's store outside its pool: a close would not make it durable, nor an abort undo it; "
                          "store it directly",
                          pool_));
}

void transaction_base::check_outside_pointer(const void* home, const void* pointer) const {
    const bool is_end = static_cast<const std::byte*>(pointer) == pool_->base() + pool_->size();
    // The pool may have grown since the caller looked.
    if (is_end || pool_->contains(pointer) || !pool_->contains(home)) return;
    throw failure(refusal(errc::misuse,
                          "a pointer to an object outside the pool, which the next process lacks; allocate it in "
                          "the pool, or use an outside_pointer",
                          pool_));
}

void transaction_base::check_in_no_other_pool(const void* home) const {
    const open_pool* other = find_open_pool(home);
    if (other != nullptr && other != pool_) throw failure(detail::nested_in_other_pool(*pool_, *other));
}

void transaction_runner::drop_lost(transaction_base& transaction) noexcept {
    forget_doom(transaction);
    drop_actions(transaction);
}

namespace {

void tell_of_failed_action(std::exception_ptr thrown) noexcept {
    try {
        std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "holdfast: an action of a transaction threw: %s\n", reason.what());
        return;
    } catch (...) {
    }
    std::fputs("holdfast: an action of a transaction threw something that is not a std::exception\n", stderr);
}

constinit std::atomic<action_failure_handler> failed_actions{&tell_of_failed_action};

}  // namespace

action_failure_handler set_action_failure_handler(action_failure_handler handler) noexcept {
    return failed_actions.exchange(handler != nullptr ? handler : &tell_of_failed_action);
}

void transaction_runner::release_each_joined(transaction_base& transaction) noexcept {
    while (!transaction.joined_locks_.empty()) {
        const auto last = transaction.joined_locks_.back();
        transaction.joined_locks_.pop_back();
        last.unlock(last.lock);
    }
}

detail::kept_error transaction_runner::take_reason(transaction_base& transaction) {
    if (transaction.must_roll_back()) transaction.doom(detail::heap_store_failed());
    const failure reason = *std::exchange(transaction.doomed_, std::nullopt);
    return detail::keep(reason.reason());
}

void transaction_runner::run_some_actions(transaction_base& transaction,
                                          bool committed) noexcept(persist::noexcept_seam) {
    // What is committed or taken back has all its actions, also in a thread that is cancelled.
    const cancellation_held uncancelled;
    // Moved out first: an action may run a transaction that registers its own.
    auto wanted = std::move(committed ? transaction.on_commit : transaction.on_abort);
    drop_actions(transaction);
    for (auto& action : wanted) {
        try {
            action();
#ifdef HOLDFAST_OBSERVED
        } catch (const persist::simulated_crash&) {
            throw;
#endif
        } catch (...) {
            failed_actions.load()(std::current_exception());
        }
    }
}

}  // namespace holdfast
