# Sources with `__transaction_atomic { … }`; docs/guide/atomic-blocks.md says what may stand in a block.

# Flags for a source or target that contains atomic blocks. The first two are what correctness depends on: to g++ 12's
# partial redundancy elimination the begin of a block changes no memory, so it moves loads of a block before it, or, behind
# an inner block's end, puts loads of the outer one that no barrier is made of. The header cannot see such flags, hence the
# definition. The two warnings do not understand a begin that returns twice, and the sized delete that the compiler
# declares itself.
set(HOLDFAST_TM_OPTIONS -fno-code-hoisting -fno-tree-pre -fgnu-tm -Wno-clobbered -Wno-mismatched-new-delete)
set(HOLDFAST_TM_DEFINITIONS HOLDFAST_TM_FLAGS=1)

# holdfast_target_tm(target [ALGORITHM value|versioned]): compiles the C++ sources of `target` with atomic blocks and links
# this library's runtime over the algorithm, `value` unless told. Only g++ can. A program has one runtime: say the same
# algorithm for all targets that end in one program, and give it to the program itself.
function(holdfast_target_tm target)
    cmake_parse_arguments(PARSE_ARGV 1 tm "" "ALGORITHM" "")
    if(NOT tm_ALGORITHM)
        set(tm_ALGORITHM value)
    endif()
    if(tm_UNPARSED_ARGUMENTS OR NOT tm_ALGORITHM MATCHES "^(value|versioned)$")
        message(FATAL_ERROR "holdfast_target_tm(${target} [ALGORITHM value|versioned]): "
                            "found ${tm_ALGORITHM} ${tm_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT TARGET holdfast::itm_${tm_ALGORITHM})
        message(FATAL_ERROR "holdfast_target_tm(${target}): this holdfast was built without atomic blocks, which need g++ "
                            "and x86-64 or aarch64")
    endif()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${HOLDFAST_TM_OPTIONS}>")
    target_compile_definitions(${target} PRIVATE ${HOLDFAST_TM_DEFINITIONS})
    # Not -fgnu-tm: at the link it would add -litm, the compiler's own runtime.
    target_link_libraries(${target} PRIVATE holdfast::itm_${tm_ALGORITHM})
endfunction()
