# The command, the examples, and the packages only they need.

# Cross-compilers have none of those packages. Under sanitizers programs are checked for warnings and not linked.
option(HOLDFAST_PROGRAMS "Build the command and the benchmarks" ON)
set(HOLDFAST_COMMAND_DIRECTORY "${PROJECT_BINARY_DIR}/bin" CACHE PATH "Where the holdfast command is left")

# The target whose headers of those packages, compiled once, the command and the benchmarks reuse.
function(holdfast_precompile_command_headers)
    holdfast_add_precompiled(holdfast_command_headers)
    holdfast_set_warnings(holdfast_command_headers)
    target_link_libraries(holdfast_command_headers PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt)
    target_precompile_headers(holdfast_command_headers PRIVATE <CLI/CLI.hpp> <nlohmann/json.hpp> <fmt/format.h>)
endfunction()
if(HOLDFAST_PROGRAMS)
    find_package(CLI11 REQUIRED)
    find_package(nlohmann_json REQUIRED)
    find_package(fmt REQUIRED)
    holdfast_precompile_command_headers()
endif()

# Options of what reads arguments and prints: no optimization, several sources compiled together.
function(holdfast_set_program_options target)
    holdfast_set_warnings(${target})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(${target} REUSE_FROM holdfast_command_headers)
    target_link_libraries(${target} PRIVATE holdfast CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
endfunction()

# holdfast_add_program(target name COMPONENT component sources...): a program that stands beside the `holdfast` command,
# or is it. That one's target is holdfast_command, since `holdfast` is the library.
function(holdfast_add_program target name)
    holdfast_add_release_executable(${target} ${ARGN})
    holdfast_set_program_options(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY "${HOLDFAST_COMMAND_DIRECTORY}")
endfunction()

# holdfast_find_rivals(): the libraries that benchmarks are measured against, as the imported
# targets PkgConfig::libpmemobj, PkgConfig::lmdb, PkgConfig::sqlite3 and tsl::robin_map. A macro, so
# that they are visible in the folder that calls it and nowhere else.
macro(holdfast_find_rivals)
    find_package(tsl-robin-map REQUIRED)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(libpmemobj REQUIRED IMPORTED_TARGET libpmemobj)
    pkg_check_modules(lmdb REQUIRED IMPORTED_TARGET lmdb)
    pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
endmacro()

# holdfast_add_example(name sources... [LABELS ...] [TIMEOUT seconds]): a program of examples/, built
# and, as the CTest test example.name, run without arguments in an empty directory.
function(holdfast_add_example name)
    cmake_parse_arguments(PARSE_ARGV 1 example "" "TIMEOUT" "LABELS")
    if(HOLDFAST_TEST_LABEL AND NOT HOLDFAST_TEST_LABEL IN_LIST example_LABELS)
        return()
    endif()
    holdfast_add_release_executable(example_${name} ${example_UNPARSED_ARGUMENTS})
    holdfast_set_warnings(example_${name})
    target_link_libraries(example_${name} PRIVATE holdfast)
    if(HOLDFAST_SANITIZERS)
        return()
    endif()
    add_test(NAME example.${name}
             COMMAND "${PROJECT_SOURCE_DIR}/tests/in_empty_directory.sh" $<TARGET_FILE:example_${name}>)
    holdfast_set_test_properties(example.${name} "${example_LABELS}" "${example_TIMEOUT}")
endfunction()
