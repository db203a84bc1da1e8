// Records in volatile memory alone, which the kernel module saves when the power fails.
#pragma once

#include "guest.hpp"

namespace holdfast::rig {

extern const workload of_saved;         ///< logs of 1 MiB
extern const workload of_saved_medium;  ///< of 7 MiB, whose copy takes a while
extern const workload of_saved_large;   ///< logs that take longer to save than the power lasts: they are declined

}  // namespace holdfast::rig
