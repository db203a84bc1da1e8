#include <sim/logging/ring_log.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::sim {

void ring_log::restart(position open_from) {
    durable_ = tail_;
    head_ = std::min(tail_, open_from);
    lines_.clear();
    freed_.clear();
    partial.reset();
}

void ring_log::append(const log_record& record, std::uint64_t units, std::uint64_t of_transaction) {
    for (std::uint64_t i = 0; i < units; ++i) {
        slot& place = slots_[ring_.slot_of(tail_ + i)];
        // Whoever waited for room is ahead of what has been told.
        if (place.durable != place.appended) place.before = place.appended;
        place.appended = tail_ + i + 1;
        place.line = record.where.line();
        place.transaction = i == 0 ? of_transaction : 0;
    }
    tail_ += units;
    const bool is_store = record.what == log_record::kind::store || record.what == log_record::kind::merged;
    if (!is_store) return;
    line_facts& facts = lines_[record.where.line().value];
    facts.newest = tail_;
    if (record.what == log_record::kind::merged) facts.merging -= 1;
}

/// The write-combining buffer sends a line on by itself when it has both halves.
void ring_log::note_combined(address place, std::uint64_t bytes, time at) {
    const bool is_other_half = partial && partial->place.line() == place.line() && partial->place != place;
    if (bytes == line_bytes || is_other_half) {
        partial.reset();
    } else {
        partial = {place, at};
    }
}

// ---- What is durable.

void ring_log::note_durable(const line_write& what, time at) {
    for (std::uint64_t half = 0; half < line_bytes; half += log_record::unit_bytes) {
        if ((what.mask.bits >> half & 1) == 0) continue;
        slot& place = slots_[ring_.slot_at(what.line + half)];
        const position before = std::exchange(place.before, 0);
        place.durable = before != 0 ? before : place.appended;
    }
    // Writes of one line become durable in order: a later lap stands for the one before.
    while (durable_ < tail_ && slots_[ring_.slot_of(durable_)].durable > durable_) ++durable_;
    if (is_planted(planted_fault::hole_overlooked))
        durable_ = std::max(durable_, slots_[ring_.slot_at(what.line)].durable);
    durable_at_ = std::max(durable_at_, at);
}

time ring_log::line_leaves(address line) {
    line_facts& facts = lines_[line.value];
    facts.leaving.push_back(facts.newest);
    if (facts.newest == 0) return time{};
    const bool goes = facts.newest <= durable_ || is_planted(planted_fault::hold_dropped);
    return goes ? durable_at_ : never;
}

bool ring_log::may_go(address line) const {
    const auto found = lines_.find(line.value);
    return found == lines_.end() || found->second.leaving.empty() || found->second.leaving.back() <= durable_;
}

bool ring_log::line_is_home(address line) {
    const auto found = lines_.find(line.value);
    if (found == lines_.end() || found->second.leaving.empty()) return true;
    line_facts& facts = found->second;
    facts.home = std::max(facts.home, facts.leaving.front());
    facts.leaving.pop_front();
    return facts.home <= durable_;
}

// ---- Room.

void ring_log::free(position to, time at) {
    if (!freed_.empty() && freed_.back().at > at) return;
    freed_.push_back({to, at});
    // Of transactions before it nobody asks any more.
    while (!committed_at_.empty() && committed_at_.front() <= to) {
        committed_at_.pop_front();
        ++first_number_;
    }
}

std::uint64_t ring_log::overwrite(position to) {
    std::uint64_t lost = 0;
    for (; head_ < to; ++head_) lost += is_needed(slots_[ring_.slot_of(head_)]) ? 1u : 0u;
    return lost;
}

/// Whether a crash now may need the record: its transaction has no durable commit record, or its line is not home.
bool ring_log::is_needed(const slot& record) const {
    if (record.transaction == 0) return false;
    const std::uint64_t index = record.transaction - first_number_;
    if (record.transaction >= first_number_ && committed_at_[index] > durable_) return true;
    const auto found = lines_.find(record.line.value);
    return found != lines_.end() && found->second.home < record.appended;
}

}  // namespace holdfast::sim
