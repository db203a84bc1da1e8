# The programs in README.md and docs/guide/*.md: each is built, and run as the test snippet.PAGE_NAME.
# Extracted when CMake runs, which it does again whenever a page changes.

file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/docs/guide/*.md")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages} "${CMAKE_CURRENT_LIST_DIR}/snippets.py")
set(snippets_script "${CMAKE_CURRENT_LIST_DIR}/snippets.py")
set(snippets_directory "${PROJECT_BINARY_DIR}/snippets")

execute_process(COMMAND "${Python3_EXECUTABLE}" -B "${snippets_script}" extract "${snippets_directory}" ${pages}
                OUTPUT_VARIABLE snippets OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" snippets "${snippets}")

foreach(snippet IN LISTS snippets)
    file(STRINGS "${snippets_directory}/${snippet}.cpp" explores REGEX "^#include <crash/" LIMIT_COUNT 1)
    if(explores AND NOT TARGET holdfast::crash)
        message(STATUS "Snippet ${snippet} is left out: the explorer is not built")
        continue()
    endif()
    file(STRINGS "${snippets_directory}/${snippet}.cpp" has_blocks REGEX "^#include <holdfast/(itm|dnv)/" LIMIT_COUNT 1)
    file(STRINGS "${snippets_directory}/${snippet}.cpp" is_dnv REGEX "^#include <holdfast/dnv/" LIMIT_COUNT 1)
    if(has_blocks AND NOT HOLDFAST_HAS_TM)
        message(STATUS "Snippet ${snippet} is left out: no atomic blocks")
        continue()
    endif()
    file(STRINGS "${snippets_directory}/${snippet}.cpp" engine REGEX "^// blocks over [a-z_]+$" LIMIT_COUNT 1)
    add_executable(snippet_${snippet} "${snippets_directory}/${snippet}.cpp")
    holdfast_set_options(snippet_${snippet})
    if(engine)
        # The runtime is in a source of its own, without the flags of blocks.
        string(REPLACE "// blocks over " "" engine "${engine}")
        set(runtime "${snippets_directory}/${snippet}_runtime.cc")
        file(CONFIGURE OUTPUT "${runtime}" CONTENT "#include <holdfast/engine/@engine@.hpp>
#include <holdfast/itm/engine_entry.hpp>
HOLDFAST_ITM_EXPORT(holdfast::itm::engine_entry<holdfast::@engine@>)
" @ONLY)
        target_sources(snippet_${snippet} PRIVATE "${runtime}")
        set_source_files_properties("${snippets_directory}/${snippet}.cpp" PROPERTIES
            COMPILE_OPTIONS "${HOLDFAST_BLOCK_OPTIONS}")
    elseif(is_dnv)
        holdfast_target_dnv(snippet_${snippet})
    elseif(has_blocks)
        holdfast_target_tm(snippet_${snippet})
    endif()
    file(STRINGS "${snippets_directory}/${snippet}.cpp" caches REGEX "^#include <cache/" LIMIT_COUNT 1)
    if(caches)
        target_link_libraries(snippet_${snippet} PRIVATE holdfast_cache)
    endif()
    if(explores)
        target_link_libraries(snippet_${snippet} PRIVATE holdfast::crash)
    else()
        target_link_libraries(snippet_${snippet} PRIVATE holdfast)
    endif()
    set(expected "")
    if(EXISTS "${snippets_directory}/${snippet}.out")
        set(expected "${snippets_directory}/${snippet}.out")
    endif()
    add_test(NAME snippet.${snippet} WORKING_DIRECTORY "${snippets_directory}"
             COMMAND Python3::Interpreter -B "${snippets_script}" run $<TARGET_FILE:snippet_${snippet}> ${expected})
    holdfast_set_test_properties(snippet.${snippet} fast 60)
endforeach()

holdfast_add_script_test(snippets_marked COMMAND Python3::Interpreter -B "${snippets_script}" check ${pages} LABELS fast)
holdfast_add_script_test(snippets_catch LABELS fast
    COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_LIST_DIR}/snippets_test.py" "${CMAKE_CXX_COMPILER}")
