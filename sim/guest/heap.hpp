// Memory that is gone with the power.
#pragma once

#include <sim/guest/lock.hpp>

namespace holdfast::guest {

/// Where it begins: told rather than asked for, so that programs find the same addresses on every machine.
inline constexpr std::uint64_t heap_address = 0x8'0000'0000;

/// Bytes, all zero, on lines of their own. They are never given back: programs take what they need at the beginning.
void* allocate_volatile(std::size_t bytes) noexcept;

}  // namespace holdfast::guest
