// The offline check of what a pool of lines holds.
#pragma once

#include <holdfast/handle/check.hpp>

namespace holdfast {

/// Checks every element of every root, by what the pool keeps of its type: an index is 0 or 32, and of two copies one
/// is whole. What the objects mean only their program knows. Requires: a pool of lines.
contents_finding check_lines(const open_pool& pool, const std::vector<root_listing>& roots);

}  // namespace holdfast
