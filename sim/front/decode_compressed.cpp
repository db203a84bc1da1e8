// The instructions of 16 bits, each as the operation that it abbreviates. Quadrants and fields as in the chapter "C" of
// the RISC-V unprivileged specification, for RV64.
#include <sim/front/decode.hpp>

namespace holdfast::sim {
namespace {

using enum operation_code;

constexpr std::uint8_t return_address = 1;
constexpr std::uint8_t stack_pointer = 2;

/// Names for the fields of an instruction of 16 bits.
struct parcel_fields {
    std::uint16_t word;

    /// Bits high … low, moved to where bit `to` is the lowest.
    constexpr std::int64_t bits(unsigned high, unsigned low, unsigned to = 0) const noexcept {
        return static_cast<std::int64_t>((word >> low) & ((2u << (high - low)) - 1)) << to;
    }
    constexpr std::uint8_t x(unsigned low) const noexcept { return static_cast<std::uint8_t>(bits(low + 4, low)); }
    /// One of the eight registers that three bits can name.
    constexpr std::uint8_t short_x(unsigned low) const noexcept {
        return static_cast<std::uint8_t>(8 + bits(low + 2, low));
    }
    constexpr std::uint8_t f(unsigned low) const noexcept {
        return static_cast<std::uint8_t>(x(low) + first_fp_register);
    }
    constexpr std::uint8_t short_f(unsigned low) const noexcept {
        return static_cast<std::uint8_t>(short_x(low) + first_fp_register);
    }
    constexpr std::uint8_t x_destination() const noexcept { return x(7) == 0 ? sink_register : x(7); }
    /// Bit 12, the sign, as bit `to` and all above.
    constexpr std::int64_t sign(unsigned to) const noexcept { return -(bits(12, 12) << to); }

