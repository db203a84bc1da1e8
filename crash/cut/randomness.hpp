// What the kernel's randomness is under exploration.
#pragma once

#include <random>

namespace holdfast::crash {

/// Answers getrandom. A recording begins it with 0, so that the same workload gives the same trace; a recording
/// that goes on from another's image with something else, so that no salt is drawn twice.
extern std::mt19937_64 randomness;

}  // namespace holdfast::crash
