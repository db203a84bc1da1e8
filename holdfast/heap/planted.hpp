// The faults of the allocator that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_HEAP_FAULTS(X) \
    X(freed_block_reused_early, all, "a freed block is given away before its transaction ends") \
    X(freed_block_taken_for_clean, redo, "a freed block is stored to without logging at once")

namespace holdfast::planted {
HOLDFAST_HEAP_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
