// For tests of the front end: instructions written as words, and a small machine to execute them.
#pragma once

#include <sim/front/functional_memory.hpp>
#include <sim/front/interpreter.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

namespace holdfast::sim::test {

inline constexpr std::uint64_t code_base = 0x10000;
inline constexpr std::uint64_t data_base = 0x40000;

inline std::vector<std::byte> bytes_of(std::initializer_list<std::uint32_t> words) {
    std::vector<std::byte> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.begin(), bytes.size());
    return bytes;
}

/// Numbers of registers by their names in the calling convention.
inline constexpr unsigned zero = 0, ra = 1, sp = 2, a0 = 10, a1 = 11, a2 = 12, a3 = 13, a7 = 17;

// Encoders for the forms of instruction that tests are written in.
constexpr std::uint32_t i_form(unsigned opcode, unsigned funct3, unsigned rd, unsigned rs1, int immediate) {
    return static_cast<std::uint32_t>(immediate) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr std::uint32_t r_form(unsigned opcode, unsigned funct3, unsigned funct7, unsigned rd, unsigned rs1,
                               unsigned rs2) {
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr std::uint32_t addi(unsigned rd, unsigned rs1, int immediate) { return i_form(0x13, 0, rd, rs1, immediate); }
constexpr std::uint32_t ld(unsigned rd, unsigned rs1, int offset) { return i_form(0x03, 3, rd, rs1, offset); }
constexpr std::uint32_t sd(unsigned rs2, unsigned rs1, int offset) {
    const auto bits = static_cast<std::uint32_t>(offset);
    return (bits >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | 3u << 12 | (bits & 0x1f) << 7 | 0x23;
}
constexpr std::uint32_t beq(unsigned rs1, unsigned rs2, int distance) {
    const auto bits = static_cast<std::uint32_t>(distance);
    return (bits >> 12 & 1) << 31 | (bits >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 | (bits >> 1 & 0xf) << 8 |
           (bits >> 11 & 1) << 7 | 0x63;
}
constexpr std::uint32_t lr_d(unsigned rd, unsigned rs1) { return r_form(0x2f, 3, 0x02 << 2, rd, rs1, 0); }
constexpr std::uint32_t sc_d(unsigned rd, unsigned rs2, unsigned rs1) {
    return r_form(0x2f, 3, 0x03 << 2, rd, rs1, rs2);
}
constexpr std::uint32_t amoadd_d(unsigned rd, unsigned rs2, unsigned rs1) { return r_form(0x2f, 3, 0, rd, rs1, rs2); }
constexpr std::uint32_t custom_word(custom_operation what, unsigned rs1) {
    return i_form(0x13, 2, 0, rs1, static_cast<int>(what));
}
inline constexpr std::uint32_t ecall_word = 0x00000073;

/// An address space with a page of code that may not be written, and one of data.
inline address_space small_space() {
    address_space space = *address_space::create();
    EXPECT_TRUE(space.map(code_base, 4096, static_cast<permission>(readable | executable)));
    EXPECT_TRUE(space.map(data_base, 4096, static_cast<permission>(readable | writable)));
    return space;
}

/// Code, a hart at its beginning with data_base in a0, and a functional memory.
template <class Observer = no_observer>
class small_machine {
public:
    explicit small_machine(std::initializer_list<std::uint32_t> words) : instructions_(code_base, bytes_of(words)) {
        first.pc = code_base;
        first.registers[a0] = data_base;
    }

    /// Until the hart stops or has executed that many instructions.
    void run(hart& which, std::uint64_t instructions) { loop_.run(which, which.local_time + instructions); }
    void run(std::uint64_t instructions) { run(first, instructions); }

    std::uint64_t word_at(std::uint64_t address) const {
        std::uint64_t value = 0;
        std::memcpy(&value, space.find<8>(address, readable), 8);
        return value;
    }
    void set_word(std::uint64_t address, std::uint64_t value) {
        std::memcpy(space.find<8>(address, writable), &value, 8);
    }

    address_space space = small_space();
    hart first{};
    Observer observer{};
    functional_memory memory{space};

private:
    code instructions_;
    interpreter<functional_memory, Observer> loop_{instructions_, memory, observer};
};

}  // namespace holdfast::sim::test
