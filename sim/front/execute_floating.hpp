// What floating-point operations do to registers: NaN boxing, rounding modes, flags. The arithmetic is in floating.hpp.
#pragma once

#include <sim/front/hart.hpp>

namespace holdfast::sim {

/// A single in a register of doubles: the upper half all ones.
constexpr std::uint64_t boxed(std::uint64_t single) noexcept { return single | 0xffffffff00000000u; }

/// Executes an operation of the families F and D that touches no memory. False if the rounding mode, the instruction's
/// or fcsr's, does not exist; then nothing is changed.
bool execute_floating(hart& on, const operation& what) noexcept;

}  // namespace holdfast::sim
