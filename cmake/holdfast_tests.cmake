# How tests are declared.

set(HOLDFAST_TEST_LABEL "" CACHE STRING "Build only the tests that have this label (empty: all of them)")
set(HOLDFAST_TIMEOUT_FACTOR 1 CACHE STRING "What a test's TIMEOUT is multiplied by: sanitizers and emulation are slow")
option(HOLDFAST_SOAK "Run tests at full length: sets HOLDFAST_SOAK=1 in their environment" OFF)

# Where a test may put a pool when it has to name an address. ThreadSanitizer keeps everything from
# 0x80_0000_0000 up for itself, AddressSanitizer much of what is below.
set(test_base_address 0x300000000000)
if(HOLDFAST_SANITIZERS MATCHES "thread")
    set(test_base_address 0x4000000000)
endif()

if(CMAKE_CROSSCOMPILING)
    # Debian has no GoogleTest for a cross-compiler's target, but it has its sources.
    set(INSTALL_GTEST OFF)
    add_subdirectory(/usr/src/googletest/googletest googletest EXCLUDE_FROM_ALL SYSTEM)
else()
    find_package(GTest REQUIRED)
    find_package(rapidcheck REQUIRED)
endif()

# holdfast_add_test(name sources... [OBSERVED|EXPLORED|ENGINES] [PROPERTY] [OPTIMIZED] [COMMAND] [ALONE]
#                   [LIBRARIES targets...] [DIRECTORY] [LABELS fast concurrent soak] [TIMEOUT seconds])
#
# One GoogleTest program test_ROOM_name, and one CTest test ROOM.name that runs all its cases. ROOM is the folder's
# name, or HOLDFAST_TEST_ROOM where a folder with several rooms sets it.
#   OBSERVED   links the library with the seam's observer.
#   EXPLORED   links the library that the crash explorer runs.
#   ENGINES    has cases for each engine: compiled with the pools of all engines precompiled.
#   PROPERTY   links RapidCheck, whose headers need it; left out where it does not exist (aarch64).
#   OPTIMIZED  is compiled with HOLDFAST_TEST_OPTIMIZATION, as EXPLORED tests are: it runs for seconds, of which that saves
#              more than the compiler takes for it. All others are compiled without optimization.
#   COMMAND    builds the holdfast command and its programs first and defines HOLDFAST_COMMAND, a string, as its path.
#   DIRECTORY  defines HOLDFAST_TEST_DIRECTORY, a string: the source directory of the room. It makes what is compiled
#              depend on where the project stands, which a compiler cache does not like.
#   ALONE      runs while no other test does: for what measures time.
#   LIBRARIES  what it links besides.
#   LABELS     fast: milliseconds; runs in `make check`, under ASan+UBSan, Clang and qemu as well;
#              concurrent: runs under ThreadSanitizer as well, with its pools at
#              HOLDFAST_TEST_BASE_ADDRESS, since the usual addresses do not exist there; soak: runs in `make soak` only.
#              Without a label it runs in `make test`, once.
#   TIMEOUT    60 seconds unless told; multiplied under sanitizers and emulation and in `make soak`.
# Under sanitizers and emulation HOLDFAST_FEW_PLACES is defined: run on fewer engines; and under sanitizers properties are
# tried in fewer cases.
# The sources also have HOLDFAST_TEST_BASE_ADDRESS, an address that is free in every build.
set(HOLDFAST_TEST_OPTIMIZATION "-O1" CACHE STRING "How test programs are compiled that run for seconds")

# What many tests include, compiled once: holdfast_precompile_test_headers(target set_options optimization headers...),
# where set_options is the function that gives those tests their options.
function(holdfast_precompile_test_headers target set_options optimization)
    holdfast_add_precompiled(${target})
    cmake_language(CALL ${set_options} ${target})
    target_compile_options(${target} PRIVATE ${optimization})
    target_compile_definitions(${target} PRIVATE ${test_definitions})
    target_link_libraries(${target} PRIVATE holdfast GTest::gtest_main)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <atomic> <cstdint> <filesystem>
                              <fstream> <functional> <map> <mutex> <optional> <random> <string> <thread> <vector> ${ARGN})
endfunction()
set(test_definitions HOLDFAST_TEST_BASE_ADDRESS=${test_base_address}ULL)
if(HOLDFAST_SANITIZERS OR CMAKE_CROSSCOMPILING)
    list(APPEND test_definitions HOLDFAST_FEW_PLACES=1)
endif()
holdfast_precompile_test_headers(holdfast_test_headers holdfast_set_options ${HOLDFAST_TEST_OPTIMIZATION})
if(HOLDFAST_TEST_OPTIMIZATION STREQUAL "-O0")
    set(fast_test_headers holdfast_test_headers)
else()
    set(fast_test_headers holdfast_fast_test_headers)
    holdfast_precompile_test_headers(holdfast_fast_test_headers holdfast_set_options -O0)
endif()
holdfast_precompile_test_headers(holdfast_engine_test_headers holdfast_set_options -O0
                                 <holdfast/engine/engine_lists_test.hpp> <holdfast/handle/test_pool.hpp>)
