// Branches and jumps, the compressed instructions, the registers of control and status.
#include <sim/guest/instructions.hpp>

namespace {

using namespace holdfast::guest;

#define BRANCH(name) \
    report_pairs(#name, [](std::uint64_t a, std::uint64_t b) { \
        std::uint64_t result; \
        asm volatile("li %0, 1\n\t" #name " %1, %2, 1f\n\tli %0, 0\n1:" : "=&r"(result) : "r"(a), "r"(b)); \
        return result; \
    })
#define COMPRESSED_BRANCH(name) \
    report_each(#name, [](std::uint64_t a) { \
        register std::uint64_t in_a5 asm("a5") = a; \
        std::uint64_t result; \
        asm volatile("li %0, 1\n\t" #name " a5, 1f\n\tli %0, 0\n1:" : "=&r"(result) : "r"(in_a5)); \
        return result; \
    })
/// An instruction that changes a4, with a5 as another operand.
#define COMPRESSED(text) \
    report_pairs(text, [](std::uint64_t a, std::uint64_t b) { \
        register std::uint64_t in_a4 asm("a4") = a; \
        register std::uint64_t in_a5 asm("a5") = b; \
        asm volatile(text : "+r"(in_a4) : "r"(in_a5) : "memory", "t0", "fa4"); \
        return in_a4; \
    })
#define CSR(text, destination) \
    report_each(text, [](std::uint64_t a) { \
        std::uint64_t old, after; \
        asm volatile("fscsr x0, %2\n\t" text "\n\tfrcsr %1" : "=&r"(old), "=&r"(after) : "r"(a & 0xff)); \
        return (destination ? old : 0) << 32 | after; \
    })

std::uint64_t places[16];

void report_jumps() {
    std::uint64_t first, second, link;
    asm volatile("jal %2, 1f\n\tli %0, 3\n1:\tli %0, 5\n\tla %1, 2f\n\tjalr %1, 0(%1)\n\tli %0, 7\n2:"
                 : "=&r"(first), "=&r"(second), "=&r"(link));
    line().add("jal ").add_hexadecimal(link).add(" ").add_hexadecimal(first).add(" ").add_hexadecimal(second).write();
    asm volatile("la t0, 1f+1\n\tjr t0\n\tli %0, 3\n1:\tli %0, 5\n\tj 2f\n\tli %0, 7\n2:" : "=&r"(first) : : "t0");
    line().add("jr ").add_hexadecimal(first).write();
    asm volatile("la t0, 1f\n\tc.jalr t0\n\tli %0, 3\n1:\tmv %0, ra\n\tla t0, 2f\n\tc.jr t0\n\tli %0, 7\n2:"
                 : "=&r"(first) : : "t0", "ra");
    line().add("c.jalr ").add_hexadecimal(first).write();
}

void report_compressed() {
    COMPRESSED("c.addi a4, 1"), COMPRESSED("c.addi a4, -32"), COMPRESSED("c.addiw a4, 31");
    COMPRESSED("c.addiw a4, -1");
    COMPRESSED("c.li a4, -32"), COMPRESSED("c.li a4, 31"), COMPRESSED("c.lui a4, 1"), COMPRESSED("c.lui a4, 0xfffe0");
    COMPRESSED("c.lui a4, 31"), COMPRESSED("c.srli a4, 1"), COMPRESSED("c.srli a4, 63"), COMPRESSED("c.srai a4, 33");
    COMPRESSED("c.andi a4, -32"), COMPRESSED("c.andi a4, 21"), COMPRESSED("c.sub a4, a5"), COMPRESSED("c.xor a4, a5");
    COMPRESSED("c.or a4, a5"), COMPRESSED("c.and a4, a5"), COMPRESSED("c.subw a4, a5"), COMPRESSED("c.addw a4, a5");
    COMPRESSED("c.slli a4, 1"), COMPRESSED("c.slli a4, 63"), COMPRESSED("c.mv a4, a5"), COMPRESSED("c.add a4, a5");
    COMPRESSED("c.nop"), COMPRESSED("mv t0, sp\n\tc.addi4spn a4, sp, 1020\n\tsub a4, a4, sp");
    COMPRESSED("mv t0, sp\n\tc.addi16sp sp, -512\n\tsub a4, t0, sp\n\tmv sp, t0");
    COMPRESSED("mv t0, sp\n\tc.addi16sp sp, 496\n\tsub a4, t0, sp\n\tmv sp, t0");
}

#define COMPRESSED_MEMORY(text) \
    report_pairs(text, [](std::uint64_t a, std::uint64_t b) { \
        register std::uint64_t in_a3 asm("a3") = reinterpret_cast<std::uintptr_t>(places); \
        register std::uint64_t in_a4 asm("a4") = a; \
        register std::uint64_t in_a5 asm("a5") = b; \
        asm volatile(text : "+r"(in_a4) : "r"(in_a3), "r"(in_a5) : "memory", "fa4"); \
        return in_a4; \
    })
/// Below the stack pointer nothing is touched: the frame is made first.
#define COMPRESSED_STACK(text) COMPRESSED("addi sp, sp, -512\n\t" text "\n\taddi sp, sp, 512")

void report_compressed_memory() {
    COMPRESSED_MEMORY("c.sd a5, 120(a3)\n\tc.ld a4, 120(a3)");
    COMPRESSED_MEMORY("c.sw a5, 124(a3)\n\tc.lw a4, 124(a3)");
    COMPRESSED_MEMORY("c.sw a5, 64(a3)\n\tc.lw a4, 64(a3)");
    COMPRESSED_MEMORY("c.sd a5, 64(a3)\n\tc.fld fa4, 64(a3)\n\tc.fsd fa4, 8(a3)\n\tc.ld a4, 8(a3)");
    COMPRESSED_STACK("c.sdsp a5, 504(sp)\n\tc.ldsp a4, 504(sp)");
    COMPRESSED_STACK("c.sdsp a5, 64(sp)\n\tc.ldsp a4, 64(sp)");
    COMPRESSED_STACK("c.swsp a5, 252(sp)\n\tc.lwsp a4, 252(sp)");
    COMPRESSED_STACK("c.swsp a5, 64(sp)\n\tc.lwsp a4, 64(sp)");
    COMPRESSED_STACK("c.sdsp a5, 320(sp)\n\tc.fldsp fa4, 320(sp)\n\tc.fsdsp fa4, 264(sp)\n\tc.ldsp a4, 264(sp)");
}

void report_registers_of_control() {
    CSR("fscsr %0, %2", true), CSR("frcsr %0", true), CSR("fsrm %0, %2", true), CSR("frrm %0", true);
    CSR("fsflags %0, %2", true), CSR("frflags %0", true), CSR("csrs fcsr, %2", false), CSR("csrc fcsr, %2", false);
    CSR("csrrs %0, fflags, %2", true), CSR("csrrc %0, frm, %2", true), CSR("csrrwi %0, fcsr, 21", true);
    CSR("csrrsi %0, frm, 3", true), CSR("csrrci %0, fflags, 9", true), CSR("csrrsi %0, fcsr, 0", true);
}

}  // namespace

int main(int, char**) {
    BRANCH(beq), BRANCH(bne), BRANCH(blt), BRANCH(bge), BRANCH(bltu), BRANCH(bgeu);
    COMPRESSED_BRANCH(c.beqz), COMPRESSED_BRANCH(c.bnez);
    report_jumps();
    report_compressed();
    report_compressed_memory();
    report_registers_of_control();
    return 0;
}
