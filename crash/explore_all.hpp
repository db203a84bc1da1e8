// Each subject under each model that is wanted: a row of the table.
#pragma once

#include <crash/options.hpp>

namespace holdfast::crash {

/// Returns the exit status: 0 without violations, 1 with some, 2 if a file cannot be written.
int explore_all(const options& wanted);

}  // namespace holdfast::crash
