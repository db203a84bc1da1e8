// Where lines asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_LINE_SITES(X) \
    X(line_order) \
    X(line_write_back) \
    X(line_fence) \
    X(lines_write_back) \
    X(lines_fence) \
    X(lines_taken_over) \
    X(lines_taken_over_fence) \
    X(lines_recovered) \
    X(lines_recovered_fence)

namespace holdfast::persist::site {
HOLDFAST_LINE_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
