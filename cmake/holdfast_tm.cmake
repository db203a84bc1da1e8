# Sources with `__transaction_atomic { … }`; docs/guide/atomic-blocks.md says what may stand in a block.

# Flags for a source or target that contains atomic blocks. Correctness depends on the first eight with g++ 12:
#   -fno-code-hoisting, -fno-tree-pre        A block's begin changes no memory in the compiler's eyes, so it moves loads
#                                            before it, or behind an inner block's end without a barrier.
#   -fno-tree-loop-distribute-patterns       A loop that stores or copies words becomes a call of memset or memcpy, too
#                                            late for a barrier.
#   -fno-ipa-sra                             A function that loads through its argument in a block is given the value,
#                                            which its caller has loaded outside of the block.
#   -fno-ipa-modref                          Memory that the function has allocated is loaded without barriers, although
#                                            a function that it calls, and that keeps no pointer, has stored to it.
#   -fno-tree-loop-vectorize                 Masked and gathered words (AVX2) and interleaved ones (aarch64) have no
#                                            barriers. Loops outside of blocks are not vectorized either.
#   --param=tm-max-aggregate-size=0          The code that puts small variables back at a new attempt or a cancel is
#                                            deleted, or destroys the result of the block's begin. With 0 the runtime
#                                            notes and restores them.
#   -fno-ivopts                              A parameter passed by value that a loop changes is not noted.
# The header cannot see flags, hence the definition. Without the ninth the compiler crashes (expand_call_tm): where a
# pointer may be null it puts a trap, which has no form for a block. Optimization at link time drops the tables of
# instrumented functions, and the checked forms of memcpy and its relatives do not compile in a block. The three warnings
# do not understand a begin that returns twice, the sized delete that the compiler declares itself, and that the copy of
# a block without barriers is not run behind the one with them.
set(HOLDFAST_TM_FLAGS -fno-code-hoisting -fno-tree-pre -fno-tree-loop-distribute-patterns -fno-ipa-sra
    -fno-ipa-modref -fno-tree-loop-vectorize --param=tm-max-aggregate-size=0 -fno-ivopts
    -fno-isolate-erroneous-paths-dereference -fgnu-tm -fno-lto -U_FORTIFY_SOURCE -Wno-clobbered
    -Wno-mismatched-new-delete -Wno-use-after-free -DHOLDFAST_TM_FLAGS=2)

# holdfast_find_tm_plugin(found problem): the plugin that refuses or mends what g++ makes wrong in blocks and gives static
# variables of pools sections of their own. It is compiled here, since each version of g++ needs its own, and by a
# compiler for this machine, if that g++ makes code for another one. Where there is none, `found` is "" and `problem`
# says why. The file's name changes with what it is made of: what is compiled with another plugin is compiled again.
function(holdfast_find_tm_plugin found problem)
    set(${found} "" PARENT_SCOPE)
    set(${problem} "" PARENT_SCOPE)
    set(sources "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tm_plugin")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=plugin OUTPUT_VARIABLE headers
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS "${headers}/include/gcc-plugin.h")
        set(${problem} "${CMAKE_CXX_COMPILER} has no headers for plugins (Debian: gcc-12-plugin-dev, or \
gcc-12-plugin-dev-aarch64-linux-gnu and the like for a cross-compiler)" PARENT_SCOPE)
        return()
    endif()
    set(maker "${CMAKE_CXX_COMPILER}")
    if(CMAKE_CROSSCOMPILING)
        find_program(HOLDFAST_CXX_OF_THIS_MACHINE NAMES g++ c++ NO_CMAKE_FIND_ROOT_PATH
                     DOC "A C++ compiler that makes code for this machine")
        set(maker "${HOLDFAST_CXX_OF_THIS_MACHINE}")
        if(NOT maker)
            set(${problem} "no compiler for this machine was found (HOLDFAST_CXX_OF_THIS_MACHINE)" PARENT_SCOPE)
            return()
        endif()
    endif()
    set(made_of "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${maker}")
    file(GLOB parts "${sources}/*")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${parts})
    foreach(part IN LISTS parts)
        file(SHA256 "${part}" part)
        string(APPEND made_of " ${part}")
    endforeach()
    string(SHA256 made_of "${made_of}")
    string(SUBSTRING "${made_of}" 0 12 made_of)
    set(plugin "${CMAKE_BINARY_DIR}/holdfast_tm_plugin_${made_of}.so")
    if(NOT EXISTS "${plugin}")
        execute_process(COMMAND "${maker}" -std=c++17 -O1 -w -fno-rtti -fPIC -shared "-I${headers}/include"
                                "${sources}/plugin.cc" -o "${plugin}.new"
                        RESULT_VARIABLE status ERROR_VARIABLE said)
        if(NOT status EQUAL 0)
            set(${problem} "${sources}/plugin.cc does not compile:\n${said}" PARENT_SCOPE)
            return()
        endif()
        file(RENAME "${plugin}.new" "${plugin}")
    endif()
    set(${found} "${plugin}" PARENT_SCOPE)
