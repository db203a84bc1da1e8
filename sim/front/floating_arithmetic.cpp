// Sums, products, quotients and roots. Each makes a significand of 128 bits that is exact but for a sticky lowest bit,
// and leaves rounding to put_together.
#include <sim/front/floating_parts.hpp>

#include <utility>

namespace holdfast::sim::floating {
namespace {

/// A NaN among the operands decides the result.
template <class Format, class... Parts>
std::uint64_t nan_result(context& how, const Parts&... operands) noexcept {
    if (((operands.kind == kind::signaling_nan) || ...)) how.flags |= invalid;
    return canonical_nan<Format>;
}

/// A finite value on the way: significand / 2^127 × 2^exponent.
struct term {
    bool negative;
    int exponent;
    wide significand;
};

/// The sum of two terms, neither 0 and both with bit 127 set.
template <class Format>
std::uint64_t add_terms(term a, term b, context& how) noexcept {
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) std::swap(a, b);
    // One bit of room for the carry; the low bits that go are 0 but in b, when it is shifted by more anyway.
    const wide larger = a.significand >> 1;
    const wide smaller = shift_right_sticky(b.significand >> 1, a.exponent - b.exponent);
    const wide sum = a.negative == b.negative ? larger + smaller : larger - smaller;
    if (sum == 0) return zero_of<Format>(how.mode == rounding::down);
    return normalize_and_put_together<Format>(a.negative, a.exponent + 1, sum, how);
}

term term_of(const parts& value) noexcept {
    return {value.negative, value.exponent, wide{value.significand} << 64};
}

/// Requires: both finite.
term product_of(const parts& a, const parts& b) noexcept {
    const wide product = wide{a.significand} * b.significand;
    const bool carried = (product >> 127) != 0;
    return {a.negative != b.negative, a.exponent + b.exponent + (carried ? 1 : 0), carried ? product : product << 1};
}

/// The square root of a value, rounded down.
std::uint64_t integer_root(wide value) noexcept {
    wide rest = 0;
    std::uint64_t root = 0;
    for (int step = 0; step < 64; ++step) {
        rest = rest << 2 | value >> 126;
        value <<= 2;
        const wide trial = (wide{root} << 2) | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return root;
}

}  // namespace

template <class Format>
std::uint64_t add(std::uint64_t a_bits, std::uint64_t b_bits, context& how) noexcept {
    const parts a = take_apart<Format>(a_bits);
    const parts b = take_apart<Format>(b_bits);
    if (a.is_nan() || b.is_nan()) return nan_result<Format>(how, a, b);
    if (a.is_infinite() && b.is_infinite() && a.negative != b.negative) return invalid_result<Format>(how);
    if (a.is_infinite()) return a_bits;
    if (b.is_infinite()) return b_bits;
    if (a.is_zero() && b.is_zero()) {
        return zero_of<Format>(a.negative == b.negative ? a.negative : how.mode == rounding::down);
    }
    if (a.is_zero()) return b_bits;
    if (b.is_zero()) return a_bits;
    return add_terms<Format>(term_of(a), term_of(b), how);
}

template <class Format>
std::uint64_t multiply(std::uint64_t a_bits, std::uint64_t b_bits, context& how) noexcept {
    const parts a = take_apart<Format>(a_bits);
    const parts b = take_apart<Format>(b_bits);
    if (a.is_nan() || b.is_nan()) return nan_result<Format>(how, a, b);
    const bool negative = a.negative != b.negative;
    if (a.is_infinite() || b.is_infinite()) {
        return a.is_zero() || b.is_zero() ? invalid_result<Format>(how) : infinity_of<Format>(negative);
    }
    if (a.is_zero() || b.is_zero()) return zero_of<Format>(negative);
    const term product = product_of(a, b);
    return put_together<Format>(negative, product.exponent, product.significand, how);
}

template <class Format>
std::uint64_t divide(std::uint64_t a_bits, std::uint64_t b_bits, context& how) noexcept {
    const parts a = take_apart<Format>(a_bits);
    const parts b = take_apart<Format>(b_bits);
    if (a.is_nan() || b.is_nan()) return nan_result<Format>(how, a, b);
    const bool negative = a.negative != b.negative;
    if ((a.is_infinite() && b.is_infinite()) || (a.is_zero() && b.is_zero())) return invalid_result<Format>(how);
    if (a.is_infinite()) return infinity_of<Format>(negative);
    if (b.is_infinite() || a.is_zero()) return zero_of<Format>(negative);
    if (b.is_zero()) {
        how.flags |= divide_by_zero;
        return infinity_of<Format>(negative);
    }
    const wide dividend = wide{a.significand} << 63;
    const wide quotient = dividend / b.significand;
    const bool exact = quotient * b.significand == dividend;
    return normalize_and_put_together<Format>(negative, a.exponent - b.exponent, quotient << 64 | (exact ? 0 : 1), how);
}

template <class Format>
std::uint64_t square_root(std::uint64_t a_bits, context& how) noexcept {
    const parts a = take_apart<Format>(a_bits);
    if (a.is_nan()) return nan_result<Format>(how, a);
    if (a.is_zero()) return a_bits;
    if (a.negative) return invalid_result<Format>(how);
    if (a.is_infinite()) return a_bits;
    const bool odd = (a.exponent & 1) != 0;
    // With bit 127 or 126 set the root has bit 63 set.
    const wide radicand = wide{a.significand} << (odd ? 64 : 63);
    const std::uint64_t root = integer_root(radicand);
    const bool exact = wide{root} * root == radicand;
    return put_together<Format>(false, (a.exponent - (odd ? 1 : 0)) / 2, wide{root} << 64 | (exact ? 0 : 1), how);
}

template <class Format>
std::uint64_t multiply_add(std::uint64_t a_bits, std::uint64_t b_bits, std::uint64_t c_bits, context& how) noexcept {
    const parts a = take_apart<Format>(a_bits);
    const parts b = take_apart<Format>(b_bits);
    const parts c = take_apart<Format>(c_bits);
    // Infinity times zero is invalid even beside a NaN.
    if ((a.is_infinite() && b.is_zero()) || (a.is_zero() && b.is_infinite())) how.flags |= invalid;
    if (a.is_nan() || b.is_nan() || c.is_nan()) return nan_result<Format>(how, a, b, c);
    const bool negative = a.negative != b.negative;
    if (a.is_infinite() || b.is_infinite()) {
        if (a.is_zero() || b.is_zero() || (c.is_infinite() && c.negative != negative)) {
            return invalid_result<Format>(how);
        }
        return infinity_of<Format>(negative);
    }
    if (c.is_infinite()) return c_bits;
    if (a.is_zero() || b.is_zero()) {
        if (!c.is_zero()) return c_bits;
        return zero_of<Format>(c.negative == negative ? negative : how.mode == rounding::down);
    }
    const term product = product_of(a, b);
    if (c.is_zero()) return put_together<Format>(negative, product.exponent, product.significand, how);
    return add_terms<Format>(product, term_of(c), how);
}

#define HOLDFAST_SIM_INSTANTIATE(format) \
    template std::uint64_t add<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template std::uint64_t multiply<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template std::uint64_t divide<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template std::uint64_t square_root<format>(std::uint64_t, context&) noexcept; \
    template std::uint64_t multiply_add<format>(std::uint64_t, std::uint64_t, std::uint64_t, context&) noexcept;
HOLDFAST_SIM_INSTANTIATE(single_format)
HOLDFAST_SIM_INSTANTIATE(double_format)
#undef HOLDFAST_SIM_INSTANTIATE

}  // namespace holdfast::sim::floating
