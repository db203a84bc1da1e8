// Time, addresses and numbers of things: types of their own, so that none is taken for another.
#pragma once

#include <compare>
#include <cstdint>

namespace holdfast::sim {

/// Bytes of a cache line, of every cache and of the memory behind them.
inline constexpr std::uint64_t line_bytes = 64;

/// A point in simulated time, or a span of it; the former counts from the start of the simulation.
struct time {
    std::uint64_t picoseconds = 0;

    constexpr auto operator<=>(const time&) const noexcept = default;
    constexpr time& operator+=(time span) noexcept { return picoseconds += span.picoseconds, *this; }
    constexpr time& operator-=(time span) noexcept { return picoseconds -= span.picoseconds, *this; }
    friend constexpr time operator+(time a, time b) noexcept { return a += b; }
    /// Requires: b is not later than a.
    friend constexpr time operator-(time a, time b) noexcept { return a -= b; }
    friend constexpr time operator*(time span, std::uint64_t times) noexcept { return {span.picoseconds * times}; }
};

constexpr time ps(std::uint64_t picoseconds) noexcept { return {picoseconds}; }
constexpr time ns(std::uint64_t nanoseconds) noexcept { return {nanoseconds * 1000}; }

/// An address of the simulated machine; there is no other kind, since nothing is translated.
struct address {
    std::uint64_t value = 0;

    constexpr address line() const noexcept { return {value & ~(line_bytes - 1)}; }
    constexpr std::uint64_t offset_in_line() const noexcept { return value & (line_bytes - 1); }

    constexpr auto operator<=>(const address&) const noexcept = default;
    friend constexpr address operator+(address base, std::uint64_t bytes) noexcept { return {base.value + bytes}; }
};

/// Which hart, hardware thread, of the machine: 0, 1, …
struct hart_id {
    std::uint32_t value = 0;
    constexpr auto operator<=>(const hart_id&) const noexcept = default;
};

/// Which transaction: what the guest passed to tx_begin.
struct transaction_id {
    std::uint16_t value = 0;
    constexpr auto operator<=>(const transaction_id&) const noexcept = default;
};

}  // namespace holdfast::sim
