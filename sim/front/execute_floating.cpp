#include <sim/front/execute_floating.hpp>

#include <sim/front/floating.hpp>

namespace holdfast::sim {
namespace {

using floating::context;
using floating::double_format;
using floating::single_format;

constexpr std::uint8_t rounding_of_fcsr = 7;
constexpr std::uint8_t last_rounding = 4;

/// The operand of a single operation; what is not boxed counts as a NaN.
constexpr std::uint64_t unboxed(std::uint64_t bits) noexcept {
    return bits >> 32 == 0xffffffffu ? bits & 0xffffffffu : floating::canonical_nan<single_format>;
}
constexpr std::uint64_t sign_extended(std::uint64_t word) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int32_t>(word));
}
constexpr std::uint64_t zero_extended(std::uint64_t word) noexcept { return word & 0xffffffffu; }

/// The family of S as numbers of either format; `code` is the operation of S that does what is wanted.
template <class Format>
std::uint64_t compute(operation_code code, std::uint64_t a, std::uint64_t b, std::uint64_t c, context& how) noexcept {
    constexpr std::uint64_t sign = floating::sign_bit<Format>;
    switch (code) {
    case operation_code::fmadd_s: return floating::multiply_add<Format>(a, b, c, how);
    case operation_code::fmsub_s: return floating::multiply_add<Format>(a, b, c ^ sign, how);
    case operation_code::fnmsub_s: return floating::multiply_add<Format>(a ^ sign, b, c, how);
    case operation_code::fnmadd_s: return floating::multiply_add<Format>(a ^ sign, b, c ^ sign, how);
    case operation_code::fadd_s: return floating::add<Format>(a, b, how);
    case operation_code::fsub_s: return floating::add<Format>(a, b ^ sign, how);
    case operation_code::fmul_s: return floating::multiply<Format>(a, b, how);
    case operation_code::fdiv_s: return floating::divide<Format>(a, b, how);
    case operation_code::fsqrt_s: return floating::square_root<Format>(a, how);
    case operation_code::fsgnj_s: return (a & ~sign) | (b & sign);
    case operation_code::fsgnjn_s: return (a & ~sign) | (~b & sign);
    case operation_code::fsgnjx_s: return a ^ (b & sign);
    case operation_code::fmin_s: return floating::minimum<Format>(a, b, how);
    case operation_code::fmax_s: return floating::maximum<Format>(a, b, how);
    case operation_code::fle_s: return floating::less_or_equal<Format>(a, b, how);
    case operation_code::flt_s: return floating::less<Format>(a, b, how);
    case operation_code::feq_s: return floating::equal<Format>(a, b, how);
    case operation_code::fclass_s: return floating::classify<Format>(a);
    case operation_code::fcvt_w_s: return floating::to_integer<Format>(a, 32, true, how);
    case operation_code::fcvt_wu_s: return floating::to_integer<Format>(a, 32, false, how);
    case operation_code::fcvt_l_s: return floating::to_integer<Format>(a, 64, true, how);
    case operation_code::fcvt_lu_s: return floating::to_integer<Format>(a, 64, false, how);
    case operation_code::fcvt_s_w: return floating::from_integer<Format>(sign_extended(a), true, how);
    case operation_code::fcvt_s_wu: return floating::from_integer<Format>(zero_extended(a), false, how);
    case operation_code::fcvt_s_l: return floating::from_integer<Format>(a, true, how);
    default: return floating::from_integer<Format>(a, false, how);  // fcvt_s_lu
    }
}

constexpr unsigned distance_of_doubles =
    static_cast<unsigned>(operation_code::fmadd_d) - static_cast<unsigned>(operation_code::fmadd_s);

std::uint64_t compute_single(const operation& what, const std::uint64_t* registers, context& how) noexcept {
    const bool from_integer = is_between(what.code, operation_code::fcvt_s_w, operation_code::fcvt_s_lu);
    const std::uint64_t a = registers[what.source1];
    return compute<single_format>(what.code, from_integer ? a : unboxed(a), unboxed(registers[what.source2]),
                                  unboxed(registers[what.source3]), how);
}

std::uint64_t compute_double(const operation& what, const std::uint64_t* registers, context& how) noexcept {
    const auto as_single = static_cast<operation_code>(static_cast<unsigned>(what.code) - distance_of_doubles);
    return compute<double_format>(as_single, registers[what.source1], registers[what.source2],
                                  registers[what.source3], how);
}

/// Moves between the files of registers change no bit, whatever it means.
std::uint64_t result_of(const operation& what, const std::uint64_t* registers, context& how) noexcept {
    const std::uint64_t first = registers[what.source1];
    switch (what.code) {
    case operation_code::fmv_x_w: return sign_extended(first);
    case operation_code::fmv_w_x: return boxed(zero_extended(first));
    case operation_code::fmv_x_d:
    case operation_code::fmv_d_x: return first;
    case operation_code::fcvt_s_d: return boxed(floating::convert<single_format, double_format>(first, how));
    case operation_code::fcvt_d_s: return floating::convert<double_format, single_format>(unboxed(first), how);
    default: break;
    }
    if (what.code >= operation_code::fmadd_d) return compute_double(what, registers, how);
    const std::uint64_t result = compute_single(what, registers, how);
    const bool to_integer = is_between(what.code, operation_code::fle_s, operation_code::fcvt_lu_s);
    return to_integer ? result : boxed(result);
}

}  // namespace

bool execute_floating(hart& on, const operation& what) noexcept {
    const std::uint8_t mode = what.rounding == rounding_of_fcsr ? on.fp_rounding : what.rounding;
    if (mode > last_rounding) return false;
    context how{static_cast<floating::rounding>(mode), 0};
    on.registers[what.destination] = result_of(what, on.registers.data(), how);
    on.fp_flags |= how.flags;
    return true;
}

}  // namespace holdfast::sim
