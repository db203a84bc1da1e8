// The faults of engines that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_ENGINE_FAULTS(X) \
    X(old_value_recorded_late, undo, "undo records the old value after the new one was stored") \
    X(dirty_lines_forgotten, undo, "undo writes back only the first of the lines that it changed") \
    X(finished_before_fence, cc_htm, "a number counts as finished before its record is durable") \
    X(void_record_unlogged, cc_htm, "a number that was drawn and not used is not logged") \
    X(combined_record_torn, redo, "the record of a group lacks what its last function stored, which is home") \
    X(result_before_fence, redo, "callers whose functions another thread ran have their results before the fence") \
    X(wrong_part_rolled_back, redo, "a function that fails takes back what others of its group stored") \
    X(overwritten_part_kept, redo, "a function that fails leaves what it stored over words of others in its group")

namespace holdfast::planted {
HOLDFAST_ENGINE_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
