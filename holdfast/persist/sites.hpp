// Where the seam itself asks something of the medium, and where the parts of a new pool do.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_PERSIST_SITES(X) \
    X(pool_format) \
    X(measure)

namespace holdfast::persist::site {
HOLDFAST_PERSIST_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
