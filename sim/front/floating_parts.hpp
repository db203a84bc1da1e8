// A floating-point value taken apart, and rounded and put together again: what all operations share.
#pragma once

#include <sim/front/floating.hpp>

#include <bit>

namespace holdfast::sim::floating {

__extension__ using wide = unsigned __int128;

enum class kind : std::uint8_t { zero, finite, infinite, quiet_nan, signaling_nan };

/// A finite one is significand / 2^63 × 2^exponent, and bit 63 of the significand is set.
struct parts {
    floating::kind kind = kind::zero;
    bool negative = false;
    int exponent = 0;
    std::uint64_t significand = 0;

    bool is_nan() const noexcept { return kind >= kind::quiet_nan; }
    bool is_zero() const noexcept { return kind == kind::zero; }
    bool is_infinite() const noexcept { return kind == kind::infinite; }
};

template <class Format>
parts take_apart(std::uint64_t bits) noexcept {
    constexpr int fraction_bits = Format::fraction_bits;
    parts made;
    made.negative = (bits & sign_bit<Format>) != 0;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
    const auto exponent = static_cast<int>((bits & infinity_bits<Format>) >> fraction_bits);
    if (exponent == (1 << Format::exponent_bits) - 1) {
        const bool quiet = (fraction >> (fraction_bits - 1)) != 0;
        made.kind = fraction == 0 ? kind::infinite : quiet ? kind::quiet_nan : kind::signaling_nan;
    } else if (exponent != 0) {
        made.kind = kind::finite;
        made.exponent = exponent - bias<Format>;
        made.significand = (fraction | std::uint64_t{1} << fraction_bits) << (63 - fraction_bits);
    } else if (fraction != 0) {
        const int zeros = std::countl_zero(fraction);
        made.kind = kind::finite;
        made.exponent = 1 - bias<Format> + 63 - fraction_bits - zeros;
        made.significand = fraction << zeros;
    }
    return made;
}

/// value / 2^shift; what is shifted out stays as a 1 in the lowest bit, which decides roundings as it would.
constexpr wide shift_right_sticky(wide value, int shift) noexcept {
    if (shift == 0) return value;
    if (shift > 127) return value != 0 ? 1 : 0;
    const wide lost = value & ((wide{1} << shift) - 1);
    return value >> shift | (lost != 0 ? 1 : 0);
}

struct rounded {
    std::uint64_t value;
    bool exact;
};

/// significand / 2^drop as an integer. Requires: drop in 1 … 127.
inline rounded round_off(wide significand, int drop, bool negative, rounding mode) noexcept {
    const auto kept = static_cast<std::uint64_t>(significand >> drop);
    const wide rest = significand & ((wide{1} << drop) - 1);
    const wide half = wide{1} << (drop - 1);
    bool increment = false;
    switch (mode) {
    case rounding::nearest_even: increment = rest > half || (rest == half && (kept & 1) != 0); break;
    case rounding::nearest_away: increment = rest >= half; break;
    case rounding::toward_zero: break;
    case rounding::down: increment = negative && rest != 0; break;
    case rounding::up: increment = !negative && rest != 0; break;
    }
    return {kept + (increment ? 1 : 0), rest == 0};
}

template <class Format>
std::uint64_t zero_of(bool negative) noexcept {
    return negative ? sign_bit<Format> : 0;
}
template <class Format>
std::uint64_t infinity_of(bool negative) noexcept {
    return zero_of<Format>(negative) | infinity_bits<Format>;
}
template <class Format>
std::uint64_t invalid_result(context& how) noexcept {
    how.flags |= invalid;
    return canonical_nan<Format>;
}

template <class Format>
std::uint64_t overflow_of(bool negative, context& how) noexcept {
    how.flags |= overflow | inexact;
    const bool to_largest = how.mode == rounding::toward_zero || (how.mode == rounding::down && !negative) ||
                            (how.mode == rounding::up && negative);
    return infinity_of<Format>(negative) - (to_largest ? 1 : 0);
}

/// The value significand / 2^127 × 2^exponent in the format. Requires: bit 127 of the significand is set.
template <class Format>
std::uint64_t put_together(bool negative, int exponent, wide significand, context& how) noexcept {
    constexpr int drop = 127 - Format::fraction_bits;
    constexpr int smallest = 1 - bias<Format>;
    const std::uint64_t carried = std::uint64_t{2} << Format::fraction_bits;
    rounded result = round_off(significand, drop, negative, how.mode);
    if (exponent >= smallest) {
        if (result.value == carried) {
            result.value >>= 1;
            ++exponent;
        }
        if (exponent > bias<Format>) return overflow_of<Format>(negative, how);
        if (!result.exact) how.flags |= inexact;
        // The leading 1 of the significand adds the 1 that the biased exponent lacks here.
        return zero_of<Format>(negative) +
               (static_cast<std::uint64_t>(exponent + bias<Format> - 1) << Format::fraction_bits) + result.value;
    }
    // Tiny is what would be too small after rounding as if exponents had no bounds.
    const bool tiny = exponent + (result.value == carried ? 1 : 0) < smallest;
    result = round_off(shift_right_sticky(significand, smallest - exponent), drop, negative, how.mode);
    if (!result.exact) how.flags |= tiny ? inexact | underflow : inexact;
    return zero_of<Format>(negative) + result.value;
}

/// The same for any significand but 0: bit 127 need not be set.
template <class Format>
std::uint64_t normalize_and_put_together(bool negative, int exponent, wide significand, context& how) noexcept {
    const auto high = static_cast<std::uint64_t>(significand >> 64);
    const auto low = static_cast<std::uint64_t>(significand);
    const int zeros = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(low);
    return put_together<Format>(negative, exponent - zeros, significand << zeros, how);
}

}  // namespace holdfast::sim::floating