    constexpr std::int64_t immediate() const noexcept { return sign(5) | bits(6, 2); }
    constexpr std::int64_t word_offset() const noexcept { return bits(12, 10, 3) | bits(6, 6, 2) | bits(5, 5, 6); }
    constexpr std::int64_t double_offset() const noexcept { return bits(12, 10, 3) | bits(6, 5, 6); }
    constexpr std::int64_t stack_word_load() const noexcept { return bits(12, 12, 5) | bits(6, 4, 2) | bits(3, 2, 6); }
    constexpr std::int64_t stack_double_load() const noexcept {
        return bits(12, 12, 5) | bits(6, 5, 3) | bits(4, 2, 6);
    }
    constexpr std::int64_t stack_word_store() const noexcept { return bits(12, 9, 2) | bits(8, 7, 6); }
    constexpr std::int64_t stack_double_store() const noexcept { return bits(12, 10, 3) | bits(9, 7, 6); }
    constexpr std::int64_t branch_distance() const noexcept {
        return sign(8) | bits(11, 10, 3) | bits(6, 5, 6) | bits(4, 3, 1) | bits(2, 2, 5);
    }
    constexpr std::int64_t jump_distance() const noexcept {
        return sign(11) | bits(11, 11, 4) | bits(10, 9, 8) | bits(8, 8, 10) | bits(7, 7, 6) | bits(6, 6, 7) |
               bits(5, 3, 1) | bits(2, 2, 5);
    }
    constexpr std::int64_t stack_step() const noexcept {
        return sign(9) | bits(6, 6, 4) | bits(5, 5, 6) | bits(4, 3, 7) | bits(2, 2, 5);
    }
};

operation decode_quadrant0(parcel_fields in) noexcept {
    const std::uint8_t base = in.short_x(7);
    switch (in.bits(15, 13)) {
    case 0: {
        const std::int64_t step = in.bits(12, 11, 4) | in.bits(10, 7, 6) | in.bits(6, 6, 2) | in.bits(5, 5, 3);
        return made_of(step == 0 ? illegal : addi, in.short_x(2), stack_pointer, 0, step);
    }
    case 1: return made_of(fld, in.short_f(2), base, 0, in.double_offset());
    case 2: return made_of(lw, in.short_x(2), base, 0, in.word_offset());
    case 3: return made_of(ld, in.short_x(2), base, 0, in.double_offset());
    case 5: return made_of(fsd, sink_register, base, in.short_f(2), in.double_offset());
    case 6: return made_of(sw, sink_register, base, in.short_x(2), in.word_offset());
    case 7: return made_of(sd, sink_register, base, in.short_x(2), in.double_offset());
    default: return made_of(illegal, sink_register, 0, 0, 0);
    }
}

operation decode_short_arithmetic(parcel_fields in) noexcept {
    const std::uint8_t target = in.short_x(7);
    const std::int64_t distance = in.immediate() & 63;
    switch (in.bits(11, 10)) {
    case 0: return made_of(srli, target, target, 0, distance);
    case 1: return made_of(srai, target, target, 0, distance);
    case 2: return made_of(andi, target, target, 0, in.immediate());
    default: break;
    }
    constexpr operation_code codes[] = {sub, xor_, or_, and_, subw, addw, illegal, illegal};
    return made_of(codes[in.bits(12, 12, 2) | in.bits(6, 5)], target, target, in.short_x(2), 0);
}

operation decode_quadrant1(parcel_fields in) noexcept {
    const std::uint8_t target = in.x(7);
    switch (in.bits(15, 13)) {
    case 0: return made_of(addi, in.x_destination(), target, 0, in.immediate());
    case 1: return made_of(target == 0 ? illegal : addiw, target, target, 0, in.immediate());
    case 2: return made_of(load_constant, in.x_destination(), 0, 0, in.immediate());
    case 3: {
        const bool moves_stack = target == stack_pointer;
        const std::int64_t value = moves_stack ? in.stack_step() : in.immediate() << 12;
        if (value == 0) return made_of(illegal, sink_register, 0, 0, 0);
        if (moves_stack) return made_of(addi, target, target, 0, value);
        return made_of(load_constant, in.x_destination(), 0, 0, value);
    }
    case 4: return decode_short_arithmetic(in);
    case 5: return made_of(jal, sink_register, 0, 0, in.jump_distance());
    case 6: return made_of(beq, sink_register, in.short_x(7), 0, in.branch_distance());
    default: return made_of(bne, sink_register, in.short_x(7), 0, in.branch_distance());
    }
}

operation decode_moves_and_jumps(parcel_fields in) noexcept {
    const std::uint8_t first = in.x(7);
    const std::uint8_t second = in.x(2);
    const bool upper = in.bits(12, 12) != 0;
    if (second != 0) return made_of(add, in.x_destination(), upper ? first : std::uint8_t{0}, second, 0);
    if (first != 0) return made_of(jalr, upper ? return_address : sink_register, first, 0, 0);
    return made_of(upper ? ebreak : illegal, sink_register, 0, 0, 0);
}

operation decode_quadrant2(parcel_fields in) noexcept {
    switch (in.bits(15, 13)) {
    case 0: return made_of(slli, in.x_destination(), in.x(7), 0, in.immediate() & 63);
    case 1: return made_of(fld, in.f(7), stack_pointer, 0, in.stack_double_load());
    case 2: return made_of(in.x(7) == 0 ? illegal : lw, in.x(7), stack_pointer, 0, in.stack_word_load());
    case 3: return made_of(in.x(7) == 0 ? illegal : ld, in.x(7), stack_pointer, 0, in.stack_double_load());
    case 4: return decode_moves_and_jumps(in);
    case 5: return made_of(fsd, sink_register, stack_pointer, in.f(2), in.stack_double_store());
    case 6: return made_of(sw, sink_register, stack_pointer, in.x(2), in.stack_word_store());
    default: return made_of(sd, sink_register, stack_pointer, in.x(2), in.stack_double_store());
    }
}

}  // namespace

operation decode_compressed(std::uint16_t parcel) noexcept {
    const parcel_fields in{parcel};
    operation made;
    switch (parcel & 3) {
    case 0: made = decode_quadrant0(in); break;
    case 1: made = decode_quadrant1(in); break;
    default: made = decode_quadrant2(in); break;
    }
    made.parcels = 1;
    return made.code == illegal ? illegal_operation(parcel, 1) : made;
}

}  // namespace holdfast::sim
