// Every instruction of I and M that computes.
#include <sim/guest/instructions.hpp>

namespace {

using namespace holdfast::guest;

#define REGISTERS(name) \
    report_pairs(#name, [](std::uint64_t a, std::uint64_t b) { \
        std::uint64_t result; \
        asm volatile(#name " %0, %1, %2" : "=r"(result) : "r"(a), "r"(b)); \
        return result; \
    })
#define IMMEDIATE(name, immediate) \
    report_each(#name " " #immediate, [](std::uint64_t a) { \
        std::uint64_t result; \
        asm volatile(#name " %0, %1, " #immediate : "=r"(result) : "r"(a)); \
        return result; \
    })
#define IMMEDIATES(name) \
    IMMEDIATE(name, 0), IMMEDIATE(name, 1), IMMEDIATE(name, -1), IMMEDIATE(name, 2047), IMMEDIATE(name, -2048)
#define SHIFTS_OF_WORDS(name) IMMEDIATE(name, 0), IMMEDIATE(name, 1), IMMEDIATE(name, 17), IMMEDIATE(name, 31)
#define SHIFTS(name) SHIFTS_OF_WORDS(name), IMMEDIATE(name, 32), IMMEDIATE(name, 63)
#define UPPER(name, immediate) \
    report_each(#name " " #immediate, [](std::uint64_t) { \
        std::uint64_t result; \
        asm volatile(#name " %0, " #immediate : "=r"(result)); \
        return result; \
    })

void report_registers() {
    REGISTERS(add), REGISTERS(sub), REGISTERS(sll), REGISTERS(slt), REGISTERS(sltu), REGISTERS(xor), REGISTERS(srl);
    REGISTERS(sra), REGISTERS(or), REGISTERS(and), REGISTERS(addw), REGISTERS(subw), REGISTERS(sllw), REGISTERS(srlw);
    REGISTERS(sraw);
}
void report_multiplications() {
    REGISTERS(mul), REGISTERS(mulh), REGISTERS(mulhsu), REGISTERS(mulhu), REGISTERS(mulw), REGISTERS(div);
    REGISTERS(divu), REGISTERS(rem), REGISTERS(remu), REGISTERS(divw), REGISTERS(divuw), REGISTERS(remw);
    REGISTERS(remuw);
}
void report_immediates() {
    IMMEDIATES(addi), IMMEDIATES(slti), IMMEDIATES(sltiu), IMMEDIATES(xori), IMMEDIATES(ori), IMMEDIATES(andi);
    IMMEDIATES(addiw), SHIFTS(slli), SHIFTS(srli), SHIFTS(srai), SHIFTS_OF_WORDS(slliw), SHIFTS_OF_WORDS(srliw);
    SHIFTS_OF_WORDS(sraiw), UPPER(lui, 0), UPPER(lui, 1), UPPER(lui, 0x7ffff), UPPER(lui, 0x80000), UPPER(lui, 0xfffff);
    UPPER(auipc, 0), UPPER(auipc, 1), UPPER(auipc, 0x80000);
}

/// What is written to x0 is lost.
void report_x0() {
    std::uint64_t result;
    asm volatile("add x0, %1, %1\n\tsub %0, x0, x0" : "=r"(result) : "r"(77L));
    line().add("x0 ").add_hexadecimal(result).write();
}

}  // namespace

int main(int, char**) {
    report_registers();
    report_multiplications();
    report_immediates();
    report_x0();
    return 0;
}
