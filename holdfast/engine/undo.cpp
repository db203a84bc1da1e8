// undo and undo_paper: own the old values of the open transaction, in the log and in DRAM.
//
// Protocol
//   1. Before a word is stored for the first time its old value goes to the thread's lane.
//   2. FENCE (owed by the record, paid by the first store that relies on it). Orders the old value
//      before the new one: a home line may be evicted at once, and without its old value on the
//      media a cut could not take it back. `undo` lets several hinted ranges share this fence;
//      `undo_paper` pays it for every range stored.
//   3. Store in place.
//   4. At the end, with the caller's locks held: write back every dirty line, once each.
//   5. FENCE. Orders all homes before the end record: were the end durable first, recovery would
//      keep a transaction whose homes are torn.
//   6. Append the end record.
//   7. FENCE. The commit is durable only with it: without, a cut after the acknowledgement would
//      roll the transaction back. And the next transaction's stores must not pass it.
//   8. Give the lane back; it empties segments that this transaction left behind (log/lanes.hpp).
// Rolling back restores the old values, newest first, then does 4 to 8. At `process` the same
// without write-backs and fences.
//
// Fresh blocks (`undo` only): a clean block that this transaction allocated holds nothing anyone could
// miss, so its stores are not logged, only written back.
//
// Invariants
//   * Every word differing from its value before the transaction has that value durable in the lane.
//   * The lane always has room for the end record: rolling back cannot fail.
#include <holdfast/engine/undo.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/planted.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/log/lanes.hpp>

#include <new>
#include <utility>

namespace holdfast {
namespace {

namespace site = persist::site;

constexpr std::size_t largest_record_words = 256;
/// One that grew by an entry beyond the largest, in whole lines.
constexpr std::size_t room_for_record_words = largest_record_words + 2 + format::record_alignment / 8;
constexpr std::uint64_t end_record_bytes = format::record_bytes(0);

}  // namespace

void undo_transaction_base::begin(open_pool& pool) {
    pool_ = &pool;
    gathered_.reserve(room_for_record_words);
    gathered_.resize(format::record_header_words);
}

bool undo_transaction_base::covered(const pool_word* home, std::uint8_t mask, bool stored) noexcept {
    if (style_ == undo_style::paper) return false;
    const std::uint32_t* at = logged_.find(reinterpret_cast<std::uintptr_t>(home) >> 3);
    if (at == nullptr || (mask & ~old_[*at].mask) != 0) return false;
    old_[*at].stored |= stored;
    return true;
}

void undo_transaction_base::gather(pool_word* home, std::uint8_t mask, bool stored) {
    const std::uint64_t offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(home) - pool_->base());
    const std::uint64_t key = reinterpret_cast<std::uintptr_t>(home) >> 3;
    const std::uint64_t value = load(home);
    const auto place = static_cast<std::uint32_t>(old_.size());
    // Room first: a word that counts as logged must be in the record.
    if (old_.size() == old_.capacity()) old_.reserve(old_.size() * 2 + 64);
    if (std::uint32_t* known = logged_.find(key)) {
        // Log only what is new: the bytes logged before hold the value to go back to.
        const auto fresh_mask = static_cast<std::uint8_t>(mask & ~old_[*known].mask);
        if (style_ == undo_style::best) {
            old_[*known].value = merged(old_[*known].value, value, fresh_mask);
            old_[*known].mask |= fresh_mask;
            old_[*known].stored |= stored;
            mask = fresh_mask;
        } else {
            *known = place;
            old_.push_back({home, value, mask, stored});
        }
    } else {
        logged_.insert(key, place);
        old_.push_back({home, value, mask, stored});
    }
    gathered_.push_back(mask == 0xFF ? format::run_tag(offset, 1) : format::masked_tag(offset, mask));
    gathered_.push_back(value);
    if (gathered_.size() >= largest_record_words) send_gathered();
}

void undo_transaction_base::send_gathered() {
    const std::uint64_t words = gathered_.size() - format::record_header_words;
    if (words == 0) return;
    lane_log& log = *pool_->lanes();
    const bool is_first = lane_ == nullptr;
    if (is_first) {
        constexpr std::size_t looks = 1 << 22;
        lane_ = log.try_acquire(looks);
        if (lane_ == nullptr) fail(errc::busy, "too many undo transactions are open at once for this pool's log");
    }
    const std::uint64_t* payload = gathered_.data() + format::record_header_words;
    try {
        auto reserved = log.reserve(*lane_, payload, words, end_record_bytes);
        if (!reserved) throw failure(std::move(reserved).give_error());
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        throw;
#endif
    } catch (...) {
        // Before the first record there is no slack for an end record either, and nothing to end.
        if (is_first) log.release(*std::exchange(lane_, nullptr));
        throw;
    }
    if (is_first) {
        // Not before there is room: while it waits for some it must not hold truncation back.
        sequence_ = log.draw_sequence(*lane_);
        records_ = 0;
    }
    gathered_.resize(format::record_bytes(words) / 8);
    // Recovery misses none that this one says was durable.
    const auto kind = is_first || fence_owed_ ? format::record_kind::undo : format::record_kind::undo_fenced;
    log.append(*lane_, gathered_.data(), words, sequence_, kind, records_++);
    gathered_.resize(format::record_header_words);
    fence_owed_ = true;
}

void undo_transaction_base::fence_records() {
    send_gathered();
    if (!fence_owed_) return;
    fence_owed_ = false;
    persist::fence_or_order(pool_->persists_lines(), pool_->lines(), site::undo_record_fence);
}

