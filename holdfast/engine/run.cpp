#include <holdfast/engine/run.hpp>

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

kept_error refused_in_signal_handler() noexcept {
    return keep_lasting(in_signal_handler != nullptr ? *in_signal_handler : bare_error(errc::misuse));
}

error refused_in_child(const open_pool& pool) {
    return refusal(
        errc::misuse,
        "the pool was opened before a fork and is not mapped in the child; open it there once the parent is gone",
        &pool);
}

error snapshot_in_transaction(const open_pool& pool) {
    return refusal(errc::misuse, "a snapshot inside a transaction would wait for it", &pool);
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
