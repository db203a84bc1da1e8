// Where in the address space a pool lives.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstdint>

namespace holdfast {

inline constexpr std::uint64_t base_alignment = std::uint64_t{1} << 30;
/// Sanitizers leave this range free, and twice an address in it stays below 2^47.
inline constexpr std::uint64_t lowest_base = 0x2000'0000'0000;
inline constexpr std::uint64_t highest_base = 0x3fff'0000'0000;

/// A random base for a pool that reserves `reserved_bytes`.
std::uint64_t random_base(std::uint64_t reserved_bytes) noexcept;

/// Checks an explicit base. Errors: invalid_argument.
result<void> check_base(std::uint64_t base, std::uint64_t reserved_bytes);

}  // namespace holdfast
