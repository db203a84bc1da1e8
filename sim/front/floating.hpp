// Floating-point arithmetic of the F and D extensions in integers: exact in all five rounding modes, and the same on
// every host and at every level of optimization, which the host's own unit with its modes and flags is not.
#pragma once

#include <cstdint>

namespace holdfast::sim::floating {

/// Numbered as in the field frm.
enum class rounding : std::uint8_t { nearest_even = 0, toward_zero = 1, down = 2, up = 3, nearest_away = 4 };

/// Bits of fflags, which operations add to.
enum flag : std::uint8_t { inexact = 1, underflow = 2, overflow = 4, divide_by_zero = 8, invalid = 16 };

/// A format: what its values are made of. `bits` of a value stand in the low end of a 64-bit word.
struct single_format {
    static constexpr int fraction_bits = 23;
    static constexpr int exponent_bits = 8;
};
struct double_format {
    static constexpr int fraction_bits = 52;
    static constexpr int exponent_bits = 11;
};

template <class Format>
inline constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
template <class Format>
inline constexpr std::uint64_t sign_bit = std::uint64_t{1} << (Format::exponent_bits + Format::fraction_bits);
template <class Format>
inline constexpr std::uint64_t infinity_bits = ((std::uint64_t{1} << Format::exponent_bits) - 1)
                                               << Format::fraction_bits;
/// The only NaN that operations return.
template <class Format>
inline constexpr std::uint64_t canonical_nan = infinity_bits<Format> | std::uint64_t{1} << (Format::fraction_bits - 1);

/// How an operation rounds, and what it raised.
struct context {
    rounding mode = rounding::nearest_even;
    std::uint8_t flags = 0;
};

template <class Format>
std::uint64_t add(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
std::uint64_t multiply(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
std::uint64_t divide(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
std::uint64_t square_root(std::uint64_t a, context& how) noexcept;
/// a × b + c, rounded once.
template <class Format>
std::uint64_t multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c, context& how) noexcept;

template <class Format>
std::uint64_t minimum(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
std::uint64_t maximum(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
bool equal(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
bool less(std::uint64_t a, std::uint64_t b, context& how) noexcept;
template <class Format>
bool less_or_equal(std::uint64_t a, std::uint64_t b, context& how) noexcept;
/// The mask that fclass returns.
template <class Format>
std::uint64_t classify(std::uint64_t a) noexcept;

/// To an integer of `width` bits, 32 or 64; of 32 bits the result is extended by its sign, also if it is unsigned, as
/// the registers want it.
template <class Format>
std::uint64_t to_integer(std::uint64_t a, int width, bool is_signed, context& how) noexcept;
/// From an integer of 64 bits.
template <class Format>
std::uint64_t from_integer(std::uint64_t value, bool is_signed, context& how) noexcept;
template <class To, class From>
std::uint64_t convert(std::uint64_t a, context& how) noexcept;

}  // namespace holdfast::sim::floating
