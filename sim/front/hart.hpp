// One hart: what the instruction set says it has, and how far it is.
#pragma once

#include <sim/base/result.hpp>
#include <sim/base/units.hpp>
#include <sim/front/operation.hpp>

#include <array>
#include <cstdint>
#include <limits>

namespace holdfast::sim {

/// Why a hart does not go on by itself.
enum class hart_stop : std::uint8_t {
    none,
    system_call,  ///< at an ecall, which counts as retired; pc is behind it
    paused,       ///< memory or observer wants machine::run to return; pc is behind an instruction that retired
    refused,      ///< the memory asked for another try at hart::local_time; pc is at the instruction
    fault,        ///< hart::reason says which; pc is at the instruction
    waiting,      ///< in a wait system call
    exited,
};

/// Passive: interpreter, memory, kernel and scheduler all work on it.
struct hart {
    std::array<std::uint64_t, register_count> registers{};
    std::uint64_t pc = 0;
    std::uint8_t fp_flags = 0;     ///< fflags
    std::uint8_t fp_rounding = 0;  ///< frm
    hart_stop stop = hart_stop::none;
    hart_id id{};

    /// In units of whoever advances it: the observer if there is one, otherwise 1 an instruction.
    std::uint64_t local_time = 0;
    std::uint64_t retired = 0;

    std::uint64_t waited = 0;             ///< local time spent in wait system calls
    std::uint64_t spun = 0;               ///< instructions between spin_begin and spin_end
    std::uint64_t spinning_since = 0;     ///< what `retired` was at spin_begin
    std::uint64_t waits_at = 0;           ///< the address that a wait system call named
    std::uint64_t clear_when_exited = 0;  ///< an int there becomes 0, and one waiter is woken; 0: none

    /// The line that load-reserved reserved. Kept by the memory, since other harts' stores end it.
    static constexpr std::uint64_t no_reservation = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t reserved_line = no_reservation;
    bool streams_next = false;  ///< its next store is non-temporal. Kept by the memory, from one phase to the next

    problem reason{};
};

/// Stops the hart with an error. For what runs rarely.
[[gnu::cold, gnu::noinline]] void stop_with(hart& at, problem reason);

/// An address as errors show it.
std::string hexadecimal(std::uint64_t value);

}  // namespace holdfast::sim
