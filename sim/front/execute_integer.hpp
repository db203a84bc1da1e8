// What integer operations compute.
#pragma once

#include <sim/front/operation.hpp>

#include <cstdint>
#include <limits>

namespace holdfast::sim {

__extension__ using wide_signed = __int128;
__extension__ using wide_unsigned = unsigned __int128;

constexpr std::uint64_t extended_word(std::uint64_t value) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
}

/// Division as the specification wants it: by zero all ones, and the one overflow wraps.
template <class Signed>
constexpr Signed quotient_of(Signed a, Signed b) noexcept {
    if (b == 0) return -1;
    return b == -1 && a == std::numeric_limits<Signed>::min() ? a : static_cast<Signed>(a / b);
}
template <class Signed>
constexpr Signed remainder_of(Signed a, Signed b) noexcept {
    if (b == 0) return a;
    return b == -1 ? Signed{0} : static_cast<Signed>(a % b);
}

template <operation_code Code>
constexpr std::uint64_t multiply_or_divide(std::uint64_t a, std::uint64_t b) noexcept {
    using enum operation_code;
    const auto as = static_cast<std::int64_t>(a);
    const auto bs = static_cast<std::int64_t>(b);
    const auto aw = static_cast<std::uint32_t>(a);
    const auto bw = static_cast<std::uint32_t>(b);
    const auto asw = static_cast<std::int32_t>(aw);
    const auto bsw = static_cast<std::int32_t>(bw);
    if constexpr (Code == mul) return a * b;
    if constexpr (Code == mulh) return static_cast<std::uint64_t>((static_cast<wide_signed>(as) * bs) >> 64);
    if constexpr (Code == mulhsu) {
        return static_cast<std::uint64_t>((static_cast<wide_signed>(as) * static_cast<wide_signed>(b)) >> 64);
    }
    if constexpr (Code == mulhu) return static_cast<std::uint64_t>((static_cast<wide_unsigned>(a) * b) >> 64);
    if constexpr (Code == mulw) return extended_word(a * b);
    if constexpr (Code == div) return static_cast<std::uint64_t>(quotient_of(as, bs));
    if constexpr (Code == divu) return b == 0 ? ~std::uint64_t{0} : a / b;
    if constexpr (Code == rem) return static_cast<std::uint64_t>(remainder_of(as, bs));
    if constexpr (Code == remu) return b == 0 ? a : a % b;
    if constexpr (Code == divw) return static_cast<std::uint64_t>(std::int64_t{quotient_of(asw, bsw)});
    if constexpr (Code == divuw) return bw == 0 ? ~std::uint64_t{0} : extended_word(aw / bw);
    if constexpr (Code == remw) return static_cast<std::uint64_t>(std::int64_t{remainder_of(asw, bsw)});
    if constexpr (Code == remuw) return bw == 0 ? extended_word(aw) : extended_word(aw % bw);
}

/// `b` is a register or the immediate.
template <operation_code Code>
constexpr std::uint64_t compute(std::uint64_t a, std::uint64_t b) noexcept {
    using enum operation_code;
    const auto as = static_cast<std::int64_t>(a);
    const auto bs = static_cast<std::int64_t>(b);
    if constexpr (is_between(Code, mul, remuw)) return multiply_or_divide<Code>(a, b);
    if constexpr (Code == add || Code == addi) return a + b;
    if constexpr (Code == sub) return a - b;
    if constexpr (Code == sll || Code == slli) return a << (b & 63);
    if constexpr (Code == slt || Code == slti) return as < bs ? 1 : 0;
    if constexpr (Code == sltu || Code == sltiu) return a < b ? 1 : 0;
    if constexpr (Code == xor_ || Code == xori) return a ^ b;
    if constexpr (Code == srl || Code == srli) return a >> (b & 63);
    if constexpr (Code == sra || Code == srai) return static_cast<std::uint64_t>(as >> (b & 63));
    if constexpr (Code == or_ || Code == ori) return a | b;
    if constexpr (Code == and_ || Code == andi) return a & b;
    if constexpr (Code == addw || Code == addiw) return extended_word(a + b);
    if constexpr (Code == subw) return extended_word(a - b);
    if constexpr (Code == sllw || Code == slliw) return extended_word(a << (b & 31));
    if constexpr (Code == srlw || Code == srliw) return extended_word(static_cast<std::uint32_t>(a) >> (b & 31));
    if constexpr (Code == sraw || Code == sraiw) {
        return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a) >> (b & 31)});
    }
    if constexpr (Code == load_constant) return b;
}

template <operation_code Code>
constexpr bool is_taken(std::uint64_t a, std::uint64_t b) noexcept {
    using enum operation_code;
    if constexpr (Code == beq) return a == b;
    if constexpr (Code == bne) return a != b;
    if constexpr (Code == blt) return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    if constexpr (Code == bge) return static_cast<std::int64_t>(a) >= static_cast<std::int64_t>(b);
    if constexpr (Code == bltu) return a < b;
    if constexpr (Code == bgeu) return a >= b;
}

}  // namespace holdfast::sim
