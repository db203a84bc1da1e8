// Sentences about atomic blocks that hold over every algorithm, as functions: one program proves them, others run them
// with a fault planted. Each returns the first thing that was not as it should be, or nullptr.
#pragma once

#include <vector>

namespace holdfast::itm {

struct law {
    const char* sentence;
    const char* (*broken)();
    bool counts_attempts = false;  ///< does not hold where conflicts come from outside
};

std::vector<law> laws_of_blocks();
std::vector<law> laws_of_barriers();
std::vector<law> laws_of_memory();

}  // namespace holdfast::itm

/// The condition as text, out of a law.
#define HOLDFAST_ITM_HOLDS(condition) \
    if (!(condition)) return #condition
