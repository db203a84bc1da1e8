// Where engines asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_ENGINE_SITES(X) \
    X(redo_home) \
    X(redo_fresh) \
    X(redo_fresh_fence) \
    X(wrap_home) \
    X(wrap_home_fence) \
    X(undo_record_fence) \
    X(undo_home) \
    X(undo_write_back) \
    X(undo_home_fence) \
    X(undo_commit_fence) \
    X(undo_restore) \
    X(volatile_home)

namespace holdfast::persist::site {
HOLDFAST_ENGINE_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
