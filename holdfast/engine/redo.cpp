// redo: owns the thread's write set; the log is log/.
//
// Protocol, byte-addressable media
//   1. Stores go to the write set in DRAM, already in the form of the record; loads look there first (write_aside.hpp).
//      Homes stay as they are, so rolling back is forgetting.
//   2. Take a lane and make room in the log: the last step that can fail. Truncation, if there is no room, has fences
//      of its own (log/lanes.hpp, step 4).
//   3. Draw the sequence, with the caller's locks held: replay order is lock order.
//   4. Fresh blocks, which the record does not name, become durable. A FENCE, if there are any.
//   5. Seal the record and send it: streamed, or stored and written back, whichever the processor likes better.
//   6. FENCE. Orders the record before the home stores of step 7: a home line may be evicted at any time, and were it
//      durable without its record, a cut would tear the transaction. It is also what the commit waits for; nothing else
//      is needed for durability, so it is the only one of a commit that finds room and has no fresh blocks.
//   7. Store the homes, without write-back: the log carries them until it is truncated.
//   8. Give the lane back; truncation may pass.
// At `process` the same without write-backs and fences: program order is what a kill keeps.
// On a file at `power` the record joins the open group instead (group_commit.cpp); after the home stores the locks go,
// and `settle` waits for the group's one sync.
//
// Invariants
//   * A home is stored only after its record is sealed, and at `power` durable.
//   * The sequence is drawn while the caller's locks are held.
#include <holdfast/engine/redo.hpp>
#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/persist/seam.hpp>

namespace holdfast {

namespace site = persist::site;

result<void> redo_commit::commit() {
    if (pool_->homes_are_private()) return commit_in_group();
    lane_log& log = *pool_->lanes();
    result<void> reserved;
    log_lane* const taken = log.acquire_with_room(writes_, reserved);                                   // 2
    if (taken == nullptr) return reserved;
    log_lane& lane = *taken;
    sequence_ = log.draw_sequence(lane);                                                                // 3
    persist_fresh_blocks();                                                                             // 4
    log.append(lane, writes_.record(), writes_.payload_words(), sequence_, format::record_kind::redo);  // 5
    persist::fence_or_order(pool_->persists_lines(), pool_->lines(), site::log_commit_fence);           // 6
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_), "a home is stored after its record is durable");
    HOLDFAST_ASSERT(writes_.is_within(pool_->size()), "no store goes outside the pool");
    writes_.apply(base_, site::redo_home);                                                              // 7
    HOLDFAST_ASSERT(log.truncated() < sequence_, "truncation stays below a commit until its homes are stored");
    log.release(lane);                                                                                  // 8
    clear();
    return {};
}

}  // namespace holdfast
