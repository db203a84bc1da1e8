// Where the log asks something of the medium.
#pragma once

#include <holdfast/persist/site.hpp>

#define HOLDFAST_LOG_SITES(X) \
    X(log_format) \
    X(log_format_fence) \
    X(log_salt) \
    X(log_record) \
    X(log_early) \
    X(log_commit_fence) \
    X(log_empty) \
    X(log_empty_fence) \
    X(log_group) \
    X(log_deferred_sync) \
    X(log_truncate_home) \
    X(log_truncate_home_fence) \
    X(log_truncate_sequence) \
    X(log_truncate_sequence_fence) \
    X(log_checkpoint_home) \
    X(log_checkpoint_home_sync) \
    X(log_checkpoint_sequence) \
    X(recovery_record) \
    X(recovery_record_fence) \
    X(recovery_home) \
    X(recovery_slot) \
    X(recovery_home_fence) \
    X(redo_fresh_sync) \
    X(retire_home) \
    X(retire_home_fence) \
    X(pace_home) \
    X(pace_home_fence)

namespace holdfast::persist::site {
HOLDFAST_LOG_SITES(HOLDFAST_SITE)
}  // namespace holdfast::persist::site
