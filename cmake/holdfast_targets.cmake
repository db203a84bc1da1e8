# The library and what every target of this project has in common: language level, warnings,
# sanitizers. Rooms add their sources by holdfast_add_sources.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

option(HOLDFAST_WARNINGS_ARE_ERRORS "Stop at the first warning" ${PROJECT_IS_TOP_LEVEL})
set(HOLDFAST_SANITIZERS "" CACHE STRING "Value for -fsanitize=, such as address,undefined")
option(HOLDFAST_FUZZER "Compile the library for libFuzzer, and its target: needs clang++ and sanitizers" OFF)

find_package(Threads REQUIRED)

# Compiles through ccache where it is installed, so that a second clone on this machine compiles little. What is compiled
# must not depend on where the clone stands then.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(HOLDFAST_CCACHE ccache)
    if(HOLDFAST_CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
            "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${HOLDFAST_CCACHE}")
    endif()
endif()

# Warnings for one target of this project; never passed on to users of the library.
function(holdfast_set_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
    # g++ 12 sees overlapping copies in std::string's operator+ (GCC bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    # UBSan's checks of shifts make g++ 12 see conversions that are not in the source.
    if(NOT (HOLDFAST_SANITIZERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
        target_compile_options(${target} PRIVATE -Wsign-conversion)
    endif()
    if(HOLDFAST_WARNINGS_ARE_ERRORS)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

# The same and sanitizers.
function(holdfast_set_options target)
    holdfast_set_warnings(${target})
    if(HOLDFAST_SANITIZERS)
        target_compile_options(${target} PRIVATE -fsanitize=${HOLDFAST_SANITIZERS} -fno-sanitize-recover=all
                               -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=${HOLDFAST_SANITIZERS})
    endif()
endfunction()

# holdfast_check_only(target): for objects that nothing links. clang reads them for its warnings and generates no code.
function(holdfast_check_only target)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        return()
    endif()
    set(launcher "${PROJECT_SOURCE_DIR}/cmake/only_check.sh")
    if(HOLDFAST_CCACHE)
        # ccache starts it when it does not know the answer. It must not take these answers for objects.
        set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_PREFIX=${launcher}" ${CMAKE_CXX_COMPILER_LAUNCHER})
        target_compile_definitions(${target} PRIVATE HOLDFAST_CHECKED_ONLY=1)
    endif()
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
endfunction()

# holdfast_add_release_executable(target sources... [COMPONENT component]): an executable, which `component` installs. No
# sanitizer's stage runs it: there its sources are checked alone.
function(holdfast_add_release_executable target)
    cmake_parse_arguments(PARSE_ARGV 1 executable "" "COMPONENT" "")
    if(HOLDFAST_SANITIZERS)
        add_library(${target} OBJECT ${executable_UNPARSED_ARGUMENTS})
        holdfast_check_only(${target})
        return()
    endif()
    add_executable(${target} ${executable_UNPARSED_ARGUMENTS})
    if(executable_COMPONENT)
        install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${executable_COMPONENT})
    endif()
endfunction()

# holdfast_add_precompiled(target): a target for precompiled headers, which others reuse. It must have a source.
function(holdfast_add_precompiled target)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL "${source}")
    # By #pragma once a compiler knows headers again by what they held, comments too, while ccache takes two for the same
    # that differ in comments only. Here it must ask the headers themselves; under a name of its own, as answers that it
    # already has may be the wrong ones.
    if(HOLDFAST_CCACHE)
        set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
            "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;CCACHE_NAMESPACE=precompiled;${CMAKE_CXX_COMPILER_LAUNCHER}")
    endif()
endfunction()

# Standard headers, compiled once: nearly every source of the library includes them, and they take a third of a
# compiler's time. The compiler does not notice a source that lacks one of them; tests/tidy.py does.
set(HOLDFAST_STANDARD_HEADERS <atomic> <cstddef> <cstdint> <cstring> <memory> <optional> <span> <string> <string_view>
    <type_traits> <utility> <vector>)
