// What becomes of an exception that an action of a transaction throws (on_commit, on_abort).
#pragma once

#include <exception>

namespace holdfast {

/// Gets what an action threw.
using action_failure_handler = void (*)(std::exception_ptr thrown) noexcept;

/// Says who gets what actions throw, of all pools of the process from now on, and returns who got it before; nullptr:
/// the handler of the beginning, which prints one line to stderr. When an action runs the transaction is decided: what
/// the action throws cannot change that, so `atomically` returns what it would have returned, and the other actions
/// run. The handler is called by the thread whose transaction it was, with none of the transaction's locks held.
/// Thread-safe.
action_failure_handler set_action_failure_handler(action_failure_handler handler) noexcept;

}  // namespace holdfast
