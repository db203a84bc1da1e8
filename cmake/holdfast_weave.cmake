# Classes with the attribute [[NVM::transactional]], woven by AspectC++; docs/guide/weaving.md says which.
#
# HOLDFAST_CAN_WEAVE  whether the tools are there: the weaver (Debian: aspectc++), a clang++ that looks at what is to be
#                     woven, and Python. Without them the function below fails and everything else is as ever.
find_program(HOLDFAST_WEAVER ag++ DOC "AspectC++'s ag++")
find_program(HOLDFAST_WEAVER_CLANG NAMES clang++-19 clang++ DOC "The clang++ that checks woven classes")
mark_as_advanced(HOLDFAST_WEAVER HOLDFAST_WEAVER_CLANG)
if(NOT TARGET Python3::Interpreter)
    find_package(Python3 QUIET COMPONENTS Interpreter)
endif()
set(HOLDFAST_CAN_WEAVE OFF)
if(HOLDFAST_WEAVER AND HOLDFAST_WEAVER_CLANG AND Python3_Interpreter_FOUND)
    set(HOLDFAST_CAN_WEAVE ON)
endif()

# weave.py and the aspects: in the repository, or beside this file in an installation.
set(HOLDFAST_WEAVE_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/weave")
if(NOT EXISTS "${HOLDFAST_WEAVE_DIRECTORY}/weave.py")
    cmake_path(SET HOLDFAST_WEAVE_DIRECTORY NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../aspect/weave")
endif()

# holdfast_compiler_flags(variable target): the flags that decide what the preprocessor sees, beside directories and
# definitions: those of the build type, and those of `target` so far that are written without generator expressions.
function(holdfast_compiler_flags variable target)
    separate_arguments(flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS}")
    foreach(configuration IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
        string(TOUPPER "${configuration}" upper)
        separate_arguments(of_type NATIVE_COMMAND "${CMAKE_CXX_FLAGS_${upper}}")
        if(of_type)
            list(APPEND flags "$<$<CONFIG:${configuration}>:${of_type}>")
        endif()
    endforeach()
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(options)
        list(FILTER options INCLUDE REGEX "^-([DUOfm]|std=)")
        list(FILTER options EXCLUDE REGEX "[$]<|>")
        list(APPEND flags ${options})
    endif()
    set(standard "$<TARGET_PROPERTY:${target},CXX_STANDARD>")
    set(extensions "$<TARGET_PROPERTY:${target},CXX_EXTENSIONS>")
    set(dialect "$<IF:$<OR:$<STREQUAL:${extensions},>,$<BOOL:${extensions}>>,gnu,c>")
    list(APPEND flags "-std=${dialect}++$<IF:$<BOOL:${standard}>,${standard},20>")
    set(${variable} "${flags}" PARENT_SCOPE)
endfunction()

# holdfast_add_woven_sources(target [PROBE] [PROJECT directory] a.cc...): weaves sources, in C++17, and adds what comes
# out to `target`, whose compiler and language level compile it. Sources that link the target reach woven objects by
# functions of theirs: including an annotated header unwoven, which would be another layout, is an error there.
#   PROBE    each function looks whether the half that it would roll back to, or that it read, was changed meanwhile,
#            and calls holdfast::woven::on_wrong_half if so. For tests: of all units of a program, or of none.
#   PROJECT  a directory above the source and the annotated headers that it includes; unless told, the source's own.
#            No .ah file may lie below: the weaver would apply it.
function(holdfast_add_woven_sources target)
    cmake_parse_arguments(PARSE_ARGV 1 woven "PROBE" "PROJECT" "")
    if(NOT HOLDFAST_CAN_WEAVE)
        message(FATAL_ERROR "holdfast_add_woven_sources(${target}) needs AspectC++ (ag++), clang++ and Python 3")
    endif()
    if(woven_PROBE)
        target_compile_definitions(${target} PRIVATE HOLDFAST_WOVEN_PROBE=1)
    endif()
    set(flags "")
    foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
        string(SUBSTRING ${property} 0 1 letter)
        string(REPLACE C D letter ${letter})
        set(values "$<TARGET_PROPERTY:${target},${property}>")
        list(APPEND flags "$<$<BOOL:${values}>:-${letter}$<JOIN:${values},;-${letter}>>")
    endforeach()
    holdfast_compiler_flags(compiler_flags ${target})
    list(APPEND flags ${compiler_flags})
    file(GLOB weaver_files "${HOLDFAST_WEAVE_DIRECTORY}/*.py" "${HOLDFAST_WEAVE_DIRECTORY}/aspects/*.ah")
    foreach(source IN LISTS woven_UNPARSED_ARGUMENTS)
        cmake_path(ABSOLUTE_PATH source NORMALIZE)
        cmake_path(GET source STEM name)
        cmake_path(GET source PARENT_PATH project)
        if(woven_PROJECT)
            cmake_path(ABSOLUTE_PATH woven_PROJECT NORMALIZE OUTPUT_VARIABLE project)
        endif()
        set(output "${CMAKE_CURRENT_BINARY_DIR}/holdfast_woven/${target}/${name}.cc")
        file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/holdfast_woven/${target}")
        add_custom_command(OUTPUT "${output}" DEPFILE "${output}.d" DEPENDS "${source}" ${weaver_files}
            COMMAND Python3::Interpreter "${HOLDFAST_WEAVE_DIRECTORY}/weave.py" --weaver "${HOLDFAST_WEAVER}"
                    --clang "${HOLDFAST_WEAVER_CLANG}" --compiler "${CMAKE_CXX_COMPILER}" --project "${project}"
                    --output "${output}" --depfile "${output}.d" "${source}" "${flags}"
            COMMAND_EXPAND_LISTS VERBATIM COMMENT "Weaving ${name}")
        target_sources(${target} PRIVATE "${output}")
        # The weaver's C++ is correct and has no ambition beyond.
        set_source_files_properties("${output}" PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON
                                    SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
    target_compile_options(${target} PUBLIC $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Werror=attributes>
                           $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Werror=unknown-attributes>)
endfunction()
