// Chunks of the kernel module's, made and freed.
#pragma once

#include "guest.hpp"

namespace holdfast::rig {

extern const workload of_chunks;

}  // namespace holdfast::rig
