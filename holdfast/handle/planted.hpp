// The faults of handles that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_HANDLE_FAULTS(X) \
    X(lock_released_early, wraps, "a wrap's lock is released before the wrap is closed")

namespace holdfast::planted {
HOLDFAST_HANDLE_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
