// The faults of lines that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_LINE_FAULTS(X) \
    X(line_index_first, line, "the index points to a half before the object is in it") \
    X(line_copied_whole, line, "one copy of 32 bytes, the last of which is the index") \
    X(copy_believed_unsummed, lines, "of two copies the newer is believed whatever its sum says") \
    X(copy_sum_too_short, lines, "a copy's sum leaves out its last line") \
    X(valid_copy_overwritten, lines, "a transaction writes over the newer copy") \
    X(torn_copy_kept, lines, "recovery leaves a torn copy's header as it is")

namespace holdfast::planted {
HOLDFAST_LINE_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
