// force: redo logging that writes homes back at each commit.
//
// Protocol, byte-addressable media
//   1. Stores go to the write set; homes stay as they are (holdfast/engine/write_aside.hpp).
//   2. Take a lane and draw the sequence, with the caller's locks held. Fresh blocks, which the record does not name,
//      become durable: a FENCE, if there are any. Stream the record.
//   3. FENCE. Orders the record before the home stores: without it a cut could leave some homes and no record.
//   4. Store the homes and write each back.
//   5. FENCE. Makes the homes durable: from here on the record is not needed.
//   6. Give the lane back; after each batch of commits, with the locks released, truncation passes the records.
// At `process` the same without write-backs and fences. On a file at `power` the record joins the open group.
//
// Invariants
//   * A home is stored only after its record is durable.
//   * A record is truncated only when its homes are durable.
#include <examples/own_engine/force.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/engine/write_aside_commit.hpp>

#include <utility>

namespace holdfast {

result<void> force_transaction::commit() {
    if (pool_->homes_are_private()) return commit_in_group();
    lane_log& log = *pool_->lanes();
    result<void> reserved;
    log_lane* const taken = take_lane(log, reserved);
    if (taken == nullptr) return reserved;
    log_lane& lane = *taken;
    sequence_ = log.draw_sequence(lane);
    persist_fresh_blocks();
    log.append(lane, writes_.record(), writes_.payload_words(), sequence_, format::record_kind::redo);  // 2
#ifndef FORCE_FORGETS_A_FENCE
    fence_record();  // 3
#endif
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_), "a home is stored after its record is durable");
    writes_.apply(base_, persist::site::wrap_home);  // 4
    if (pool_->persists_lines()) {
        writes_.for_each_entry([&](const format::entry& each, const std::uint64_t*) {
            persist::write_back(pool_->lines(), base_ + each.offset, each.words * 8, persist::site::wrap_home);
        });
        persist::fence(pool_->lines(), persist::site::wrap_home_fence);  // 5
        trim_is_due_ = log.release_written_back(lane, sequence_);
    } else {
        log.release(lane);
    }
    clear();
    return {};
}

result<void> force_transaction::settle() {
    auto settled = write_aside_transaction::settle();
    if (std::exchange(trim_is_due_, false)) pool_->lanes()->trim();  // 6
    return settled;
}

}  // namespace holdfast
