// The operations that the simulated machine has beyond RV64GC: their numbers, for simulator and guest alike.
//
// They are written as `slti x0, FIRST, NUMBER`, with the second operand, if there is one, in a1. An instruction that
// sets x0 does nothing, and the specification leaves this one to custom use: so the same program runs, instruction for
// instruction, on a machine that knows nothing of them.
#pragma once

namespace holdfast::sim {

enum class custom_operation : int {
    transaction_begin = 1,        ///< first: the transaction's id, 16 bits
    transaction_commit = 2,       ///< ends the hart's transaction
    line_write_back = 3,          ///< first: an address in the line
    persist_fence = 4,            ///< what was written back or streamed before is durable before what follows
    non_temporal = 5,             ///< the hart's next store goes past the caches
    log_create = 6,               ///< first: where in NVRAM, second: how many bytes
    log_truncate = 7,             ///< each transaction that has a record so far has written all its lines back when it
                                  ///< commits: once they are durable its records may go
    log_grow = 8,                 ///< one more region. first: where in NVRAM, second: how many bytes
    region_of_interest_begin = 9,
    region_of_interest_end = 10,
    spin_begin = 11,              ///< what follows waits for another hart: counted apart
    spin_end = 12,
    transaction_save = 13,        ///< a change of threads. first: the word that the hart's transaction register goes to
    transaction_restore = 14,     ///< first: the register, as it was saved; 0: no transaction
};

constexpr bool is_log_operation(custom_operation what) noexcept {
    return what == custom_operation::log_create || what == custom_operation::log_truncate ||
           what == custom_operation::log_grow;
}

}  // namespace holdfast::sim
