// Errors of the operations that change transaction registers, for all memories.
#pragma once

#include <sim/base/transaction_registers.hpp>
#include <sim/front/hart.hpp>

namespace holdfast::sim {

/// Where there is no time nobody can wait for a commit.
[[gnu::cold, gnu::noinline]] inline bool refuse_begin(hart& at) {
    stop_with(at, {"tx_begin refused", {}, "at most " + std::to_string(transaction_registers::active_most) +
                   " active transactions", "one more"});
    return false;
}

[[gnu::cold, gnu::noinline]] inline bool refuse_restore(hart& at, std::uint64_t saved) {
    stop_with(at, {"transaction_restore refused", {},
                   "a hart without an open transaction, and what transaction_save saved, not restored since",
                   hexadecimal(saved)});
    return false;
}

}  // namespace holdfast::sim