endfunction()

# holdfast_tm_options(found): the options of a source with atomic blocks. Without the plugin blocks may be wrong, and
# nothing tells: only who sets HOLDFAST_TM_UNCHECKED gets options without it.
function(holdfast_tm_options found)
    holdfast_find_tm_plugin(plugin problem)
    set(options ${HOLDFAST_TM_FLAGS})
    if(plugin)
        list(APPEND options "-fplugin=${plugin}")
    elseif(HOLDFAST_TM_UNCHECKED)
        list(APPEND options -DHOLDFAST_TM_UNCHECKED)
    else()
        message(FATAL_ERROR "holdfast: atomic blocks need a plugin of g++: ${problem}. With "
                            "-DHOLDFAST_TM_UNCHECKED=ON they are compiled without it; then bit-fields, and structures "
                            "that calls take or return by value, are wrong in blocks, and not refused or mended "
                            "(docs/guide/atomic-blocks.md)")
    endif()
    set(${found} ${options} PARENT_SCOPE)
endfunction()

# Compiles the C++ sources of a target with atomic blocks and links the runtime KIND over the algorithm that the call of
# `function` asks for.
function(holdfast_use_blocks function kind target)
    cmake_parse_arguments(PARSE_ARGV 3 tm "" "ALGORITHM" "")
    if(NOT tm_ALGORITHM)
        set(tm_ALGORITHM value)
    endif()
    set(known value versioned)
    if(kind STREQUAL "itm")
        list(APPEND known hybrid)
    endif()
    if(tm_UNPARSED_ARGUMENTS OR NOT tm_ALGORITHM IN_LIST known)
        list(JOIN known "|" known)
        message(FATAL_ERROR "${function}(${target} [ALGORITHM ${known}]): "
                            "found ${tm_ALGORITHM} ${tm_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT TARGET holdfast::${kind}_${tm_ALGORITHM})
        message(FATAL_ERROR "${function}(${target}): this holdfast was built without atomic blocks, which need g++ and "
                            "x86-64 or aarch64")
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        holdfast_tm_options(options)
        target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
    endif()
    # Not -fgnu-tm: at the link it would add -litm, the compiler's own runtime.
    target_link_libraries(${target} PRIVATE holdfast::${kind}_${tm_ALGORITHM})
endfunction()

# holdfast_target_tm(target [ALGORITHM value|versioned|hybrid]): compiles the C++ sources of `target` with atomic blocks and links
# this library's runtime over the algorithm, `value` unless told. Only g++ can. A program has one runtime: say the same
# algorithm for all targets that end in one program, and give it to the program itself.
function(holdfast_target_tm target)
    holdfast_use_blocks(holdfast_target_tm itm ${target} ${ARGN})
endfunction()

# Beside this file in an installation.
set(HOLDFAST_DNV_LINKER_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/holdfast_dnv.ld")
if(NOT EXISTS "${HOLDFAST_DNV_LINKER_SCRIPT}")
    cmake_path(SET HOLDFAST_DNV_LINKER_SCRIPT NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../holdfast/dnv/holdfast_dnv.ld")
endif()

# holdfast_target_dnv(target [ALGORITHM value|versioned] [LAYOUT file]): the same for a program whose blocks are on a dnv
# pool (holdfast/dnv/dnv.hpp). Its static variables need fixed addresses, so it is not position-independent. `file` is what
# `holdfast pool layout` printed of a pool: the program's static variables are at the places that the pool knows.
function(holdfast_target_dnv target)
    cmake_parse_arguments(PARSE_ARGV 1 dnv "" "LAYOUT" "")
    holdfast_use_blocks(holdfast_target_dnv dnv ${target} ${dnv_UNPARSED_ARGUMENTS})
    set(script "${HOLDFAST_DNV_LINKER_SCRIPT}")
    if(dnv_LAYOUT)
        holdfast_find_tm_plugin(plugin problem)
        if(NOT plugin)
            message(FATAL_ERROR "holdfast_target_dnv(${target} LAYOUT ${dnv_LAYOUT}): only a plugin of g++ gives variables "
                                "the sections that the file names: ${problem}")
        endif()
        cmake_path(ABSOLUTE_PATH dnv_LAYOUT BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE script)
    endif()
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    # Static variables lie in the order of their definitions: a new one behind the old ones.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-toplevel-reorder>")
    target_link_options(${target} PRIVATE -no-pie "LINKER:-T,${script}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()
