#include <sim/front/decode.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using enum operation_code;

constexpr std::uint64_t somewhere = 0x12340;

void expect_operation(const operation& found, operation_code code, unsigned destination, unsigned source1,
                      unsigned source2, std::int64_t immediate) {
    EXPECT_STREQ(name_of(found.code), name_of(code));
    EXPECT_EQ(found.destination, destination);
    EXPECT_EQ(found.source1, source1);
    EXPECT_EQ(found.source2, source2);
    EXPECT_EQ(found.immediate, immediate);
}

// Words as GNU as writes them.
TEST(Decode, EveryFormOfImmediateKeepsItsSign) {
    expect_operation(decode(0xfff58513, somewhere), addi, 10, 11, 0, -1);            // addi a0, a1, -1
    expect_operation(decode(0xfea5bc23, somewhere), sd, sink_register, 11, 10, -8);  // sd a0, -8(a1)
    expect_operation(decode(0xfeb50ee3, somewhere), beq, sink_register, 10, 11, -4); // beq a0, a1, .-4
    expect_operation(decode(0xffdff0ef, somewhere), jal, 1, 0, 0, -4);               // jal ra, .-4
    expect_operation(decode(0x800005b7, somewhere), load_constant, 11, 0, 0, -0x80000000ll);  // lui a1, 0x80000
}

TEST(Decode, AuipcBecomesTheConstantThatItIsAtItsPlace) {
    expect_operation(decode(0x00001597, somewhere), load_constant, 11, 0, 0, 0x13340);  // auipc a1, 1
}

TEST(Decode, ADestinationOfX0IsTheRegisterThatNobodyReads) {
    EXPECT_EQ(decode(0x00b50033, somewhere).destination, sink_register);  // add x0, a0, a1
    EXPECT_EQ(decode(0x00053003, somewhere).destination, sink_register);  // ld x0, 0(a0)
}

TEST(Decode, FloatingPointRegistersAreNumberedBehindTheOthers) {
    const operation fused = decode(0x6ac5f543, somewhere);  // fmadd.d fa0, fa1, fa2, fa3
    EXPECT_STREQ(name_of(fused.code), "fmadd_d");
    EXPECT_EQ(fused.destination, first_fp_register + 10);
    EXPECT_EQ(fused.source1, first_fp_register + 11);
    EXPECT_EQ(fused.source2, first_fp_register + 12);
    EXPECT_EQ(fused.source3, first_fp_register + 13);
    EXPECT_EQ(fused.rounding, 7);
    expect_operation(decode(0xd2250553, somewhere), fcvt_d_l, first_fp_register + 10, 10, 0, 0);  // fcvt.d.l fa0, a0
}

TEST(Decode, SltiToX0IsACustomOperationWithItsSecondOperandInA1) {
    expect_operation(decode(0x00652013, somewhere), custom, sink_register, 10, 11, 6);  // slti x0, a0, 6
    expect_operation(decode(0x00652513, somewhere), slti, 10, 10, 0, 6);                // slti a0, a0, 6
}

TEST(Decode, CompressedInstructionsBecomeWhatTheyAbbreviate) {
    expect_operation(decode_compressed(0x157d), addi, 10, 10, 0, -1);              // c.addi a0, -1
    expect_operation(decode_compressed(0x7139), addi, 2, 2, 0, -64);               // c.addi16sp sp, -64
    expect_operation(decode_compressed(0x1048), addi, 10, 2, 0, 36);               // c.addi4spn a0, sp, 36
    expect_operation(decode_compressed(0x7d48), ld, 10, 10, 0, 184);               // c.ld a0, 184(a0)
    expect_operation(decode_compressed(0xfc06), sd, sink_register, 2, 1, 56);      // c.sdsp ra, 56(sp)
    expect_operation(decode_compressed(0x8082), jalr, sink_register, 1, 0, 0);     // c.jr ra
    expect_operation(decode_compressed(0x9002), ebreak, sink_register, 0, 0, 0);   // c.ebreak
    EXPECT_EQ(decode_compressed(0x157d).parcels, 1);
}

TEST(Decode, WhatRv64gcDoesNotHaveIsIllegalAndShowsTheWord) {
    for (const std::uint32_t word : {0xffffffffu, 0x0000007fu, 0x02051513u | 0x40000000u, 0x0600f053u, 0x0000600bu}) {
        const operation found = decode(word, somewhere);
        EXPECT_STREQ(name_of(found.code), "illegal") << std::hex << word;
        EXPECT_EQ(found.immediate, word);
    }
    EXPECT_EQ(decode_compressed(0).code, illegal);
    EXPECT_EQ(decode_compressed(0x2001).code, illegal);  // c.addiw x0
}

}  // namespace
}  // namespace holdfast::sim
