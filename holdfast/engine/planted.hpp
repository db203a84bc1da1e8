// The faults of engines that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_ENGINE_FAULTS(X) \
    X(old_value_recorded_late, undo, "undo records the old value after the new one was stored") \
    X(dirty_lines_forgotten, undo, "undo writes back only the first of the lines that it changed")

namespace holdfast::planted {
HOLDFAST_ENGINE_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
