#include <holdfast/engine/run.hpp>

#include <unwind.h>

#include <string>
#include <utility>

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

error refusal(errc code, std::string what, const open_pool* pool = nullptr) {
    error reason{.code = code, .what = std::move(what)};
    if (pool != nullptr) reason.path = pool->path();
    return reason;
}

}  // namespace

namespace detail {

bool inside_signal_handler() noexcept {
    bool found = false;
    _Unwind_Backtrace(look_for_signal_frame, &found);
    return found;
}

error nested_in_other_pool(const open_pool& open, const open_pool& wanted) {
    error reason = refusal(
        errc::misuse, "a transaction on another pool is open in this thread; one transaction is on one pool", &wanted);
    reason.expected = open.path();
    reason.found = wanted.path();
    return reason;
}

error refused_in_signal_handler() {
    return refusal(errc::misuse,
                   "a transaction was started inside a signal handler; set a flag there and act on it outside");
}

error refused_in_child(const open_pool& pool) {
    return refusal(
        errc::misuse,
        "the pool was opened before a fork and is not mapped in the child; open it there once the parent is gone",
        &pool);
}

error snapshot_of_volatile(const open_pool& pool) {
    return refusal(
        errc::level_unavailable,
        "volatile_only stores in place without a log; close the pool and copy it with holdfast pool snapshot", &pool);
}

error doomed_by_inner() {
    return refusal(errc::aborted, "an exception left an inner transaction; the whole transaction was rolled back");
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
