// The environment that the published RISC-V tests are compiled against here: a program of user level whose exit status
// is the number of the case that failed, and 0 when all passed.
#pragma once

#define TESTNUM gp

#define RVTEST_RV64U
#define RVTEST_RV64UF
#define RVTEST_RV32U
#define RVTEST_RV32UF

#define RVTEST_CODE_BEGIN \
    .text;                \
    .globl _start;        \
    _start:               \
    li TESTNUM, 0;
#define RVTEST_CODE_END

#define RVTEST_EXIT_GROUP 94
#define RVTEST_PASS             \
    li a0, 0;                   \
    li a7, RVTEST_EXIT_GROUP;   \
    ecall;
#define RVTEST_FAIL             \
    mv a0, TESTNUM;             \
    li a7, RVTEST_EXIT_GROUP;   \
    ecall;

#define EXTRA_DATA
#define RVTEST_DATA_BEGIN EXTRA_DATA
#define RVTEST_DATA_END
