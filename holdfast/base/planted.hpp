// Faults that the crash explorer plants in its own build of the library, by name, to prove that it would
// see them. In the normal build `is_planted` is constant and false: nothing of them is left.
#pragma once

#include <stddef.h>

namespace holdfast {

#define HOLDFAST_PLANTED_FAULTS(X)                                                                   \
    X(checksum_ignored, all, "a record is believed whatever its checksum says")                      \
    X(missing_part_ignored, redo, "a record in parts is applied without one of them")                \
    X(replayed_newest_first, all, "records are applied in the wrong order")                          \
    X(end_record_ignored, undo, "an undo transaction that has ended is taken back all the same")     \
    X(sequence_forgotten, all, "recovery does not go on from the highest sequence that it saw")      \
    X(log_reset_before_homes, all, "recovery empties the log before the homes are durable")          \
    X(slots_in_fixed_order, all, "recovery rewrites the truncation slot in force first")             \
    X(slot_believed_durable, all, "recovery takes the truncation slot that it sees for durable")     \
    X(salt_not_renewed, all, "a segment's next lap has the salt of the one before")                  \
    X(lane_truncated_alone, redo, "truncation brings home the records of one lane only")             \
    X(truncated_in_flight, redo, "truncation passes commits whose homes are not stored yet")         \
    X(filled_segments_kept, undo, "undo leaves the segments that it filled as they are")             \
    X(freed_block_reused_early, all, "a freed block is given away before its transaction ends")      \
    X(freed_block_taken_for_clean, redo, "a freed block is stored to without logging at once")       \
    X(checkpoint_from_memory, redo, "a checkpoint writes memory pages home instead of logged bytes") \
    X(kept_parts_out_of_order, redo, "kept parts of a group come home in the order of segments")     \
    X(old_value_recorded_late, undo, "undo records the old value after the new one was stored")      \
    X(dirty_lines_forgotten, undo, "undo writes back only the first of the lines that it changed")   \
    X(clean_before_checkpoint, all, "closing marks the pool clean before its log is home")           \
    X(weaker_level_recorded_late, all, "a weaker level is recorded after it was used")               \
    X(stronger_level_recorded_early, all, "power is recorded before recovery is through")            \
    X(superblock_in_one_place, all, "each superblock is written over the one in force")              \
    X(recovery_skipped, all, "opening takes every pool for one that was closed")                     \
    X(published_before_format, all, "a pool gets its name before it is whole")                       \
    X(trimmed_before_fence, softwrap_lat, "trimming passes a wrap whose homes no fence has covered") \
    X(trimmed_alone, softwrap_lat, "a thread trims by its own wraps, whatever others have not fenced") \
    X(state_flipped_too_soon, softwrap, "a table is empty, and the log trimmed, before the homes are stored") \
    X(younger_table_trimmed, softwrap, "trimming passes wraps whose values wait in the younger table") \
    X(replayed_by_bucket, wraps, "recovery applies records bucket by bucket, not by stamp")    \
    X(lock_released_early, wraps, "a wrap's lock is released before the wrap is closed")       \
    X(early_line_not_renewed, wraps, "a line that changed after it was sent is not sent again") \
    X(named_pages_taken_for_clean, redo, "free pages count as clean at open while a kept record names them") \
    X(all_taken_for_clean_at_open, redo, "the heap is told at open that no record names anything any more") \
    X(log_kept_after_recovery, redo, "recovery leaves the log as it was once homes are stored")      \
    X(one_slot_renewed, redo, "recovery renews one truncation slot of two")                          \
    X(headers_kept, redo, "recovery leaves segment headers that lead to old records")                \
    X(salt_of_last_life, redo, "each life draws the salts of the one before")                        \
    X(sequence_one_too_low, redo, "a life begins with the number of the last commit before it")      \
    X(torn_sequences_ignored, redo, "a life draws numbers again that torn records hold")             \
    X(recovered_homes_forgotten, redo, "recovery of a file empties the log and writes no home")      \
    X(kept_log_overwritten, redo, "the segments of a kept log are taken for free")                   \
    X(kept_log_taken_for_home, redo, "a kept log counts as home")                                    \
    X(nothing_settled, redo, "opening believes what the page cache shows, and writes nothing anew")  \
    X(generation_not_raised, redo, "opening writes its superblock over the one in force")            \
    X(left_clean_at_open, redo, "opening leaves a clean pool's state as it is")                      \
    X(level_not_recorded_at_open, redo, "opening leaves the level of the life before in the superblock") \
    X(boot_not_recorded, redo, "opening leaves the boot of the life before in the superblock")       \
    X(boot_ignored, redo, "what was in use below power is believed in any boot")                     \
    X(older_superblock_believed, redo, "of two superblocks the older is believed")                   \
    X(zone_forgotten, redo, "the superblock after the next lacks the zone that a growth added")      \
    X(line_index_first, line, "the index points to a half before the object is in it")               \
    X(line_copied_whole, line, "one copy of 32 bytes, the last of which is the index")               \
    X(copy_believed_unsummed, lines, "of two copies the newer is believed whatever its sum says")    \
    X(copy_sum_too_short, lines, "a copy's sum leaves out its last line")                            \
    X(valid_copy_overwritten, lines, "a transaction writes over the newer copy")                     \
    X(torn_copy_kept, lines, "recovery leaves a torn copy's header as it is")

/// In which engines' code a fault is; `all` are those that log.
enum class planted_in : unsigned char { all, redo, undo, softwrap_lat, softwrap, wraps, line, lines };

enum class planted : unsigned char {
    nothing,
#define HOLDFAST_PLANTED_ENUMERATOR(name, engines, sentence) name,
    HOLDFAST_PLANTED_FAULTS(HOLDFAST_PLANTED_ENUMERATOR)
#undef HOLDFAST_PLANTED_ENUMERATOR
};

#define HOLDFAST_PLANTED_COUNT(name, engines, sentence) +1
inline constexpr size_t planted_count = 0 HOLDFAST_PLANTED_FAULTS(HOLDFAST_PLANTED_COUNT);
#undef HOLDFAST_PLANTED_COUNT

#ifdef HOLDFAST_OBSERVED
/// The fault that this process has now. Set it while nothing runs.
inline planted planted_now = planted::nothing;
/// Where the pool is mapped, for faults that need it.
inline const void* planted_pool = nullptr;
inline bool is_planted(planted which) noexcept { return planted_now == which; }
#else
constexpr bool is_planted(planted) noexcept { return false; }
#endif

}  // namespace holdfast
