// Every place of the library that asks something of the medium, by name. The explorer crashes
// before and after each; a report names the place instead of an address.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::persist {

#define HOLDFAST_PERSIST_SITES(X) \
    X(pool_format)                \
    X(superblock)                 \
    X(pool_grow)                  \
    X(pool_grow_sync)             \
    X(pool_snapshot)              \
    X(pool_strengthen)            \
    X(log_format)                 \
    X(log_format_fence)           \
    X(log_salt)                   \
    X(log_record)                 \
    X(log_early)                  \
    X(log_commit_fence)           \
    X(log_empty)                  \
    X(log_empty_fence)            \
    X(log_group)                  \
    X(log_truncate_home)          \
    X(log_truncate_home_fence)    \
    X(log_truncate_sequence)      \
    X(log_truncate_sequence_fence) \
    X(log_checkpoint_home)        \
    X(log_checkpoint_home_sync)   \
    X(log_checkpoint_sequence)    \
    X(recovery_home)              \
    X(recovery_slot)              \
    X(recovery_home_fence)        \
    X(pool_settle)                \
    X(pool_open_sync)             \
    X(redo_home)                  \
    X(redo_fresh)                 \
    X(redo_fresh_fence)           \
    X(redo_fresh_sync)            \
    X(wrap_home)                  \
    X(wrap_home_fence)            \
    X(retire_home)                \
    X(retire_home_fence)          \
    X(undo_record_fence)          \
    X(undo_home)                  \
    X(undo_write_back)            \
    X(undo_home_fence)            \
    X(undo_commit_fence)          \
    X(undo_restore)               \
    X(volatile_home)              \
    X(line_order)                 \
    X(line_write_back)            \
    X(line_fence)                 \
    X(lines_write_back)           \
    X(lines_fence)                \
    X(lines_taken_over)           \
    X(lines_taken_over_fence)     \
    X(lines_recovered)            \
    X(lines_recovered_fence)      \
    X(measure)

enum class site : std::uint16_t {
#define HOLDFAST_SITE_ENUMERATOR(name) name,
    HOLDFAST_PERSIST_SITES(HOLDFAST_SITE_ENUMERATOR)
#undef HOLDFAST_SITE_ENUMERATOR
};

inline constexpr std::string_view site_names[] = {
#define HOLDFAST_SITE_NAME(name) #name,
    HOLDFAST_PERSIST_SITES(HOLDFAST_SITE_NAME)
#undef HOLDFAST_SITE_NAME
};

inline constexpr std::string_view name_of(site where) noexcept { return site_names[static_cast<std::uint16_t>(where)]; }

}  // namespace holdfast::persist
