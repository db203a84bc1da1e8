// The table people read.
#pragma once

#include <bench/contest/record.hpp>

#include <string>
#include <vector>

namespace holdfast::bench {

/// Prints the records of one match: a line per case, engine and delay, with ratios to the floor, the distance to what
/// runs without transactions (volatile_only, plain) and how many times faster than each rival where those took part.
void print_table(const std::string& title, const std::vector<record>& records);

}  // namespace holdfast::bench
