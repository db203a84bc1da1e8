// Objects in cache lines, without a log.
#pragma once

#include "guest.hpp"

namespace holdfast::rig {

extern const workload of_line;   ///< each in a line of its own
extern const workload of_lines;  ///< each in several lines

}  // namespace holdfast::rig