# holdfast_precompile_standard_headers(target [REUSE_FROM other])
function(holdfast_precompile_standard_headers target)
    if(CMAKE_UNITY_BUILD OR HOLDFAST_ONLY_LIBRARY)
        return()
    endif()
    # Behind them g++ 12 sees std::string overflow where it inserts one; holdfast_explored has these warnings.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    endif()
    if(ARGN)
        target_precompile_headers(${target} ${ARGN})
    else()
        target_precompile_headers(${target} PRIVATE ${HOLDFAST_STANDARD_HEADERS})
    endif()
endfunction()

# `holdfast` is what programs link. `holdfast_observed` is the same sources with the seam's observer
# compiled in, for tests; `holdfast_explored` has also a call before each load and store, which the
# crash explorer answers. Both are built only when something links them.
set(HOLDFAST_VARIANTS holdfast holdfast_observed holdfast_explored)
# The sanitizer's calls without the sanitizer: the explorer brings its own answers, also to memcpy and its
# like, which must stay calls therefore.
set(HOLDFAST_INSTRUMENTATION -fsanitize=thread -fno-builtin $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
# Those by which the standard library copies are no calls, whatever -fno-builtin says: where a size is constant they
# become moves that nobody instruments.
list(APPEND HOLDFAST_INSTRUMENTATION "SHELL:-include string.h")
foreach(function memcpy memmove memset memcmp memchr strlen)
    list(APPEND HOLDFAST_INSTRUMENTATION -D__builtin_${function}=${function})
endforeach()
function(holdfast_add_library)
    add_library(holdfast STATIC)
    add_library(holdfast::holdfast ALIAS holdfast)
    add_library(holdfast_observed STATIC EXCLUDE_FROM_ALL)
    target_compile_definitions(holdfast_observed PUBLIC HOLDFAST_OBSERVED=1)
    add_library(holdfast_explored STATIC EXCLUDE_FROM_ALL)
    target_compile_definitions(holdfast_explored PUBLIC HOLDFAST_OBSERVED=1)
    target_compile_options(holdfast_explored PRIVATE ${HOLDFAST_INSTRUMENTATION})
    foreach(target IN LISTS HOLDFAST_VARIANTS)
        holdfast_set_options(${target})
        target_compile_features(${target} PUBLIC cxx_std_20)
        target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/holdfast/detail>)
        target_link_libraries(${target} PUBLIC Threads::Threads)
        # Inline functions have assertions, too: the library and what links it agree (holdfast/base/assertion.hpp).
        if(HOLDFAST_SANITIZERS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
            target_compile_definitions(${target} PUBLIC HOLDFAST_CHECKED=1)
        endif()
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endforeach()
    # The fuzzer follows the library's branches alone; in tests, which are most of the code, it would follow nothing.
    if(HOLDFAST_FUZZER)
        target_compile_options(holdfast PRIVATE -fsanitize=fuzzer-no-link)
        target_link_options(holdfast PUBLIC -fsanitize=fuzzer-no-link)
    endif()
    # Tests count what it does and take no times.
    target_compile_options(holdfast_observed PRIVATE $<$<CONFIG:Release>:-O1>)
    holdfast_precompile_standard_headers(holdfast)
    # Compiled many times for every change.
    set_target_properties(holdfast_observed holdfast_explored PROPERTIES UNITY_BUILD ON)
endfunction()

# holdfast_add_sources(a.cpp b.cpp): sources of the room whose CMakeLists.txt calls it.
function(holdfast_add_sources)
    foreach(source IN LISTS ARGN)
        set(path "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
        foreach(target IN LISTS HOLDFAST_VARIANTS)
            target_sources(${target} PRIVATE "${path}")
        endforeach()
    endforeach()
endfunction()

# holdfast_set_source_flags(a.cpp -mflag...): flags for one source of the room, in both libraries.
function(holdfast_set_source_flags source)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${HOLDFAST_VARIANTS}
        PROPERTIES COMPILE_OPTIONS "${ARGN}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# In a build of the library alone a room's tests are not there at all; holdfast_tests replaces this.
function(holdfast_add_test)
endfunction()
