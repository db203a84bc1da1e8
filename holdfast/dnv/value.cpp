#include <holdfast/dnv/export.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

HOLDFAST_DNV_RUNTIME(basic_value)
