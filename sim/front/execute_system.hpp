// Control and status registers, and what is wrong with what cannot be executed.
#pragma once

#include <sim/front/custom_operation.hpp>
#include <sim/front/hart.hpp>

namespace holdfast::sim {

/// Executes a CSR operation: fflags, frm, fcsr, and the counters cycle and time, both hart::local_time, and instret.
/// Requires: the hart's times are up to date. False if there is no such register, or it cannot be written; then
/// nothing is changed.
bool execute_csr(hart& on, const operation& what) noexcept;

/// Keeps hart::spun. Requires: hart::retired is up to date.
void note_spinning(hart& on, custom_operation what) noexcept;

/// Stops the hart at an instruction that does not exist, at ebreak, or behind the end of the code.
[[gnu::cold, gnu::noinline]] void stop_at_bad_instruction(hart& on, const operation& what);

/// Stops the hart at a jump or branch to where no code is.
[[gnu::cold, gnu::noinline]] void stop_at_bad_jump(hart& on, std::uint64_t target);

}  // namespace holdfast::sim
