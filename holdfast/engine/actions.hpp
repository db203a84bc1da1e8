// What happens to an exception that an action of a transaction throws (on_commit, on_abort).
#pragma once

#include <exception>

namespace holdfast {

/// Receives the exception of an action.
using action_failure_handler = void (*)(std::exception_ptr thrown) noexcept;

/// Sets the handler for exceptions of actions, for all pools of the process, and returns the previous one; nullptr: the
/// default handler, which prints one line to stderr. When an action runs the transaction is decided: an exception of
/// the action cannot change that, so `atomically` returns what it would have returned, and the other actions run. The
/// transaction's thread calls the handler, with none of the transaction's locks held. Thread-safe.
action_failure_handler set_action_failure_handler(action_failure_handler handler) noexcept;

}  // namespace holdfast
