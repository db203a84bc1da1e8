#include <holdfast/engine/run.hpp>

#include <unwind.h>

#include <string>

namespace holdfast {
namespace {

_Unwind_Reason_Code look_for_signal_frame(_Unwind_Context* context, void* found) {
    int before_instruction = 0;
    _Unwind_GetIPInfo(context, &before_instruction);
    // Set only for the frame that a signal interrupted: its address is not a return address.
    if (before_instruction == 0) return _URC_NO_REASON;
    *static_cast<bool*>(found) = true;
    return _URC_END_OF_STACK;
}

}  // namespace

namespace detail {

bool inside_signal_handler() noexcept {
    bool found = false;
    _Unwind_Backtrace(look_for_signal_frame, &found);
    return found;
}

error nested_in_other_pool(const open_pool& open, const open_pool& wanted) {
    error reason;
    reason.code = errc::misuse;
    reason.what = "a transaction on another pool is open in this thread; one transaction is on one pool";
    reason.path = wanted.path();
    reason.expected = open.path();
    reason.found = wanted.path();
    return reason;
}

error refused_in_signal_handler() {
    error reason;
    reason.code = errc::misuse;
    reason.what = "a transaction was started inside a signal handler; set a flag there and act on it outside";
    return reason;
}

error refused_in_child(const open_pool& pool) {
    error reason;
    reason.code = errc::misuse;
    reason.what =
        "the pool was opened before a fork and is not mapped in the child; open it there once the parent is gone";
    reason.path = pool.path();
    return reason;
}

error snapshot_in_transaction(const open_pool& pool) {
    error reason;
    reason.code = errc::misuse;
    reason.what = "a snapshot inside a transaction would wait for it";
    reason.path = pool.path();
    return reason;
}

error snapshot_of_volatile(const open_pool& pool) {
    error reason;
    reason.code = errc::level_unavailable;
    reason.what = "volatile_only stores in place without a log; close the pool and copy it with holdfast pool snapshot";
    reason.path = pool.path();
    return reason;
}

error doomed_by_inner() {
    error reason;
    reason.code = errc::aborted;
    reason.what = "an exception left an inner transaction; the whole transaction was rolled back";
    return reason;
}

}  // namespace detail

void fail_outside_transaction() {
    fail(errc::misuse, "a write to a pool outside a transaction; write inside pool.atomically(…)");
}

void transaction_base::check_in_no_other_pool(const void* home) const {
    const open_pool* other = find_open_pool(home);
    if (other != nullptr && other != pool_) throw failure(detail::nested_in_other_pool(*pool_, *other));
}

void transaction_runner::run_some_actions(transaction_base& transaction, bool committed) {
    // Moved out first: an action may run a transaction that registers its own.
    auto wanted = std::move(committed ? transaction.on_commit : transaction.on_abort);
    transaction.on_commit.clear();
    transaction.on_abort.clear();
    for (auto& action : wanted) action();
}

}  // namespace holdfast
