// The faults of the log that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_LOG_FAULTS(X) \
    X(checksum_ignored, all, "a record is believed whatever its checksum says") \
    X(missing_part_ignored, redo, "a record in parts is applied without one of them") \
    X(replayed_newest_first, all, "records are applied in the wrong order") \
    X(end_record_ignored, undo, "an undo transaction that has ended is taken back all the same") \
    X(sequence_forgotten, all, "recovery does not go on from the highest sequence that it saw") \
    X(log_reset_before_homes, all, "recovery empties the log before the homes are durable") \
    X(slots_in_fixed_order, all, "recovery rewrites the truncation slot in force first") \
    X(slot_believed_durable, all, "recovery takes the truncation slot that it sees for durable") \
    X(record_believed_durable, wraps, "recovery takes the records that it sees for durable") \
    X(salt_not_renewed, all, "a segment's next lap has the salt of the one before") \
    X(lane_truncated_alone, redo, "truncation brings home the records of one lane only") \
    X(truncated_in_flight, redo, "truncation passes commits whose homes are not stored yet") \
    X(filled_segments_kept, undo, "undo leaves the segments that it filled as they are") \
    X(checkpoint_from_memory, redo, "a checkpoint writes memory pages home instead of logged bytes") \
    X(kept_parts_out_of_order, redo, "kept parts of a group come home in the order of segments") \
    X(trimmed_before_fence, softwrap_lat, "trimming passes a wrap whose homes no fence has covered") \
    X(trimmed_alone, softwrap_lat, "a thread trims by its own wraps, whatever others have not fenced") \
    X(state_flipped_too_soon, softwrap, "a table is empty, and the log trimmed, before the homes are stored") \
    X(younger_table_trimmed, softwrap, "trimming passes wraps whose values wait in the younger table") \
    X(retired_before_write_back, cc_htm, "the log is trimmed before the homes that were retired are durable") \
    X(retired_past_prefix, cc_htm, "a commit is retired though an earlier one is not in the log yet") \
    X(table_home_before_prefix, cc_htm, "an alias table comes home before the log has the prefix up to its commits") \
    X(entry_taken_early, cc_htm, "an entry of the alias sets is taken over before its value is home") \
    X(hole_skipped, cc_htm, "recovery goes on behind a missing number") \
    X(paced_before_write_back, steal_no_force, "the log is trimmed before the lines that were paced are durable") \
    X(overwritten_before_paced, steal_no_force, "the log passes records whose lines nobody has written back") \
    X(paced_in_flight, steal_no_force, "the pacer passes commits whose homes are not stored yet") \
    X(replayed_by_bucket, wraps, "recovery applies records bucket by bucket, not by stamp") \
    X(early_line_not_renewed, wraps, "a line that changed after it was sent is not sent again") \
    X(log_kept_after_recovery, redo, "recovery leaves the log as it was once homes are stored") \
    X(one_slot_renewed, redo, "recovery renews one truncation slot of two") \
    X(headers_kept, redo, "recovery leaves segment headers that lead to old records") \
    X(salt_of_last_life, redo, "each life draws the salts of the one before") \
    X(sequence_one_too_low, redo, "a life begins with the number of the last commit before it") \
    X(torn_sequences_ignored, redo, "a life draws numbers again that torn records hold") \
    X(deferred_records_not_synced, redo, "records whose sync was deferred are not synced when that ends")

namespace holdfast::planted {
HOLDFAST_LOG_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
