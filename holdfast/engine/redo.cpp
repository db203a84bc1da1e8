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
// Fresh blocks: a large block whose bytes no log record can name (heap_block::clean) is stored to
// directly; it is unreachable until the commit that allocates it. Replay cannot overwrite it, since
// no record names it, and a block that is freed becomes clean again only by truncation. Before
// step 3 what was stored to it is written back and FENCED: were the record durable first, a cut
// would commit a block whose bytes are not there. Only transactions with such a block pay this.
//
// Invariants
//   * A home is stored only after its record is sealed, and at `power` durable.
//   * The sequence is drawn while the caller's locks are held: replay order is lock order.
#include <holdfast/engine/redo.hpp>

namespace holdfast {
namespace {

/// Below this, logging a block costs less than the write-back of its lines.
constexpr std::size_t smallest_fresh_bytes = 16 << 10;

}  // namespace

void redo_transaction::store(void* home, const void* bytes, std::size_t size) { store_bytes(*this, home, bytes, size); }

void redo_transaction::load_into(const void* home, void* bytes, std::size_t size) {
    load_bytes(*this, home, bytes, size);
}

void redo_transaction::store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask) {
    if (pool_->contains(home)) {
        // The pool has grown since the transaction began.
        size_ = pool_->size();
        return store(home, value, mask);
    }
    check_in_no_other_pool(home);
    persist::store_word(home, value, mask, persist::site::redo_home);
}

heap_block redo_transaction::allocate(std::size_t bytes, std::size_t alignment) {
    const heap_block block = transaction_base::allocate(bytes, alignment);
    if (block.clean && block.bytes >= smallest_fresh_bytes) fresh_.add(block.address, block.bytes);
    return block;
}

void redo_transaction::deallocate(void* address) {
    transaction_base::deallocate(address);
    fresh_.remove(address);
}

result<void> redo_transaction::seal_in_lane() {
    lane_log& log = *pool_->lanes();
    auto& lane = log.acquire();
    if (auto reserved = log.reserve(lane, writes_.payload(), writes_.payload_words()); !reserved) {
        log.release(lane);
        return reserved;
    }
    sequence_ = log.draw_sequence(lane);
    const bool persists = pool_->persists_lines();
    if (persists && !fresh_.empty()) write_fresh_back();
    log.append(lane, writes_.record(), writes_.payload_words(), sequence_, format::record_kind::redo);
    if (persists) {
        persist::fence(pool_->lines(), persist::site::log_commit_fence);
    } else {
        persist::order_for_kill();
    }
    writes_.apply(base_, persist::site::redo_home);
    log.release(lane);
    clear();
    return {};
}

void redo_transaction::write_fresh_back() {
    fresh_.for_each_stored([&](const std::byte* at, std::size_t bytes) {
        persist::write_back(pool_->lines(), at, bytes, persist::site::redo_fresh);
    });
    persist::fence(pool_->lines(), persist::site::redo_fresh_fence);
}

result<void> redo_transaction::seal_in_group() {
    group_log& log = *pool_->groups();
    if (auto admitted = log.admit(writes_.payload_words()); !admitted) return admitted;
    result<void> written;
    bool sync_first = false;
    fresh_.for_each_stored([&](const std::byte* at, std::size_t bytes) {
        if (!written) return;
        sync_first = true;
        const auto offset = static_cast<std::uint64_t>(at - base_);
        written = pool_->backing_file().write_at(offset, at, bytes, persist::site::redo_fresh);
    });
    if (!written) return written;
    ticket_ = log.append(writes_.payload(), writes_.payload_words(), sync_first);
    sequence_ = ticket_.group;
    writes_.apply(base_, persist::site::redo_home);
    clear();
    return {};
}

result<void> redo_transaction::settle_in_group() {
    auto waited = pool_->groups()->wait(ticket_);
    // Not before the wait: a freed block is reused only after its free is durable.
    settle_heap(sequence_);
    return waited;
}

void redo_transaction::roll_back() noexcept(persist::noexcept_seam) {
    roll_heap_back();
    clear();
}

void redo_transaction::clear() noexcept {
    writes_.clear();
    fresh_.clear();
}

}  // namespace holdfast
