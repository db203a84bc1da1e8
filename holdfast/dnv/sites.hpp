// Where dnv asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_DNV_SITES(X) \
    X(dnv_home) \
    X(dnv_mended)

namespace holdfast::persist::site {
HOLDFAST_DNV_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
