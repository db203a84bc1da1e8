// _ITM_beginTransaction: saves what a callee must keep, where a restart or a cancel finds it, and returns as often as
// the block is begun, each time with the action in the first result register.
#pragma once

#include <holdfast/itm/state.hpp>
#include <holdfast/stm/checkpoint.hpp>

#include <cstddef>

namespace holdfast::itm::detail {

// The numbers in the assembly below.
#if defined(__x86_64__)
static_assert(offsetof(stm::checkpoint, rbx) == 0 && offsetof(stm::checkpoint, rbp) == 8);
static_assert(offsetof(stm::checkpoint, r12) == 16 && offsetof(stm::checkpoint, r13) == 24);
static_assert(offsetof(stm::checkpoint, r14) == 32 && offsetof(stm::checkpoint, r15) == 40);
static_assert(offsetof(stm::checkpoint, rsp) == 48 && offsetof(stm::checkpoint, rip) == 56);
static_assert(offsetof(stm::checkpoint, mxcsr) == 64 && offsetof(stm::checkpoint, x87_control) == 68);
static_assert(sizeof(stm::checkpoint) == 72 && offsetof(thread_state, depth) == 72);
#elif defined(__aarch64__)
static_assert(offsetof(stm::checkpoint, x19_to_x30) == 0 && offsetof(stm::checkpoint, sp) == 96);
static_assert(offsetof(stm::checkpoint, d8_to_d15) == 104);
static_assert(offsetof(stm::checkpoint, fpcr) == 168);
static_assert(sizeof(stm::checkpoint) == 176 && offsetof(thread_state, depth) == 176);
#endif

}  // namespace holdfast::itm::detail

// The registers of the outermost block go straight to the thread's state: a copy would load with other widths than were
// stored, and wait. rip and rsp are those behind the return from here.
#if defined(__x86_64__)
#define HOLDFAST_ITM_SAVE_REGISTERS(to, return_address, stack_pointer) \
    "  movq %rbx, (%" to ")\n"                                         \
    "  movq %rbp, 8(%" to ")\n"                                        \
    "  movq %r12, 16(%" to ")\n"                                       \
    "  movq %r13, 24(%" to ")\n"                                       \
    "  movq %r14, 32(%" to ")\n"                                       \
    "  movq %r15, 40(%" to ")\n"                                       \
    "  movq " return_address "(%rsp), %rax\n"                          \
    "  leaq " stack_pointer "(%rsp), %rcx\n"                           \
    "  movq %rcx, 48(%" to ")\n"                                       \
    "  movq %rax, 56(%" to ")\n"                                       \
    "  stmxcsr 64(%" to ")\n"                                          \
    "  fnstcw 68(%" to ")\n"
#define HOLDFAST_ITM_BEGIN_ASSEMBLY                                 \
    asm(".text\n"                                                   \
        ".p2align 4\n"                                              \
        ".globl _ITM_beginTransaction\n"                            \
        ".type _ITM_beginTransaction, @function\n"                  \
        "_ITM_beginTransaction:\n"                                  \
        "  .cfi_startproc\n"                                        \
        "  movq holdfast_itm_state@gottpoff(%rip), %rsi\n"          \
        "  addq %fs:0, %rsi\n"                                      \
        "  cmpl $0, 72(%rsi)\n"                                     \
        "  jne 1f\n"                                                \
        HOLDFAST_ITM_SAVE_REGISTERS("rsi", "0", "8")                \
        "  jmp holdfast_itm_begin\n"                                \
        "1:\n"                                                      \
        "  subq $72, %rsp\n"                                        \
        "  .cfi_adjust_cfa_offset 72\n"                             \
        HOLDFAST_ITM_SAVE_REGISTERS("rsp", "72", "80")              \
        "  movq %rsp, %rdx\n"                                       \
        "  call holdfast_itm_begin_inner\n"                         \
        "  addq $72, %rsp\n"                                        \
        "  .cfi_adjust_cfa_offset -72\n"                            \
        "  ret\n"                                                   \
        "  .cfi_endproc\n"                                          \
        ".size _ITM_beginTransaction, .-_ITM_beginTransaction\n");
#elif defined(__aarch64__)
#define HOLDFAST_ITM_SAVE_REGISTERS(to)  \
    "  stp x19, x20, [" to "]\n"         \
    "  stp x21, x22, [" to ", 16]\n"     \
    "  stp x23, x24, [" to ", 32]\n"     \
    "  stp x25, x26, [" to ", 48]\n"     \
    "  stp x27, x28, [" to ", 64]\n"     \
    "  stp x29, x30, [" to ", 80]\n"     \
    "  str x9, [" to ", 96]\n"           \
    "  stp d8, d9, [" to ", 104]\n"      \
    "  stp d10, d11, [" to ", 120]\n"    \
    "  stp d12, d13, [" to ", 136]\n"    \
    "  stp d14, d15, [" to ", 152]\n"    \
    "  mrs x11, fpcr\n"                  \
    "  str x11, [" to ", 168]\n"
#define HOLDFAST_ITM_BEGIN_ASSEMBLY                                    \
    asm(".text\n"                                                      \
        ".p2align 4\n"                                                 \
        ".globl _ITM_beginTransaction\n"                               \
        ".type _ITM_beginTransaction, %function\n"                     \
        "_ITM_beginTransaction:\n"                                     \
        "  .cfi_startproc\n"                                           \
        "  adrp x1, :gottprel:holdfast_itm_state\n"                    \
        "  ldr x1, [x1, :gottprel_lo12:holdfast_itm_state]\n"          \
        "  mrs x10, tpidr_el0\n"                                       \
        "  add x1, x1, x10\n"                                          \
        "  mov x9, sp\n"                                               \
        "  ldr w11, [x1, 176]\n"                                       \
        "  cbnz w11, 1f\n"                                             \
        HOLDFAST_ITM_SAVE_REGISTERS("x1")                              \
        "  b holdfast_itm_begin\n"                                     \
        "1:\n"                                                         \
        "  sub sp, sp, 192\n"                                          \
        "  .cfi_adjust_cfa_offset 192\n"                               \
        "  str x30, [sp, 176]\n"                                       \
        "  .cfi_offset 30, -16\n"                                      \
        HOLDFAST_ITM_SAVE_REGISTERS("sp")                              \
        "  mov x2, sp\n"                                               \
        "  bl holdfast_itm_begin_inner\n"                              \
        "  ldr x30, [sp, 176]\n"                                       \
        "  add sp, sp, 192\n"                                          \
        "  .cfi_adjust_cfa_offset -192\n"                              \
        "  ret\n"                                                      \
        "  .cfi_endproc\n"                                             \
        ".size _ITM_beginTransaction, .-_ITM_beginTransaction\n");
#else
#error "holdfast/itm knows x86-64 and aarch64"
#endif
