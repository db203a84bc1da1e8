// Faults that a test plants in its own build of the simulator, to prove that crash tests would see them. In every other
// build `is_planted` is constant and false: nothing is left.
#pragma once

#include <cstdint>

namespace holdfast::sim {

/// X(name, what is done wrong).
#define HOLDFAST_SIM_FAULTS(X)                                                                                       \
    X(hold_dropped, "the controller holds no line")                                                                  \
    X(hole_overlooked, "a held line leaves when its record is durable, though one before that is not")               \
    X(merged_record_passed, "a line leaves while its record still waits for more stores")                            \
    X(old_value_of_memory, "a record has the old value that memory has, not the cache")                              \
    X(partial_line_kept, "a line of the log that is not full stays in the combining buffer")                         \
    X(commit_too_early, "a durable commit is acknowledged before its record is durable")                             \
    X(head_before_home, "the head moves after a scan while forced lines are still queued")                           \
    X(head_a_scan_early, "the head moves to the tail of the scan's own beginning, not that of the one before")       \
    X(head_past_open, "the head moves past records of a transaction that is open")                                   \
    X(head_left_out, "the head moves in its register only")                                                          \
    X(home_left_out, "heads of several logs move without a word up to which commit all is home")                     \
    X(room_not_awaited, "no append waits for room in the ring, or requests a scan")                                  \
    X(truncated_before_home, "the head moves after a truncation while lines written back are still queued")          \
    X(fwb_bit_lost, "a line that moves to L2 counts as dirty since just now")                                        \
    X(forced_into_l2, "a line that a scan forces out of a DL1 stops in L2")                                          \
    X(link_left_out, "a region is added without a link to it")                                                       \
    X(torn_bits_start_over, "in a ring that has grown torn bits begin as in a fresh one")                            \
    X(torn_bit_ignored, "recovery takes records of the lap before for new ones")                                     \
    X(undo_oldest_first, "recovery undoes oldest first")                                                             \
    X(undo_everything, "recovery undoes what has committed, too, and redoes nothing")                                \
    X(redo_uncommitted, "recovery redoes what has not committed")                                                    \
    X(commits_not_told_apart, "recovery takes all records with one number for one transaction")                      \
    X(numbers_ignored, "recovery redoes one log after the other, not by the numbers of their commits")

enum class planted_fault : std::uint8_t {
    nothing,
#define HOLDFAST_SIM_FAULT(name, sentence) name,
    HOLDFAST_SIM_FAULTS(HOLDFAST_SIM_FAULT)
#undef HOLDFAST_SIM_FAULT
};

#ifdef HOLDFAST_SIM_PLANTED
/// The fault that this process has now.
inline planted_fault planted_now = planted_fault::nothing;
inline bool is_planted(planted_fault which) noexcept { return planted_now == which; }
#else
constexpr bool is_planted(planted_fault) noexcept { return false; }
#endif

}  // namespace holdfast::sim
