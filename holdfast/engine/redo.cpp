// redo: owns the thread's write set; the log is log/.
//
// Protocol, byte-addressable media
//   1. Stores go to the write set in DRAM, already in the form of the record; loads look there
//      first. Homes stay as they are, so rolling back is forgetting.
//   2. seal: take a lane, make room in the log (the last step that can fail), draw the sequence.
//   3. Stream the record.
//   4. FENCE. Orders the record before the home stores of step 5: a home line may be evicted at any
//      time, and were it durable without its record, a cut would tear the transaction. It is also
//      what the commit waits for; nothing else is needed for durability, so it is the only one.
//   5. Store the homes, without write-back: the log carries them until it is truncated.
//   6. Give the lane back; truncation may pass.
// At `process` the same without streams and without step 4: program order is what a kill keeps.
// On a file at `power`: step 2 to 4 become an append to the open group, with the locks held;
// after the home stores the locks go, and `settle` waits for the group's one sync.
//
// Fresh blocks (write_aside.cpp) are durable before step 3.
//
// Invariants
//   * A home is stored only after its record is sealed, and at `power` durable.
//   * The sequence is drawn while the caller's locks are held: replay order is lock order.
#include <holdfast/engine/redo.hpp>
#include <holdfast/log/lanes.hpp>

namespace holdfast {

result<void> redo_transaction::seal_in_lane() {
    const auto lane = take_lane();
    if (!lane) return lane.error();
    lane_log& log = *pool_->lanes();
    draw_sequence(**lane);
    log.append(**lane, writes_.record(), writes_.payload_words(), sequence_, format::record_kind::redo);
    fence_record();
    writes_.apply(base_, persist::site::redo_home);
    log.release(**lane);
    clear();
    return {};
}

}  // namespace holdfast
