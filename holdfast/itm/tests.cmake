# This room's tests. What has atomic blocks is compiled as holdfast_target_tm has it; a test with planted faults exports a
# runtime of its own.
set(laws laws_blocks_test.cpp laws_barriers_test.cpp laws_memory_test.cpp)
set_source_files_properties(${laws} std_test.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-O2;${HOLDFAST_TM_OPTIONS}" COMPILE_DEFINITIONS "${HOLDFAST_TM_DEFINITIONS}")
list(APPEND laws counted_new_test.cpp laws_main_test.cpp)

holdfast_add_test(laws_mock mock_test.cpp ${laws} LABELS fast)
foreach(algorithm value versioned)
    holdfast_add_test(laws_${algorithm} ${laws} LIBRARIES holdfast_itm_${algorithm} LABELS fast)
    holdfast_add_test(std_${algorithm} std_test.cpp LIBRARIES holdfast_itm_${algorithm} LABELS fast)
endforeach()
