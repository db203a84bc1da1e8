// What an instruction becomes when it is decoded: a record of 16 bytes that needs no further look at the instruction.
#pragma once

#include <cstdint>

namespace holdfast::sim {

/// What sort of unit executes an operation: all that a model of time asks of most of them.
enum class operation_class : std::uint8_t {
    integer,
    multiply,
    divide,
    fp_add,       ///< additions, and what takes as long: comparisons, conversions, moves
    fp_multiply,  ///< multiplications, fused or not
    fp_divide,    ///< divisions and square roots
    load,
    store,
    branch,  ///< conditional
    jump,
    atomic,
    fence,
    custom,
    system,
};

/// X(name, class) for each operation, in families: what follows relies on their order. Compressed instructions become
/// the operation that they abbreviate; lui and auipc become load_constant, since a place in the code is known.
#define HOLDFAST_SIM_FOR_EACH_OPERATION(X) \
    X(add, integer) X(sub, integer) X(sll, integer) X(slt, integer) X(sltu, integer) X(xor_, integer) X(srl, integer) \
    X(sra, integer) X(or_, integer) X(and_, integer) X(addw, integer) X(subw, integer) X(sllw, integer) \
    X(srlw, integer) X(sraw, integer) \
    X(mul, multiply) X(mulh, multiply) X(mulhsu, multiply) X(mulhu, multiply) X(mulw, multiply) \
    X(div, divide) X(divu, divide) X(rem, divide) X(remu, divide) X(divw, divide) X(divuw, divide) X(remw, divide) \
    X(remuw, divide) \
    X(addi, integer) X(slli, integer) X(slti, integer) X(sltiu, integer) X(xori, integer) X(srli, integer) \
    X(srai, integer) X(ori, integer) X(andi, integer) X(addiw, integer) X(slliw, integer) X(srliw, integer) \
    X(sraiw, integer) X(load_constant, integer) \
    X(beq, branch) X(bne, branch) X(blt, branch) X(bge, branch) X(bltu, branch) X(bgeu, branch) \
    X(jal, jump) X(jalr, jump) \
    X(lb, load) X(lh, load) X(lw, load) X(ld, load) X(lbu, load) X(lhu, load) X(lwu, load) X(flw, load) X(fld, load) \
    X(sb, store) X(sh, store) X(sw, store) X(sd, store) X(fsw, store) X(fsd, store) \
    X(lr_w, atomic) X(lr_d, atomic) X(sc_w, atomic) X(sc_d, atomic) \
    X(amoswap_w, atomic) X(amoadd_w, atomic) X(amoxor_w, atomic) X(amoand_w, atomic) X(amoor_w, atomic) \
    X(amomin_w, atomic) X(amomax_w, atomic) X(amominu_w, atomic) X(amomaxu_w, atomic) \
    X(amoswap_d, atomic) X(amoadd_d, atomic) X(amoxor_d, atomic) X(amoand_d, atomic) X(amoor_d, atomic) \
    X(amomin_d, atomic) X(amomax_d, atomic) X(amominu_d, atomic) X(amomaxu_d, atomic) \
    X(fmadd_s, fp_multiply) X(fmsub_s, fp_multiply) X(fnmsub_s, fp_multiply) X(fnmadd_s, fp_multiply) \
    X(fadd_s, fp_add) X(fsub_s, fp_add) X(fmul_s, fp_multiply) X(fdiv_s, fp_divide) X(fsqrt_s, fp_divide) \
    X(fsgnj_s, fp_add) X(fsgnjn_s, fp_add) X(fsgnjx_s, fp_add) X(fmin_s, fp_add) X(fmax_s, fp_add) \
    X(fle_s, fp_add) X(flt_s, fp_add) X(feq_s, fp_add) X(fclass_s, fp_add) \
    X(fcvt_w_s, fp_add) X(fcvt_wu_s, fp_add) X(fcvt_l_s, fp_add) X(fcvt_lu_s, fp_add) \
    X(fcvt_s_w, fp_add) X(fcvt_s_wu, fp_add) X(fcvt_s_l, fp_add) X(fcvt_s_lu, fp_add) \
    X(fmv_x_w, fp_add) X(fmv_w_x, fp_add) X(fcvt_s_d, fp_add) \
    X(fmadd_d, fp_multiply) X(fmsub_d, fp_multiply) X(fnmsub_d, fp_multiply) X(fnmadd_d, fp_multiply) \
    X(fadd_d, fp_add) X(fsub_d, fp_add) X(fmul_d, fp_multiply) X(fdiv_d, fp_divide) X(fsqrt_d, fp_divide) \
    X(fsgnj_d, fp_add) X(fsgnjn_d, fp_add) X(fsgnjx_d, fp_add) X(fmin_d, fp_add) X(fmax_d, fp_add) \
    X(fle_d, fp_add) X(flt_d, fp_add) X(feq_d, fp_add) X(fclass_d, fp_add) \
    X(fcvt_w_d, fp_add) X(fcvt_wu_d, fp_add) X(fcvt_l_d, fp_add) X(fcvt_lu_d, fp_add) \
    X(fcvt_d_w, fp_add) X(fcvt_d_wu, fp_add) X(fcvt_d_l, fp_add) X(fcvt_d_lu, fp_add) \
    X(fmv_x_d, fp_add) X(fmv_d_x, fp_add) X(fcvt_d_s, fp_add) \
    X(fence, fence) X(fence_i, fence) X(custom, custom) \
    X(csrrw, system) X(csrrs, system) X(csrrc, system) X(csrrwi, system) X(csrrsi, system) X(csrrci, system) \
    X(ecall, system) X(ebreak, system) X(illegal, system) X(end_of_code, system)

enum class operation_code : std::uint16_t {
#define HOLDFAST_SIM_ENUMERATOR(name, group) name,
    HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_ENUMERATOR)
#undef HOLDFAST_SIM_ENUMERATOR
};

