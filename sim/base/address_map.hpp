// Where a guest program finds what: the same for the simulator and for the programs.
#pragma once

#include <sim/base/units.hpp>

namespace holdfast::sim {

/// Code, constants and variables begin at 0x1'0000, where GNU ld puts a program. The stack on which it finds its
/// arguments ends here.
inline constexpr address first_stack_end{0x4'0000'0000};
/// Volatile memory that programs ask for, the stacks of threads in it.
inline constexpr address heap_begin{0x8'0000'0000};
/// From here on is NVRAM: the persistent arena. All that lies below is DRAM.
inline constexpr address arena_begin{0x10'0000'0000};
/// Addresses from here on do not exist.
inline constexpr address address_end{0x20'0000'0000};

constexpr bool is_persistent(address where) noexcept { return where >= arena_begin; }

}  // namespace holdfast::sim
