// The integer arithmetic against the host's floating-point unit, which knows four of the five rounding modes.
#include <sim/front/floating.hpp>

#include <workload/random.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <type_traits>

namespace holdfast::sim::floating {
namespace {

struct host_mode {
    rounding ours;
    int hosts;
};
constexpr host_mode modes[] = {{rounding::nearest_even, FE_TONEAREST},
                               {rounding::toward_zero, FE_TOWARDZERO},
                               {rounding::down, FE_DOWNWARD},
                               {rounding::up, FE_UPWARD}};

std::uint8_t host_flags() {
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    return static_cast<std::uint8_t>(((raised & FE_INEXACT) != 0 ? inexact : 0) |
                                     ((raised & FE_UNDERFLOW) != 0 ? underflow : 0) |
                                     ((raised & FE_OVERFLOW) != 0 ? overflow : 0) |
                                     ((raised & FE_DIVBYZERO) != 0 ? divide_by_zero : 0) |
                                     ((raised & FE_INVALID) != 0 ? invalid : 0));
}

template <class Float>
using bits_of = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

/// Calls ours and the host's in a mode and compares results and flags; any NaN of the host's stands for our only one.
template <class Format, class Float, class Ours, class Hosts>
void compare(host_mode mode, Ours ours, Hosts hosts, const char* what, std::uint64_t a, std::uint64_t b) {
    context how{mode.ours, 0};
    const std::uint64_t found = ours(how);
    std::fesetround(mode.hosts);
    std::feclearexcept(FE_ALL_EXCEPT);
    const volatile Float expected = hosts();
    const std::uint8_t flags = host_flags();
    std::fesetround(FE_TONEAREST);
    const std::uint64_t bits =
        std::isnan(expected) ? canonical_nan<Format> : std::bit_cast<bits_of<Float>>(Float{expected});
    const int shown_mode = static_cast<int>(mode.ours);
    EXPECT_EQ(found, bits) << what << std::hex << " of " << a << " and " << b << " in mode " << shown_mode;
    EXPECT_EQ(how.flags, flags) << what << std::hex << " of " << a << " and " << b << " in mode " << shown_mode;
}

/// Numbers of any bits; half of them near the one before, others close to a limit.
template <class Format>
std::uint64_t next_operand(workload::random& numbers, std::uint64_t before) {
    constexpr std::uint64_t all = sign_bit<Format> * 2 - 1;
    const std::uint64_t any = numbers.next() & all;
    switch (numbers.below(8)) {
    case 0: return any & ~infinity_bits<Format>;                      // zero or subnormal
    case 1: return any | infinity_bits<Format>;                       // a NaN
    case 2: return (any & sign_bit<Format>) | infinity_bits<Format>;  // an infinity
    case 3:
    case 4:
    case 5: return (before + (any & (sign_bit<Format> >> 6 | 0xff))) & all;
    default: return any;
    }
}

template <class Format, class Float>
void compare_all(std::uint64_t pairs) {
    workload::random numbers(7);
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < pairs; ++i) {
        const std::uint64_t a = next_operand<Format>(numbers, before);
        const std::uint64_t b = before = next_operand<Format>(numbers, a);
        const std::uint64_t c = next_operand<Format>(numbers, b);
        const volatile Float x = std::bit_cast<Float>(static_cast<bits_of<Float>>(a));
        const volatile Float y = std::bit_cast<Float>(static_cast<bits_of<Float>>(b));
        const volatile Float z = std::bit_cast<Float>(static_cast<bits_of<Float>>(c));
        const host_mode mode = modes[i % 4];
        const auto check = [&](const char* what, auto ours, auto hosts) {
            compare<Format, Float>(mode, ours, hosts, what, a, b);
        };
        check("sum", [&](context& how) { return add<Format>(a, b, how); }, [&] { return x + y; });
        check("product", [&](context& how) { return multiply<Format>(a, b, how); }, [&] { return x * y; });
        check("quotient", [&](context& how) { return divide<Format>(a, b, how); }, [&] { return x / y; });
        check("root", [&](context& how) { return square_root<Format>(a, how); }, [&] { return std::sqrt(Float{x}); });
        // The host does not call infinity × 0 invalid beside a NaN; RISC-V does.
        if (!std::isnan(Float{z})) {
            check("fused product", [&](context& how) { return multiply_add<Format>(a, b, c, how); },
                  [&] { return std::fma(Float{x}, Float{y}, Float{z}); });
        }
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Floating, SinglesAreWhatTheHostMakesOfThem) { compare_all<single_format, float>(50000); }
TEST(Floating, DoublesAreWhatTheHostMakesOfThem) { compare_all<double_format, double>(50000); }

TEST(Floating, TiesGoAwayFromZeroInTheModeThatTheHostDoesNotHave) {
    context how{rounding::nearest_away, 0};
    const auto integer = [&](double value) {
        return static_cast<std::int64_t>(to_integer<double_format>(std::bit_cast<std::uint64_t>(value), 64, true, how));
    };
    EXPECT_EQ(integer(0.5), 1);
    EXPECT_EQ(integer(-2.5), -3);
    EXPECT_EQ(integer(2.4999), 2);
    // 2^53 + 1 lies in the middle of two doubles.
    const std::uint64_t rounded_up = std::bit_cast<std::uint64_t>(9007199254740994.0);
    EXPECT_EQ(from_integer<double_format>((1ull << 53) + 1, true, how), rounded_up);
}

TEST(Floating, AnIntegerThatDoesNotFitIsTheNearestThatDoesAndInvalid) {
    const auto convert_to = [](double value, int width, bool is_signed) {
        context how{rounding::toward_zero, 0};
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const std::uint64_t number = to_integer<double_format>(bits, width, is_signed, how);
        EXPECT_EQ(how.flags, invalid);
        return number;
    };
    EXPECT_EQ(convert_to(2147483648.0, 32, true), 0x7fff'ffffu);
    EXPECT_EQ(convert_to(-2147483649.0, 32, true), 0xffff'ffff'8000'0000u);
    EXPECT_EQ(convert_to(4294967296.0, 32, false), ~std::uint64_t{0});
    EXPECT_EQ(convert_to(-1.0, 64, false), 0u);
    EXPECT_EQ(convert_to(std::nan(""), 64, true), 0x7fff'ffff'ffff'ffffu);
}

}  // namespace
}  // namespace holdfast::sim::floating
