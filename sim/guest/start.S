# Where a guest program begins, and where its threads do.
    .text
    .globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    mv a0, sp                   # the arguments
    # A stack of our own: the one that came depends on the environment, and with it every address of a local.
    la sp, first_stack_end
    li ra, 0
    call guest_start

# long start_hart(flags, stack, parent_number, thread_pointer, child_number, function, argument)
# The clone system call for a thread that runs function(argument) on the new stack and exits.
    .globl start_hart
start_hart:
    addi a1, a1, -16
    sd a5, 0(a1)
    sd a6, 8(a1)
    li a7, 220                  # clone
    ecall
    beqz a0, 1f
    ret
1:  ld a5, 0(sp)
    ld a0, 8(sp)
    li ra, 0
    jalr a5
    li a0, 0
    li a7, 93                   # exit, of this thread
    ecall

    .bss
    .balign 16
    .space 65536
first_stack_end:
