// softwrap_lat: owns the wrap's alias table; the log is log/. After Giles, Doshi and Varman, "Transaction
// Local Aliasing in Storage Class Memory" (SoftWrAP-LAT), algorithm 2.
//
// Protocol, byte-addressable media
//   1. OpenWrap: an empty alias table in DRAM, and a log bucket: the place behind this thread's last record.
//   2. WrapStore: the table maps the word to its place in the record that is being built. Lines of the record that are
//      full are streamed to the bucket, but for the last `lines_kept`: in a B+ tree two lines of nine would otherwise
//      change again. A word that is stored again changes in place; if its line was streamed, the line is streamed once
//      more at the end.
//   3. WrapLoad: the table's value if there is one, else the home's. Homes stay as they are: aborting is forgetting.
//   CloseWrap, with the caller's locks held
//   4. Take a lane and make room in the log: the last step that can fail. Mostly it is the bucket.
//   5. Draw the commit stamp: stamp order is lock order.
//   6. Fresh blocks, which the record does not name, become durable. A FENCE, if there are any.
//   7. Stream what is missing of the record, with its first line: stamp and checksum, the end-of-record, stand in it.
//   8. FENCE. Orders the record before the home stores, as in redo; and the close waits for it. Without fresh blocks it
//      is the only one. Beside that it makes the homes durable that this thread's wraps before wrote back.
//   9. Store all homes.
//  10. Then write back each of their lines once, without a fence. Storing and writing back word by word, as the listing
//      has it, writes a line back as often as it has words.
//  11. Give the lane back. It notes that nothing has fenced these homes yet: trimming stays below them.
//  12. Each `trim_batch` wraps, after the locks are released: S = below every wrap in flight and below the last one of
//      each thread, whose homes nothing has fenced yet. Persist S with a FENCE: without it a freed segment might be
//      written over while recovery still replays from an older S. Trimming is by stamp over all buckets: were a newer
//      record trimmed while an older one of the same word is not, replay would bring back the older value.
// The second PCOMMIT, with which the paper's text ends a close or a batch, is the next close's fence.
// At `process` without streams, write-backs and fences: the record is stored, the homes, then it is taken back.
// On a file at `power`: the record joins the open group, as in redo.
//
// Invariants
//   * A home is stored only after its record is whole, and at `power` durable.
//   * No line of an open wrap can be read as a record: the first, with the header, is sent at the close.
//   * A record is trimmed only when its homes, and those of all before it, are durable.
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/options.hpp>

#include <new>

namespace holdfast {
namespace {

namespace site = persist::site;

constexpr std::uint64_t no_line = ~std::uint64_t{0};

}  // namespace

result<void> softwrap_lat_transaction::commit() {
    if (pool_->homes_are_private()) return commit_in_group();
    lane_log& log = *pool_->lanes();
    result<void> reserved;
    log_lane* const taken = log.acquire_with_room(writes_, reserved);  // 4
    if (taken == nullptr) return reserved;
    log_lane& lane = *taken;
    sequence_ = log.draw_sequence(lane);  // 5
    persist_fresh_blocks();               // 6
    if (pool_->persists_lines() || pool_->wraps().logs) {
        log.append_early(lane, writes_.record(), writes_.payload_words(), sequence_, writes_.early());  // 7
        persist::fence_or_order(pool_->persists_lines(), pool_->lines(), site::log_commit_fence);       // 8
    }
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_), "a home is stored after its record is durable");
    HOLDFAST_ASSERT(writes_.is_within(pool_->size()), "no store goes outside the pool");
    HOLDFAST_ASSERT(log.truncated() < sequence_, "truncation stays below a commit until its homes are stored");
    store_homes();  // 9
    if (pool_->persists_lines()) {
        write_homes_back();                                        // 10
        trim_is_due_ = log.release_written_back(lane, sequence_);  // 11
    } else {
        log.release(lane);  // 11
    }
    clear();
    return {};
}

result<void> softwrap_lat_transaction::settle() {
    auto settled = write_aside_transaction::settle();
    if (trim_is_due_) pool_->lanes()->trim();  // 12
    return settled;
}

void softwrap_lat_transaction::store_homes() {
    if (!pool_->wraps().writes_back_each_word || !pool_->persists_lines())
        return writes_.apply(base_, site::wrap_home);
    writes_.for_each_entry([&](const format::entry& each, const std::uint64_t* values) {
        auto* home = reinterpret_cast<std::uint64_t*>(base_ + each.offset);
        for (std::uint64_t i = 0; i < each.words; ++i) {
            persist::store_word(home + i, values[i], each.mask, site::wrap_home);
            persist::write_back(pool_->lines(), home + i, sizeof *home, site::wrap_home);
        }
    });
}

void softwrap_lat_transaction::write_homes_back() {
    if (pool_->wraps().writes_back_each_word) return;
    lines_.clear();
    const auto is_new = [this](std::uint64_t line) {
        try {
            return lines_.find_or_insert(line, 0).inserted;
        } catch (const std::bad_alloc&) {
            // Then it may be written back more than once.
            return true;
        }
    };
    std::uint64_t newest = no_line;
    writes_.for_each_entry([&](const format::entry& each, const std::uint64_t*) {
        const std::uint64_t last = (each.offset + each.words * 8 - 1) / persist::line_bytes;
        for (std::uint64_t line = each.offset / persist::line_bytes; line <= last; ++line) {
            if (line == newest || !is_new(line)) continue;
            newest = line;
            persist::write_back_one(pool_->lines(), base_ + line * persist::line_bytes, site::wrap_home);
        }
    });
}

}  // namespace holdfast
