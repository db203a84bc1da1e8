#include <holdfast/stm/checkpoint.hpp>

// The offsets are those that checkpoint.hpp asserts.
#if defined(__x86_64__)

asm(R"(
    .text
    .globl  holdfast_stm_save
    .type   holdfast_stm_save, @function
    .balign 16
holdfast_stm_save:
    .cfi_startproc
    endbr64
    movq    %rbx, 0(%rdi)
    movq    %rbp, 8(%rdi)
    movq    %r12, 16(%rdi)
    movq    %r13, 24(%rdi)
    movq    %r14, 32(%rdi)
    movq    %r15, 40(%rdi)
    leaq    8(%rsp), %rdx
    movq    %rdx, 48(%rdi)
    movq    (%rsp), %rdx
    movq    %rdx, 56(%rdi)
    stmxcsr 64(%rdi)
    fnstcw  68(%rdi)
    xorl    %eax, %eax
    ret
    .cfi_endproc
    .size   holdfast_stm_save, . - holdfast_stm_save

    .globl  holdfast_stm_resume
    .type   holdfast_stm_resume, @function
    .balign 16
holdfast_stm_resume:
    .cfi_startproc
    endbr64
    movl    %esi, %eax
    ldmxcsr 64(%rdi)
    fldcw   68(%rdi)
    movq    0(%rdi), %rbx
    movq    8(%rdi), %rbp
    movq    16(%rdi), %r12
    movq    24(%rdi), %r13
    movq    32(%rdi), %r14
    movq    40(%rdi), %r15
    movq    56(%rdi), %rdx
    movq    48(%rdi), %rsp
    jmpq    *%rdx
    .cfi_endproc
    .size   holdfast_stm_resume, . - holdfast_stm_resume
    .section .note.GNU-stack, "", @progbits
    .text
)");

#elif defined(__aarch64__)

asm(R"(
    .text
    .globl  holdfast_stm_save
    .type   holdfast_stm_save, %function
    .balign 16
holdfast_stm_save:
    .cfi_startproc
    stp     x19, x20, [x0, #0]
    stp     x21, x22, [x0, #16]
    stp     x23, x24, [x0, #32]
    stp     x25, x26, [x0, #48]
    stp     x27, x28, [x0, #64]
    stp     x29, x30, [x0, #80]
    mov     x1, sp
    str     x1, [x0, #96]
    stp     d8, d9, [x0, #104]
    stp     d10, d11, [x0, #120]
    stp     d12, d13, [x0, #136]
    stp     d14, d15, [x0, #152]
    mrs     x1, fpcr
    str     x1, [x0, #168]
    mov     w0, #0
    ret
    .cfi_endproc
    .size   holdfast_stm_save, . - holdfast_stm_save

    .globl  holdfast_stm_resume
    .type   holdfast_stm_resume, %function
    .balign 16
holdfast_stm_resume:
    .cfi_startproc
    ldp     x19, x20, [x0, #0]
    ldp     x21, x22, [x0, #16]
    ldp     x23, x24, [x0, #32]
    ldp     x25, x26, [x0, #48]
    ldp     x27, x28, [x0, #64]
    ldp     x29, x30, [x0, #80]
    ldr     x2, [x0, #96]
    mov     sp, x2
    ldp     d8, d9, [x0, #104]
    ldp     d10, d11, [x0, #120]
    ldp     d12, d13, [x0, #136]
    ldp     d14, d15, [x0, #152]
    ldr     x2, [x0, #168]
    msr     fpcr, x2
    mov     w0, w1
    ret
    .cfi_endproc
    .size   holdfast_stm_resume, . - holdfast_stm_resume
    .section .note.GNU-stack, "", %progbits
    .text
)");

#endif
