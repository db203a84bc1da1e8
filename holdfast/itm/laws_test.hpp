// Sentences about atomic blocks that hold over every algorithm, as functions: one program proves them, others run them
// with a fault planted. Each returns the first thing that was not as it should be, or nullptr.
#pragma once

#include <vector>

namespace holdfast::itm {

struct law {
    const char* sentence;
    const char* (*broken)();
    bool counts_attempts = false;  ///< does not hold where conflicts come from outside
    bool is_of_algorithm = false;  ///< the runtime has no part in it
    bool needs_software = false;   ///< does not hold for a block in hardware
    bool needs_barriers = false;   ///< about code with barriers, or another thread has to come in between
};

std::vector<law> laws_of_blocks();
std::vector<law> laws_of_barriers();
std::vector<law> laws_of_memory();
/// Compiled with -O`level`.
template <int level>
std::vector<law> laws_of_ends();
template <>
std::vector<law> laws_of_ends<0>();
template <>
std::vector<law> laws_of_ends<1>();
template <>
std::vector<law> laws_of_ends<2>();
template <>
std::vector<law> laws_of_ends<3>();
/// The same; 4 stands for -Os.
template <int level>
std::vector<law> laws_of_variables();
template <>
std::vector<law> laws_of_variables<0>();
template <>
std::vector<law> laws_of_variables<1>();
template <>
std::vector<law> laws_of_variables<2>();
template <>
std::vector<law> laws_of_variables<3>();
template <>
std::vector<law> laws_of_variables<4>();

}  // namespace holdfast::itm

/// The condition as text, out of a law.
#define HOLDFAST_ITM_HOLDS(condition) \
    if (!(condition)) return #condition
