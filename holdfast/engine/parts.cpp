// Parts of a transaction that writes aside: each is what one caller's function did, and can be taken back alone as
// long as it is the last. Owns: how.
//
// Invariants
//   * When a part begins, the parts before it have no fresh blocks, whose bytes are stored in place, and did to the
//     heap only what does not depend on what follows.
//   * A part adds entries to the record behind those of the parts before it. What it stores over theirs is kept.
#include <holdfast/engine/planted.hpp>
#include <holdfast/engine/record_stream.hpp>
#include <holdfast/engine/write_aside.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/private_pages.hpp>

namespace holdfast {
namespace {

/// What parts may fill before the last one: half of what the smallest segment holds. So a part that is too large for
/// the log is too large alone, or nearly.
constexpr std::uint64_t shared_words_at_most = 256;

}  // namespace

void write_set::roll_back_part() noexcept {
    std::uint64_t first_changed = part_begin_;
    if (!is_planted(planted::overwritten_part_kept)) {
        for (; !replaced_.empty(); replaced_.pop_back()) {
            buffer_[replaced_.back().position] = replaced_.back().value;
            first_changed = std::min(first_changed, replaced_.back().position);
        }
    }
    replaced_.clear();
    end_ = part_begin_;
    run_end_ = no_run;
    early_.keep_first(first_changed / 8);
    while (span_count_ > 0 && spans_[span_count_ - 1].position >= part_begin_) --span_count_;
    // The table has room: it held more words a moment ago.
    index_.clear();
    const std::uint64_t* const first = buffer_.get();
    for_each_entry([&](const format::entry& each, const std::uint64_t* values) {
        const auto position = static_cast<std::uint32_t>(values - first);
        if (each.mask != 0xFF) return index_.insert(each.offset >> 3, position | masked_bit);
        for (std::uint32_t i = 0; i < each.words; ++i)
            if (!stands_in_span(position + i)) index_.insert((each.offset >> 3) + i, position + i);
    });
    set_limits();
}

void write_aside_transaction::begin_part() noexcept {
    HOLDFAST_ASSERT(fresh_.empty(), "a block whose bytes are stored in place belongs to the last part");
    if (is_planted(planted::wrong_part_rolled_back) && !writes_.empty()) return;
    writes_.begin_part();
    heap_mark_ = uses_heap_ ? blocks_.mark() : 0;
}

bool write_aside_transaction::takes_another_part() const noexcept {
    return writes_.record_words() <= shared_words_at_most && fresh_.empty() &&
           (!uses_heap_ || blocks_.did_little_since(heap_mark_));
}

void write_aside_transaction::roll_back_part() noexcept(persist::noexcept_seam) {
    // Before others may get the blocks.
    if (private_pages* const pages = fresh_.empty() ? nullptr : pool_->pages_of_homes())
        fresh_.for_each([&](const std::byte* at, std::size_t bytes) { pages->drop(offset_of(at), bytes); });
    fresh_.clear();
    writes_.roll_back_part();
    // Nobody will commit a record that has nothing, and give up the place that it claimed.
    if (writes_.empty()) record_stream::give_up(*pool_, writes_);
    if (uses_heap_) blocks_.roll_back_to(heap_mark_);
}

void write_aside_transaction::plant_torn_record() noexcept(persist::noexcept_seam) {
    if (!is_planted(planted::combined_record_torn)) return;
    writes_.apply(base_, persist::site::redo_home);
    writes_.roll_back_part();
}

}  // namespace holdfast
