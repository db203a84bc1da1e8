// What a thread's attempt at a transaction could not get, or find out, inside: it is rolled back first, and then served
// with nothing open (between_attempts.cpp).
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/damage.hpp>

#include <cstdint>

namespace holdfast::dnv {

/// One for each thread, constant-initialised and trivially destructible: reached without a guard.
struct attempt {
    static constexpr unsigned nothing = ~0u;

    unsigned wanted_class = nothing;   ///< of blocks that a chunk is needed for
    unsigned refused_class = nothing;  ///< there is no chunk for it: the next attempt's allocation fails
    error* problem = nullptr;          ///< why the transaction cannot be; owned
    bool is_damaged = false;
    damage found;                ///< if is_damaged: a word that cannot be corrected
    bool leaves = false;         ///< the transaction is one that can be left: dnv_atomically
};

extern constinit thread_local attempt attempt_of_this_thread __attribute__((tls_model("initial-exec")));
inline attempt& this_attempt() noexcept { return attempt_of_this_thread; }

}  // namespace holdfast::dnv
