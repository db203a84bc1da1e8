// Faults that tests plant in builds of their own of the two algorithms, to prove that laws and checkers would see them,
// and the places where such a build lets other threads run. In the normal build nothing of either is left.
#pragma once

#include <cstddef>

namespace holdfast::stm {

#define HOLDFAST_STM_FAULTS(X)                                                                              \
    X(value_validation_dropped, "value: a snapshot is moved on without comparing what was read")            \
    X(value_commit_unvalidated, "value: a commit takes the sequence as it finds it")                        \
    X(value_sequence_unchecked, "value: a load does not look whether the sequence has moved")               \
    X(value_released_early, "value: the sequence is even again before the values are home")                 \
    X(value_odd_ignored, "value: validation does not wait for a commit in progress")                        \
    X(versioned_validation_dropped, "versioned: a snapshot is extended without validation")                 \
    X(versioned_commit_unvalidated, "versioned: a commit does not validate its read set")                   \
    X(versioned_version_ignored, "versioned: a load takes any version")                                     \
    X(versioned_lock_checked_once, "versioned: a load does not look at the lock again")                     \
    X(versioned_released_early, "versioned: locks are released before the values are home")                 \
    X(versioned_no_quiescence, "versioned: a writer does not wait for older snapshots")                     \
    X(versioned_own_lock_mistaken, "versioned: a lock of somebody else is taken for the thread's own")      \
    X(versioned_old_version_released, "versioned: a commit leaves the version as it was")                   \
    X(limbo_ignored, "value: a block is given back at commit, though others may still read it")             \
    X(value_irrevocable_beside_others, "value: an irrevocable transaction goes on while others are open")   \
    X(alone_unasked, "the only thread does not look whether another one has come when it goes on alone")    \
    X(alone_not_waited_for, "a second thread does not wait until the first one is no longer alone")         \
    X(mask_ignored, "a masked store takes the whole word")                                                  \
    X(masks_not_merged, "a second masked store of a word replaces the mask of the first")                   \
    X(own_stores_unseen, "a load does not look into the write set")                                         \
    X(serial_does_not_wait, "a serial transaction begins while others run")                                 \
    X(hint_read_trusted_for_write, "a load after a read does not look whether the word has been stored to") \
    X(rolled_back_keeps_blocks, "rolling back does not give back what was allocated")                       \
    X(frames_buffered, "stores to frames born inside the transaction wait for commit")                      \
    X(read_set_not_kept, "a second attempt of a read-only transaction keeps no read set either")          \
    X(old_values_lost, "rolling back what was stored home at once leaves it there")                         \
    X(value_number_again, "value: rolling back what was stored home at once brings the old number back")    \
    X(versioned_numbered_late, "versioned: a commit draws its number when it has validated")              \
    X(run_unvalidated, "value: a run of words that was read is not compared")                               \
    X(kept_stored_early, "a word that the home keeps is stored home at once like an ordinary one")          \
    X(kept_forgotten, "what is stored home at once takes the words that the home keeps out of the write set")

enum class fault : unsigned char {
    nothing,
#define HOLDFAST_STM_ENUMERATOR(name, sentence) name,
    HOLDFAST_STM_FAULTS(HOLDFAST_STM_ENUMERATOR)
#undef HOLDFAST_STM_ENUMERATOR
};

#ifdef HOLDFAST_STM_TESTED
/// The fault that this process has now. Set it while nothing runs.
inline fault planted_now = fault::nothing;
inline bool is_planted(fault which) noexcept { return planted_now == which; }
/// From how many words on a write set is large: then its transaction stores home at once where it may.
inline std::size_t large_write_set = 32;
/// Whether each thread takes itself for the only one, where that is a guess.
inline bool everyone_seems_alone = false;
/// A test's scheduler, called wherever another thread may come in between. True: a waiting thread need not pause.
inline bool (*between)() noexcept = nullptr;
inline bool let_others_run() noexcept { return between != nullptr && between(); }
#else
inline constexpr std::size_t large_write_set = 32;
inline constexpr bool everyone_seems_alone = false;
constexpr bool is_planted(fault) noexcept { return false; }
constexpr bool let_others_run() noexcept { return false; }
#endif

}  // namespace holdfast::stm
