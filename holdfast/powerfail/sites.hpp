// Where a save asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_POWERFAIL_SITES(X) \
    X(shadow) \
    X(save_log) \
    X(save_homes) \
    X(save_fence) \
    X(save_seal) \
    X(save_seal_fence) \
    X(measured_save) \
    X(resume) \
    X(resume_fence)

namespace holdfast::persist::site {
HOLDFAST_POWERFAIL_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
