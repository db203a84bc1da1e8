// Tables follow the order of the fields funct3 and funct7 in the RISC-V unprivileged specification, chapter
// "RV32/64G Instruction Set Listings".
#include <sim/front/decode.hpp>

#include <initializer_list>

namespace holdfast::sim {

operation illegal_operation(std::uint32_t word, std::uint8_t parcels) noexcept {
    operation made;
    made.code = operation_code::illegal;
    made.parcels = parcels;
    made.immediate = word;
    return made;
}

namespace {

using enum operation_code;

/// Names for the fields of an instruction of 32 bits.
struct instruction {
    std::uint32_t word;

    constexpr std::uint32_t bits(unsigned high, unsigned low) const noexcept {
        return (word >> low) & ((2u << (high - low)) - 1);
    }
    constexpr std::int64_t signed_word() const noexcept { return static_cast<std::int32_t>(word); }
    constexpr std::uint8_t x(unsigned low) const noexcept { return static_cast<std::uint8_t>(bits(low + 4, low)); }
    constexpr std::uint8_t f(unsigned low) const noexcept {
        return static_cast<std::uint8_t>(x(low) + first_fp_register);
    }
    constexpr std::uint8_t x_destination() const noexcept { return x(7) == 0 ? sink_register : x(7); }
    constexpr std::uint32_t funct3() const noexcept { return bits(14, 12); }
    constexpr std::uint32_t funct7() const noexcept { return bits(31, 25); }

