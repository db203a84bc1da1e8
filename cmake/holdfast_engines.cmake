# The engines, as holdfast/engine/engines.hpp lists them: HOLDFAST_ENGINES and HOLDFAST_ENGINE_SOURCES.

set(list "${PROJECT_SOURCE_DIR}/holdfast/engine/engines.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
file(READ "${list}" text)
string(REGEX MATCHALL "\n +X\\([a-z0-9_]+\\)" HOLDFAST_ENGINES "${text}")
list(TRANSFORM HOLDFAST_ENGINES REPLACE ".*\\(([a-z0-9_]+)\\)" "\\1")
string(REGEX MATCHALL "<holdfast/engine/[a-z0-9_]+\\.hpp>" HOLDFAST_ENGINE_SOURCES "${text}")
list(TRANSFORM HOLDFAST_ENGINE_SOURCES REPLACE "<holdfast/engine/([a-z0-9_]+)\\.hpp>" "\\1.cpp")

# holdfast_source_of_each_engine(VARIABLE TEMPLATE [MORE...]): sets it to sources made of the template, `@engine@`
# replaced by each engine of the list and by the others that are named.
function(holdfast_source_of_each_engine variable template)
    get_filename_component(name "${template}" NAME_WE)
    set(sources "")
    foreach(engine IN LISTS HOLDFAST_ENGINES ARGN)
        set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}/${engine}.cpp")
        configure_file("${template}" "${source}" @ONLY)
        list(APPEND sources "${source}")
    endforeach()
    set(${variable} "${sources}" PARENT_SCOPE)
endfunction()
