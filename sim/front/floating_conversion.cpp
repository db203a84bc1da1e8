// Comparisons, and conversions between formats and integers.
#include <sim/front/floating_parts.hpp>

namespace holdfast::sim::floating {
namespace {

/// Whether a is less than b. Requires: no NaN.
template <class Format>
bool is_less(std::uint64_t a, std::uint64_t b) noexcept {
    const bool a_negative = (a & sign_bit<Format>) != 0;
    const bool b_negative = (b & sign_bit<Format>) != 0;
    if (a_negative != b_negative) return a_negative && ((a | b) & ~sign_bit<Format>) != 0;
    return a_negative ? b < a : a < b;
}

template <class Format>
bool is_nan_pattern(std::uint64_t a) noexcept {
    return (a & ~sign_bit<Format>) > infinity_bits<Format>;
}
template <class Format>
bool is_signaling(std::uint64_t a) noexcept {
    return take_apart<Format>(a).kind == kind::signaling_nan;
}

template <class Format>
std::uint64_t extremum(std::uint64_t a, std::uint64_t b, bool smaller, context& how) noexcept {
    if (is_signaling<Format>(a) || is_signaling<Format>(b)) how.flags |= invalid;
    if (is_nan_pattern<Format>(a)) return is_nan_pattern<Format>(b) ? canonical_nan<Format> : b;
    if (is_nan_pattern<Format>(b)) return a;
    // Here, and only here, -0 is less than +0.
    const bool zeros = ((a | b) & ~sign_bit<Format>) == 0;
    const bool a_is_less = zeros ? (a & sign_bit<Format>) != 0 : is_less<Format>(a, b);
    return a_is_less == smaller ? a : b;
}

}  // namespace

template <class Format>
std::uint64_t minimum(std::uint64_t a, std::uint64_t b, context& how) noexcept {
    return extremum<Format>(a, b, true, how);
}
template <class Format>
std::uint64_t maximum(std::uint64_t a, std::uint64_t b, context& how) noexcept {
    return extremum<Format>(a, b, false, how);
}

template <class Format>
bool equal(std::uint64_t a, std::uint64_t b, context& how) noexcept {
    if (is_signaling<Format>(a) || is_signaling<Format>(b)) how.flags |= invalid;
    if (is_nan_pattern<Format>(a) || is_nan_pattern<Format>(b)) return false;
    return a == b || ((a | b) & ~sign_bit<Format>) == 0;
}
template <class Format>
bool less(std::uint64_t a, std::uint64_t b, context& how) noexcept {
    if (is_nan_pattern<Format>(a) || is_nan_pattern<Format>(b)) return how.flags |= invalid, false;
    return is_less<Format>(a, b);
}
template <class Format>
bool less_or_equal(std::uint64_t a, std::uint64_t b, context& how) noexcept {
    if (is_nan_pattern<Format>(a) || is_nan_pattern<Format>(b)) return how.flags |= invalid, false;
    return !is_less<Format>(b, a);
}

template <class Format>
std::uint64_t classify(std::uint64_t a) noexcept {
    const parts value = take_apart<Format>(a);
    if (value.kind == kind::signaling_nan) return 1u << 8;
    if (value.kind == kind::quiet_nan) return 1u << 9;
    // From minus infinity by way of the zeros to plus infinity, bits 0 to 7.
    unsigned distance = 0;
    if (value.kind == kind::finite) distance = (a & infinity_bits<Format>) == 0 ? 1 : 2;
    if (value.is_infinite()) distance = 3;
    return 1u << (value.negative ? 3 - distance : 4 + distance);
}

template <class Format>
std::uint64_t to_integer(std::uint64_t a, int width, bool is_signed, context& how) noexcept {
    const parts value = take_apart<Format>(a);
    const bool negative = value.negative && !value.is_nan();
    const std::uint64_t magnitude_bits = is_signed ? std::uint64_t{1} << (width - 1) : 0;
    const std::uint64_t largest = is_signed ? magnitude_bits - 1 : width == 64 ? ~std::uint64_t{0} : 0xffffffffu;
    const std::uint64_t largest_negative = magnitude_bits;  // the magnitude of the smallest number
    const auto extended = [&](std::uint64_t number) {
        return width == 64 ? number : static_cast<std::uint64_t>(static_cast<std::int32_t>(number));
    };
    const auto out_of_range = [&] {
        how.flags |= invalid;
        return extended(negative ? std::uint64_t{0} - largest_negative : largest);
    };
    if (value.is_nan() || value.is_infinite() || value.exponent > 63) return out_of_range();
    if (value.is_zero()) return 0;
    rounded number{value.significand, true};
    if (value.exponent < 63) {
        const int shift = value.exponent < -2 ? 66 : 63 - value.exponent;
        const wide significand = shift_right_sticky(wide{value.significand} << 63, shift);
        number = round_off(significand, 63, negative, how.mode);
    }
    if (number.value > (negative ? largest_negative : largest)) return out_of_range();
    if (!number.exact) how.flags |= inexact;
    return extended(negative ? std::uint64_t{0} - number.value : number.value);
}

template <class Format>
std::uint64_t from_integer(std::uint64_t value, bool is_signed, context& how) noexcept {
    if (value == 0) return 0;
    const bool negative = is_signed && static_cast<std::int64_t>(value) < 0;
    const std::uint64_t magnitude = negative ? std::uint64_t{0} - value : value;
    return normalize_and_put_together<Format>(negative, 63, wide{magnitude} << 64, how);
}

template <class To, class From>
std::uint64_t convert(std::uint64_t a, context& how) noexcept {
    const parts value = take_apart<From>(a);
    switch (value.kind) {
    case kind::signaling_nan: return invalid_result<To>(how);
    case kind::quiet_nan: return canonical_nan<To>;
    case kind::infinite: return infinity_of<To>(value.negative);
    case kind::zero: return zero_of<To>(value.negative);
    case kind::finite: break;
    }
    return put_together<To>(value.negative, value.exponent, wide{value.significand} << 64, how);
}

#define HOLDFAST_SIM_INSTANTIATE(format) \
    template std::uint64_t minimum<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template std::uint64_t maximum<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template bool equal<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template bool less<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template bool less_or_equal<format>(std::uint64_t, std::uint64_t, context&) noexcept; \
    template std::uint64_t classify<format>(std::uint64_t) noexcept; \
    template std::uint64_t to_integer<format>(std::uint64_t, int, bool, context&) noexcept; \
    template std::uint64_t from_integer<format>(std::uint64_t, bool, context&) noexcept;
HOLDFAST_SIM_INSTANTIATE(single_format)
HOLDFAST_SIM_INSTANTIATE(double_format)
#undef HOLDFAST_SIM_INSTANTIATE
template std::uint64_t convert<single_format, double_format>(std::uint64_t, context&) noexcept;
template std::uint64_t convert<double_format, single_format>(std::uint64_t, context&) noexcept;

}  // namespace holdfast::sim::floating
