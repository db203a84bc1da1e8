// Where pools asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_POOL_SITES(X) \
    X(superblock) \
    X(armed_life) \
    X(pool_grow) \
    X(pool_grow_sync) \
    X(pool_snapshot) \
    X(pool_strengthen) \
    X(pool_settle) \
    X(pool_open_sync) \
    X(pool_fall_back) \
    X(pool_fall_back_fence)

namespace holdfast::persist::site {
HOLDFAST_POOL_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
