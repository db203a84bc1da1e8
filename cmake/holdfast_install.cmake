# What an installation holds: the public headers as they stand, the library, a CMake package, a pkg-config
# file: the component `library`. The component `crash` beside it is the explorer, `command` the command
# and the programs that it starts, `benchmarks` those for measuring; `sim` is a package of its own.
include(CMakePackageConfigHelpers)

set(package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")

set(libraries holdfast)
# What is not built is not installed.
if(HOLDFAST_HAS_TM AND NOT HOLDFAST_ONLY_COMMAND)
    list(APPEND libraries holdfast_itm_value holdfast_itm_versioned holdfast_itm_hybrid holdfast_dnv holdfast_dnv_value holdfast_dnv_versioned)
endif()
install(TARGETS ${libraries} EXPORT holdfast_targets COMPONENT library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT holdfast_targets NAMESPACE holdfast:: DESTINATION ${package_directory} COMPONENT library)

# holdfast_headers_behind(found headers...): those of the library that the named ones include, and what these include.
function(holdfast_headers_behind found)
    set(all "")
    set(waiting ${ARGN})
    while(waiting)
        list(POP_FRONT waiting header)
        file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" lines REGEX "^ *#include <holdfast/")
        list(TRANSFORM lines REPLACE "^ *#include <(.*)>.*" "\\1")
        foreach(included IN LISTS lines)
            if(NOT included IN_LIST all)
                list(APPEND all "${included}")
                list(APPEND waiting "${included}")
            endif()
        endforeach()
    endwhile()
    set(${found} ${all} PARENT_SCOPE)
endfunction()

# holdfast_install_headers(component into headers...): with their folders.
function(holdfast_install_headers component into)
    foreach(header IN LISTS ARGN)
        cmake_path(GET header PARENT_PATH folder)
        install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${into}/${folder}" COMPONENT ${component})
    endforeach()
endfunction()

set(headers_list "${PROJECT_SOURCE_DIR}/holdfast/public_headers.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${headers_list}")
file(STRINGS "${headers_list}" public_headers REGEX "^holdfast/")
list(TRANSFORM public_headers REPLACE " .*" "")
# Woven sources include the last.
holdfast_headers_behind(detail_headers ${public_headers} holdfast/line/woven_medium.hpp)
list(APPEND detail_headers holdfast/line/woven_medium.hpp)
list(REMOVE_ITEM detail_headers ${public_headers})
holdfast_install_headers(library "${CMAKE_INSTALL_INCLUDEDIR}" ${public_headers})
holdfast_install_headers(library "${CMAKE_INSTALL_INCLUDEDIR}/holdfast/detail" ${detail_headers})
if(TARGET holdfast_crash_tests)
    get_property(explorer_headers GLOBAL PROPERTY holdfast_explored_headers)
    holdfast_headers_behind(explorer_detail_headers ${explorer_headers})
    list(REMOVE_ITEM explorer_detail_headers ${public_headers} ${detail_headers})
    holdfast_install_headers(crash "${CMAKE_INSTALL_INCLUDEDIR}/holdfast/detail" ${explorer_detail_headers})
endif()

# What weaves classes of users: holdfast_add_woven_sources.
install(FILES "${PROJECT_SOURCE_DIR}/cmake/holdfast_weave.cmake" DESTINATION ${package_directory} COMPONENT library)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/aspect/weave" DESTINATION ${package_directory} COMPONENT library
        FILES_MATCHING PATTERN "*.py" PATTERN "*.ah")

# Atomic blocks: holdfast_target_tm, holdfast_target_dnv.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cmake/tm_plugin" DESTINATION ${package_directory} COMPONENT library)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/holdfast_tm.cmake" "${PROJECT_SOURCE_DIR}/holdfast/dnv/holdfast_dnv.ld"
        DESTINATION ${package_directory} COMPONENT library)

# C++'s runtime, which programs in C must link: the one that this compiler links by itself.
set(HOLDFAST_CXX_RUNTIME stdc++)
if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(HOLDFAST_CXX_RUNTIME c++)
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/holdfast-config.cmake.in" holdfast-config.cmake
                              INSTALL_DESTINATION ${package_directory})
# Before version 1.0 a minor version may change anything.
write_basic_package_version_file(holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/holdfast-config.cmake" "${PROJECT_BINARY_DIR}/holdfast-config-version.cmake"
        DESTINATION ${package_directory} COMPONENT library)

# The prefix is found from the file's own place, so that an installation may be moved.
file(RELATIVE_PATH prefix_from_pkgconfig "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${CMAKE_CURRENT_LIST_DIR}/holdfast.pc.in" holdfast.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/holdfast.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
if(HOLDFAST_HAS_TM AND NOT HOLDFAST_ONLY_COMMAND)
    list(JOIN HOLDFAST_TM_FLAGS " " tm_flags)
    # For users of pkg-config, whose compiler is this one. A plugin is a program of the machine that compiles.
    holdfast_find_tm_plugin(plugin problem)
    if(plugin AND NOT CMAKE_CROSSCOMPILING)
        install(PROGRAMS "${plugin}" DESTINATION ${package_directory} RENAME holdfast_tm_plugin.so COMPONENT library)
        string(APPEND tm_flags " -fplugin=\${prefix}/${package_directory}/holdfast_tm_plugin.so")
    endif()
    foreach(algorithm value versioned hybrid)
        configure_file("${CMAKE_CURRENT_LIST_DIR}/holdfast-itm.pc.in" holdfast-itm-${algorithm}.pc @ONLY)
        install(FILES "${PROJECT_BINARY_DIR}/holdfast-itm-${algorithm}.pc"
                DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
    endforeach()
endif()
