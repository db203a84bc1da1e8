// The operations of the log's library functions: what they do to the control registers, whoever executes them.
#pragma once

#include <sim/front/custom_operation.hpp>
#include <sim/port/ports.hpp>

namespace holdfast::sim {

/// Returns when it is done. Requires: is_log_operation(what); the operands are those of the operation.
inline time operate_log(port::control_registers& registers, hart_id by, custom_operation what, std::uint64_t first,
                        std::uint64_t second, time at) {
    if (what == custom_operation::log_create) return registers.create_log(by, {{first}, second}, at);
    if (what == custom_operation::log_grow) return registers.grow_log(by, {{first}, second}, at);
    return registers.truncate_log(by, at);
}

}  // namespace holdfast::sim