# Under sanitizers what does not run is compiled for its warnings, without their instrumentation and without linking.
if(HOLDFAST_SANITIZERS)
    holdfast_precompile_test_headers(holdfast_checked_test_headers holdfast_set_warnings -O0)
endif()

# How a test of these options is compiled: the compiler takes longer for most tests than they run. A macro: it reads what
# its caller was told.
macro(holdfast_set_test_optimization target)
    set(optimization -O0)
    set(headers ${fast_test_headers})
    if(test_ENGINES)
        set(headers holdfast_engine_test_headers)
    elseif(test_OPTIMIZED OR test_EXPLORED)
        # Of the templates that a test and the explored library both use, the test's copies are taken. Those of a test
        # without optimization would be nearly all, and none of them instrumented.
        set(optimization ${HOLDFAST_TEST_OPTIMIZATION})
        set(headers holdfast_test_headers)
    endif()
    target_compile_options(${target} PRIVATE ${optimization})
    target_precompile_headers(${target} REUSE_FROM ${headers})
endmacro()

# What a test of these options links, and what its sources know. Macros, as they read what their caller was told.
macro(holdfast_set_test_libraries target)
    target_compile_definitions(${target} PRIVATE ${test_definitions})
    if(test_DIRECTORY)
        target_compile_definitions(${target} PRIVATE HOLDFAST_TEST_DIRECTORY="${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    if(test_COMMAND AND HOLDFAST_SANITIZERS)
        target_compile_definitions(${target} PRIVATE HOLDFAST_COMMAND="not linked")
    elseif(test_COMMAND)
        target_compile_definitions(${target} PRIVATE HOLDFAST_COMMAND="$<TARGET_FILE:holdfast_command>")
    endif()
    set(library holdfast)
    if(test_OBSERVED)
        set(library holdfast_observed)
    elseif(test_EXPLORED)
        set(library holdfast_explored)
    endif()
    target_link_libraries(${target} PRIVATE ${test_LIBRARIES} ${library}
                          $<$<BOOL:${test_PROPERTY}>:rapidcheck> GTest::gtest_main)
endmacro()
macro(holdfast_check_test target)
    add_library(${target} OBJECT ${test_UNPARSED_ARGUMENTS})
    holdfast_set_warnings(${target})
    holdfast_check_only(${target})
    holdfast_set_test_libraries(${target})
    target_precompile_headers(${target} REUSE_FROM holdfast_checked_test_headers)
endmacro()

function(holdfast_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "OBSERVED;EXPLORED;ENGINES;PROPERTY;OPTIMIZED;COMMAND;DIRECTORY;ALONE"
                          "TIMEOUT" "LABELS;LIBRARIES")
    foreach(label IN LISTS test_LABELS)
        if(NOT label MATCHES "^(fast|concurrent|soak)$")
            message(FATAL_ERROR "Test ${name}: there is no label '${label}'")
        endif()
    endforeach()
    if(HOLDFAST_TEST_LABEL AND NOT HOLDFAST_TEST_LABEL IN_LIST test_LABELS)
        return()
    endif()
    if(test_PROPERTY AND CMAKE_CROSSCOMPILING)
        message(STATUS "Test ${name} is left out: no RapidCheck for ${CMAKE_SYSTEM_PROCESSOR}")
        return()
    endif()
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME room)
    if(HOLDFAST_TEST_ROOM)
        set(room ${HOLDFAST_TEST_ROOM})
    endif()
    set(target test_${room}_${name})
    if(HOLDFAST_SANITIZERS AND NOT HOLDFAST_TEST_LABEL AND NOT "fast" IN_LIST test_LABELS)
        holdfast_check_test(${target})
        return()
    endif()
    add_executable(${target} ${test_UNPARSED_ARGUMENTS})
    holdfast_set_options(${target})
    holdfast_set_test_optimization(${target})
    holdfast_set_test_libraries(${target})
    if(test_COMMAND)
        add_dependencies(${target} holdfast_programs)
    endif()
    add_test(NAME ${room}.${name} COMMAND ${target})
    holdfast_set_test_properties(${room}.${name} "${test_LABELS}" "${test_TIMEOUT}")
    if(test_PROPERTY AND HOLDFAST_SANITIZERS)
        # RapidCheck's own code, unoptimized and instrumented, takes nearly a second a case.
        set_property(TEST ${room}.${name} APPEND PROPERTY ENVIRONMENT RC_PARAMS=max_success=20)
    endif()
    # A program whose cases were all compiled out would pass without having tested anything.
    set_tests_properties(${room}.${name} PROPERTIES RUN_SERIAL ${test_ALONE}
                         FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

# Labels, timeout and environment of a CTest test, however it was declared.
function(holdfast_set_test_properties name labels timeout)
    if(NOT timeout)
        set(timeout 60)
    endif()
    # What may take longest begins first, until it is known what it takes: or the last one has the machine to itself.
    set_tests_properties(${name} PROPERTIES COST ${timeout})
    math(EXPR timeout "${timeout} * ${HOLDFAST_TIMEOUT_FACTOR}")
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
    if(HOLDFAST_SOAK)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT HOLDFAST_SOAK=1)
    endif()
endfunction()