    constexpr std::int64_t i_immediate() const noexcept { return signed_word() >> 20; }
    constexpr std::int64_t s_immediate() const noexcept { return (signed_word() >> 25 << 5) | bits(11, 7); }
    constexpr std::int64_t b_immediate() const noexcept {
        return (signed_word() >> 31 << 12) | bits(7, 7) << 11 | bits(30, 25) << 5 | bits(11, 8) << 1;
    }
    constexpr std::int64_t u_immediate() const noexcept { return signed_word() >> 12 << 12; }
    constexpr std::int64_t j_immediate() const noexcept {
        return (signed_word() >> 31 << 20) | bits(19, 12) << 12 | bits(20, 20) << 11 | bits(30, 21) << 1;
    }
};

/// The entry of a table with `illegal` for what is not in it.
constexpr operation_code pick(std::initializer_list<operation_code> table, std::uint32_t index) noexcept {
    return index < table.size() ? table.begin()[index] : illegal;
}

operation decode_immediate_arithmetic(instruction in) noexcept {
    // slti to x0 does nothing, and the specification leaves it to custom use: the guest's operations are written so.
    if (in.funct3() == 2 && in.x(7) == 0) {
        return made_of(custom, sink_register, in.x(15), custom_second_operand, in.i_immediate());
    }
    operation_code code = pick({addi, slli, slti, sltiu, xori, srli, ori, andi}, in.funct3());
    std::int64_t immediate = in.i_immediate();
    if (code == slli || code == srli) {
        const std::uint32_t above = in.bits(31, 26);
        if (code == srli && above == 0x10) code = srai;
        else if (above != 0) code = illegal;
        immediate = in.bits(25, 20);
    }
    return made_of(code, in.x_destination(), in.x(15), 0, immediate);
}

operation decode_immediate_arithmetic_of_words(instruction in) noexcept {
    operation_code code = pick({addiw, slliw, illegal, illegal, illegal, srliw}, in.funct3());
    std::int64_t immediate = in.i_immediate();
    if (code == slliw || code == srliw) {
        if (code == srliw && in.funct7() == 0x20) code = sraiw;
        else if (in.funct7() != 0) code = illegal;
        immediate = in.bits(24, 20);
    }
    return made_of(code, in.x_destination(), in.x(15), 0, immediate);
}

operation decode_register_arithmetic(instruction in) noexcept {
    operation_code code = illegal;
    switch (in.funct7()) {
    case 0x00: code = pick({add, sll, slt, sltu, xor_, srl, or_, and_}, in.funct3()); break;
    case 0x01: code = pick({mul, mulh, mulhsu, mulhu, div, divu, rem, remu}, in.funct3()); break;
    case 0x20: code = pick({sub, illegal, illegal, illegal, illegal, sra}, in.funct3()); break;
    default: break;
    }
    return made_of(code, in.x_destination(), in.x(15), in.x(20), 0);
}

operation decode_register_arithmetic_of_words(instruction in) noexcept {
    operation_code code = illegal;
    switch (in.funct7()) {
    case 0x00: code = pick({addw, sllw, illegal, illegal, illegal, srlw}, in.funct3()); break;
    case 0x01: code = pick({mulw, illegal, illegal, illegal, divw, divuw, remw, remuw}, in.funct3()); break;
    case 0x20: code = pick({subw, illegal, illegal, illegal, illegal, sraw}, in.funct3()); break;
    default: break;
    }
    return made_of(code, in.x_destination(), in.x(15), in.x(20), 0);
}

operation decode_atomic(instruction in) noexcept {
    const bool words = in.funct3() == 2;
    if (!words && in.funct3() != 3) return illegal_operation(in.word, 2);
    operation_code code = illegal;
    switch (in.bits(31, 27)) {
    case 0x00: code = words ? amoadd_w : amoadd_d; break;
    case 0x01: code = words ? amoswap_w : amoswap_d; break;
    case 0x02: code = in.x(20) != 0 ? illegal : words ? lr_w : lr_d; break;
    case 0x03: code = words ? sc_w : sc_d; break;
    case 0x04: code = words ? amoxor_w : amoxor_d; break;
    case 0x08: code = words ? amoor_w : amoor_d; break;
    case 0x0c: code = words ? amoand_w : amoand_d; break;
    case 0x10: code = words ? amomin_w : amomin_d; break;
    case 0x14: code = words ? amomax_w : amomax_d; break;
    case 0x18: code = words ? amominu_w : amominu_d; break;
    case 0x1c: code = words ? amomaxu_w : amomaxu_d; break;
    default: break;
    }
    return made_of(code, in.x_destination(), in.x(15), in.x(20), 0);
}

operation decode_system(instruction in) noexcept {
    if (in.word == 0x00000073) return made_of(ecall, sink_register, 0, 0, 0);
    if (in.word == 0x00100073) return made_of(ebreak, sink_register, 0, 0, 0);
    const operation_code code = pick({illegal, csrrw, csrrs, csrrc, illegal, csrrwi, csrrsi, csrrci}, in.funct3());
    // The immediate forms have a number where the others have a register.
    const bool immediate_form = in.funct3() > 4;
    operation made = made_of(code, in.x_destination(), immediate_form ? std::uint8_t{0} : in.x(15), 0, in.bits(31, 20));
    made.rounding = in.x(15);
    return made;
}

operation decode_fused(instruction in) noexcept {
    const std::uint32_t format = in.bits(26, 25);
    const std::uint32_t which = in.bits(3, 2);
    operation_code code = illegal;
    if (format == 0) code = pick({fmadd_s, fmsub_s, fnmsub_s, fnmadd_s}, which);
    if (format == 1) code = pick({fmadd_d, fmsub_d, fnmsub_d, fnmadd_d}, which);
    operation made = made_of(code, in.f(7), in.f(15), in.f(20), 0);
    made.source3 = in.f(27);
    made.rounding = static_cast<std::uint8_t>(in.funct3());
    return made;
}

/// The code of a floating-point operation as if its format were S.
operation_code floating_code(instruction in) noexcept {
    const std::uint32_t funct3 = in.funct3();
    const std::uint32_t second = in.x(20);
    switch (in.funct7() >> 2) {
    case 0x00: return fadd_s;
    case 0x01: return fsub_s;
    case 0x02: return fmul_s;
    case 0x03: return fdiv_s;
    case 0x04: return pick({fsgnj_s, fsgnjn_s, fsgnjx_s}, funct3);
    case 0x05: return pick({fmin_s, fmax_s}, funct3);
    case 0x08: return second == 1 - in.bits(25, 25) ? fcvt_s_d : illegal;
    case 0x0b: return second == 0 ? fsqrt_s : illegal;
    case 0x14: return pick({fle_s, flt_s, feq_s}, funct3);
    case 0x18: return pick({fcvt_w_s, fcvt_wu_s, fcvt_l_s, fcvt_lu_s}, second);
    case 0x1a: return pick({fcvt_s_w, fcvt_s_wu, fcvt_s_l, fcvt_s_lu}, second);
    case 0x1c: return second == 0 ? pick({fmv_x_w, fclass_s}, funct3) : illegal;
    case 0x1e: return second == 0 && funct3 == 0 ? fmv_w_x : illegal;
    default: return illegal;
    }
}

operation decode_floating(instruction in) noexcept {
    operation_code code = in.bits(26, 26) != 0 ? illegal : floating_code(in);
    if (code == illegal) return illegal_operation(in.word, 2);
    const std::uint32_t major = in.funct7() >> 2;
    const bool to_integer = major == 0x14 || major == 0x18 || major == 0x1c;
    const bool from_integer = major == 0x1a || major == 0x1e;
    const bool one_source = major == 0x08 || major == 0x0b || major >= 0x18;
    if (in.bits(25, 25) != 0) {
        // The operations of D stand in the order of those of S.
        constexpr unsigned doubles = static_cast<unsigned>(fmadd_d) - static_cast<unsigned>(fmadd_s);
        code = static_cast<operation_code>(static_cast<unsigned>(code) + doubles);
    }
    operation made = made_of(code, to_integer ? in.x_destination() : in.f(7), from_integer ? in.x(15) : in.f(15),
                             one_source ? std::uint8_t{0} : in.f(20), 0);
    // Where funct3 chooses the operation it is no rounding mode, and none is needed.
    const bool rounds = major <= 0x03 || major == 0x08 || major == 0x0b || major == 0x18 || major == 0x1a;
    made.rounding = rounds ? static_cast<std::uint8_t>(in.funct3()) : std::uint8_t{0};
    return made;
}

operation decode_load(instruction in) noexcept {
    return made_of(pick({lb, lh, lw, ld, lbu, lhu, lwu}, in.funct3()), in.x_destination(), in.x(15), 0,
                   in.i_immediate());
}

operation decode_fence(instruction in) noexcept {
    return made_of(pick({fence, fence_i}, in.funct3()), sink_register, 0, 0, in.bits(31, 20));
}

}  // namespace

operation decode(std::uint32_t word, std::uint64_t pc) noexcept {
    const instruction in{word};
    operation made;
    switch (in.bits(6, 2)) {
    case 0x00: made = decode_load(in); break;
    case 0x01: made = made_of(pick({illegal, illegal, flw, fld}, in.funct3()), in.f(7), in.x(15), 0,
                              in.i_immediate()); break;
    case 0x03: made = decode_fence(in); break;
    case 0x04: made = decode_immediate_arithmetic(in); break;
    case 0x05: made = made_of(load_constant, in.x_destination(), 0, 0,
                              static_cast<std::int64_t>(pc + static_cast<std::uint64_t>(in.u_immediate()))); break;
    case 0x06: made = decode_immediate_arithmetic_of_words(in); break;
    case 0x08: made = made_of(pick({sb, sh, sw, sd}, in.funct3()), sink_register, in.x(15), in.x(20),
                              in.s_immediate()); break;
    case 0x09: made = made_of(pick({illegal, illegal, fsw, fsd}, in.funct3()), sink_register, in.x(15), in.f(20),
                              in.s_immediate()); break;
    case 0x0b: made = decode_atomic(in); break;
    case 0x0c: made = decode_register_arithmetic(in); break;
    case 0x0d: made = made_of(load_constant, in.x_destination(), 0, 0, in.u_immediate()); break;
    case 0x0e: made = decode_register_arithmetic_of_words(in); break;
    case 0x10:
    case 0x11:
    case 0x12:
    case 0x13: made = decode_fused(in); break;
    case 0x14: made = decode_floating(in); break;
    case 0x18: made = made_of(pick({beq, bne, illegal, illegal, blt, bge, bltu, bgeu}, in.funct3()), sink_register,
                              in.x(15), in.x(20), in.b_immediate()); break;
    case 0x19: made = made_of(in.funct3() == 0 ? jalr : illegal, in.x_destination(), in.x(15), 0,
                              in.i_immediate()); break;
    case 0x1b: made = made_of(jal, in.x_destination(), 0, 0, in.j_immediate()); break;
    case 0x1c: made = decode_system(in); break;
    default: made.code = illegal; break;
    }
    return made.code == illegal ? illegal_operation(word, 2) : made;
}

}  // namespace holdfast::sim
