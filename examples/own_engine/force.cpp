// force: redo logging that writes homes back at each commit.
//
// Protocol, byte-addressable media
//   1. Stores go to the write set; homes stay as they are (holdfast/engine/write_aside.hpp).
//   2. Take a lane and make room in the log: the last step that can fail.
//   3. Draw the sequence, with the caller's locks held: replay order is lock order.
//   4. Fresh blocks, which the record does not name, become durable. A FENCE, if there are any.
//   5. Seal the record and send it.
//   6. FENCE. Orders the record before the home stores: without it a cut could leave some homes and no record.
//   7. Store the homes.
//   8. Write each of them back.
//   9. FENCE. Makes the homes durable: from here on the record is not needed.
//  10. Give the lane back.
//  11. After each batch of commits, with the locks released, truncation passes the records.
// At `process` the same without write-backs and fences. On a file at `power` the record joins the open group.
//
// Invariants
//   * A home is stored only after its record is durable.
//   * A record is truncated only when its homes are durable.
#include <examples/own_engine/force.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/persist/seam.hpp>

#include <utility>

namespace holdfast {

namespace persist::site {
HOLDFAST_SITE(force_home)
HOLDFAST_SITE(force_home_fence)
}  // namespace persist::site
namespace site = persist::site;

result<void> force_transaction::commit() {
    if (pool_->homes_are_private()) return commit_in_group();
    lane_log& log = *pool_->lanes();
    result<void> reserved;
    log_lane* const taken = log.acquire_with_room(writes_, reserved);                                   // 2
    if (taken == nullptr) return reserved;
    log_lane& lane = *taken;
    sequence_ = log.draw_sequence(lane);                                                                // 3
    persist_fresh_blocks();                                                                             // 4
    log.append(lane, writes_.record(), writes_.payload_words(), sequence_, format::record_kind::redo);  // 5
#ifndef FORCE_FORGETS_A_FENCE
    persist::fence_or_order(pool_->persists_lines(), pool_->lines(), site::log_commit_fence);           // 6
#endif
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_), "a home is stored after its record is durable");
    writes_.apply(base_, site::force_home);                                                             // 7
    if (pool_->persists_lines()) {
        write_homes_back();                                        // 8
        persist::fence(pool_->lines(), site::force_home_fence);    // 9
        trim_is_due_ = log.release_written_back(lane, sequence_);  // 10
    } else {
        log.release(lane);  // 10
    }
    clear();
    return {};
}

void force_transaction::write_homes_back() {
    writes_.for_each_entry([&](const format::entry& each, const std::uint64_t*) {
        persist::write_back(pool_->lines(), base_ + each.offset, each.words * 8, site::force_home);
    });
}

result<void> force_transaction::settle() {
    auto settled = write_aside_transaction::settle();
    if (std::exchange(trim_is_due_, false)) pool_->lanes()->trim();  // 11
    return settled;
}

}  // namespace holdfast
