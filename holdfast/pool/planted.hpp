// The faults of pools that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_POOL_FAULTS(X) \
    X(clean_before_checkpoint, all, "closing marks the pool clean before its log is home") \
    X(weaker_level_recorded_late, all, "a weaker level is recorded after it was used") \
    X(stronger_level_recorded_early, all, "power is recorded before recovery is through") \
    X(superblock_in_one_place, all, "each superblock is written over the one in force") \
    X(recovery_skipped, all, "opening takes every pool for one that was closed") \
    X(published_before_format, all, "a pool gets its name before it is whole") \
    X(named_pages_taken_for_clean, redo, "free pages count as clean at open while a kept record names them") \
    X(all_taken_for_clean_at_open, redo, "the heap is told at open that no record names anything any more") \
    X(recovered_homes_forgotten, redo, "recovery of a file empties the log and writes no home") \
    X(kept_log_overwritten, redo, "the segments of a kept log are taken for free") \
    X(kept_log_taken_for_home, redo, "a kept log counts as home") \
    X(nothing_settled, redo, "opening believes what the page cache shows, and rewrites nothing") \
    X(generation_not_raised, redo, "opening writes its superblock over the one in force") \
    X(left_clean_at_open, redo, "opening leaves a clean pool's state as it is") \
    X(level_not_recorded_at_open, redo, "opening leaves the level of the life before in the superblock") \
    X(boot_not_recorded, redo, "opening leaves the boot of the life before in the superblock") \
    X(boot_ignored, redo, "what was in use below power is believed in any boot") \
    X(older_superblock_believed, redo, "of two superblocks the older is believed") \
    X(zone_forgotten, redo, "the superblock after the next lacks the zone that a growth added") \
    X(power_recorded_before_sync, redo, "power is recorded before the commits of on_power_fail are synced")

namespace holdfast::planted {
HOLDFAST_POOL_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
