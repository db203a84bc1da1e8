#include <holdfast/dnv/export.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

HOLDFAST_DNV_RUNTIME(basic_versioned)