void undo_transaction_base::store_word(pool_word* home, std::uint64_t value, std::uint8_t mask) {
    if (outside(home)) {
        check_in_no_other_pool(home);
        return persist::store_word(home, value, mask, site::undo_home);
    }
    if (!fresh_.empty() && fresh_.note_store(home))
        return persist::store_word(home, value, mask, site::undo_home);
    if (!covered(home, mask, true)) gather(home, mask, true);            // 1
    if (!is_planted(planted::old_value_recorded_late)) fence_records();  // 2
    HOLDFAST_ASSERT(!fence_owed_ && is_logged(home), "an old value is durable before the new one is stored");
    persist::store_word(home, value, mask, site::undo_home);             // 3
    if (is_planted(planted::old_value_recorded_late)) fence_records();
}

void undo_transaction_base::log_range(const void* begin, std::size_t size, bool stored) {
    auto [word, byte] = detail::word_of(begin);
    while (size > 0) {
        const std::size_t count = size < 8 - byte ? size : 8 - byte;
        const std::uint8_t mask = detail::byte_mask(byte, static_cast<unsigned>(count));
        const bool fresh = !fresh_.empty() && fresh_.note_store(word);
        if (!outside(word) && !fresh && !covered(word, mask, stored)) gather(word, mask, stored);
        size -= count;
        byte = 0;
        ++word;
    }
}

void undo_transaction_base::store_range(void* home, const void* bytes, std::size_t size) {
    log_range(home, size, true);  // 1
    fence_records();              // 2
    HOLDFAST_ASSERT(!fence_owed_, "old values are durable before new ones are stored");
    const auto* in = static_cast<const unsigned char*>(bytes);
    auto [word, byte] = detail::word_of(home);
    while (size > 0) {
        const std::size_t count = size < 8 - byte ? size : 8 - byte;
        std::uint64_t value = 0;
        std::memcpy(&value, in, count);
        persist::store_word(word, value << (8 * byte), detail::byte_mask(byte, static_cast<unsigned>(count)),
                            site::undo_home);  // 3
        in += count;
        size -= count;
        byte = 0;
        ++word;
    }
}

void undo_transaction_base::note_fresh(const heap_block& block) {
    if (block.clean) fresh_.add(block.address, block.bytes);
}

template <class F>
void undo_transaction_base::for_each_dirty_line(F&& f) {
    dirty_lines_.clear();
    const auto is_new = [this](std::uint64_t line) {
        try {
            return dirty_lines_.find_or_insert(line, 0).inserted;
        } catch (const std::bad_alloc&) {
            // Then it may be written back more than once.
            return true;
        }
    };
    for (const old_word& each : old_) {
        if (!each.stored) continue;
        const std::uint64_t line = reinterpret_cast<std::uintptr_t>(each.home) / persist::line_bytes;
        if (!is_new(line)) continue;
        f(reinterpret_cast<const std::byte*>(line * persist::line_bytes));
        if (is_planted(planted::dirty_lines_forgotten)) return;
    }
}

void undo_transaction_base::write_dirty_lines_back() {
    if (!pool_->persists_lines()) return;
    for_each_dirty_line([&](const std::byte* line) {
        persist::write_back(pool_->lines(), line, persist::line_bytes, site::undo_write_back);
    });
    fresh_.for_each_stored([&](const std::byte* at, std::size_t bytes) {
        persist::write_back(pool_->lines(), at, bytes, site::undo_write_back);
    });
}

void undo_transaction_base::append_end_record(lane_log& log) {
    HOLDFAST_ASSERT(log.has_room(*lane_, end_record_bytes), "a lane has room for the end record");
    std::uint64_t record[end_record_bytes / sizeof(std::uint64_t)] = {};
    log.append(*lane_, record, 0, sequence_, format::record_kind::undo_end);
}

void undo_transaction_base::end_logged() {
    lane_log& log = *pool_->lanes();
    const auto fence = [&](persist::site_id where) {
        persist::fence_or_order(pool_->persists_lines(), pool_->lines(), where);
    };
    HOLDFAST_ASSERT(sequence_ > log.truncated() || !pool_->persists_lines(), "an open transaction's records are kept");
    write_dirty_lines_back();        // 4
    fence(site::undo_home_fence);    // 5
    append_end_record(log);          // 6
    fence(site::undo_commit_fence);  // 7
    log.release(*lane_);             // 8
    lane_ = nullptr;
}

void undo_transaction_base::clear() noexcept {
    gathered_.resize(format::record_header_words);
    old_.clear();
    logged_.clear();
    fresh_.clear();
    fence_owed_ = false;
}

result<void> undo_transaction_base::seal() {
    // A hinted range that was never stored to needs no record.
    gathered_.resize(format::record_header_words);
    if (lane_ != nullptr) end_logged();
    clear();
    return {};
}

result<void> undo_transaction_base::settle() noexcept {
    settle_heap(sequence_);
    return {};
}

void undo_transaction_base::roll_back() noexcept(persist::noexcept_seam) {
    for (std::size_t i = old_.size(); i > 0; --i)
        if (old_[i - 1].stored)
            persist::store_word(old_[i - 1].home, old_[i - 1].value, old_[i - 1].mask, site::undo_restore);
    fresh_.clear();
    if (lane_ != nullptr) end_logged();
    clear();
    roll_heap_back();
}

}  // namespace holdfast
