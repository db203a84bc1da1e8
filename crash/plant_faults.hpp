// Whether the explorer finds each fault that can be planted.
#pragma once

#include <crash/options.hpp>

namespace holdfast::crash {

/// Plants each fault on its own and looks until it is caught. Returns the exit status: 0 if each was, 1 if one was
/// missed, 2 if a file cannot be written.
int plant_faults(const options& wanted);

}  // namespace holdfast::crash