constexpr bool is_between(operation_code code, operation_code first, operation_code last) noexcept {
    return code >= first && code <= last;
}
constexpr bool is_register_arithmetic(operation_code code) noexcept {
    return is_between(code, operation_code::add, operation_code::remuw);
}
constexpr bool is_immediate_arithmetic(operation_code code) noexcept {
    return is_between(code, operation_code::addi, operation_code::load_constant);
}
constexpr bool is_branch(operation_code code) noexcept {
    return is_between(code, operation_code::beq, operation_code::bgeu);
}
constexpr bool is_load(operation_code code) noexcept {
    return is_between(code, operation_code::lb, operation_code::fld);
}
constexpr bool is_store(operation_code code) noexcept {
    return is_between(code, operation_code::sb, operation_code::fsd);
}
constexpr bool is_load_reserved(operation_code code) noexcept {
    return is_between(code, operation_code::lr_w, operation_code::lr_d);
}
constexpr bool is_store_conditional(operation_code code) noexcept {
    return is_between(code, operation_code::sc_w, operation_code::sc_d);
}
constexpr bool is_atomic_update(operation_code code) noexcept {
    return is_between(code, operation_code::amoswap_w, operation_code::amomaxu_d);
}
constexpr bool is_floating(operation_code code) noexcept {
    return is_between(code, operation_code::fmadd_s, operation_code::fcvt_d_s);
}
constexpr bool is_csr(operation_code code) noexcept {
    return is_between(code, operation_code::csrrw, operation_code::csrrci);
}

constexpr operation_class class_of(operation_code code) noexcept {
    constexpr operation_class classes[] = {
#define HOLDFAST_SIM_CLASS(name, group) operation_class::group,
        HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_CLASS)
#undef HOLDFAST_SIM_CLASS
    };
    return classes[static_cast<unsigned>(code)];
}
const char* name_of(operation_code code) noexcept;

/// One file for all registers: 0 to 31 are x0 to x31, 32 to 63 are f0 to f31.
inline constexpr std::uint8_t first_fp_register = 32;
/// Where results go that nobody may see: x0 is never written, so nobody has to ask whether it is x0.
inline constexpr std::uint8_t sink_register = 64;
inline constexpr std::uint8_t register_count = 65;
/// Where a custom operation's second operand is, a1; the first has a field in the instruction.
inline constexpr std::uint8_t custom_second_operand = 11;

/// One decoded instruction. Sources that it does not have are 0, x0; a destination that it does not have is the sink.
struct operation {
    operation_code code = operation_code::end_of_code;
    std::uint8_t destination = sink_register;
    std::uint8_t source1 = 0;
    std::uint8_t source2 = 0;
    std::uint8_t source3 = 0;
    std::uint8_t parcels = 1;     ///< 1 for a compressed instruction, 2 otherwise
    std::uint8_t rounding = 0;    ///< the instruction's field; 7 means that fcsr says. Of CSR operations the field rs1
    std::int64_t immediate = 0;   ///< of branches and jal the distance; of CSR operations the number of the CSR;
                                  ///< of custom ones which; of illegal ones the instruction
};
static_assert(sizeof(operation) == 16, "four to a cache line of the host");

/// An operation without a third source, of an instruction of 32 bits.
constexpr operation made_of(operation_code code, std::uint8_t destination, std::uint8_t source1, std::uint8_t source2,
                            std::int64_t immediate) noexcept {
    return {code, destination, source1, source2, 0, 2, 0, immediate};
}

}  // namespace holdfast::sim
