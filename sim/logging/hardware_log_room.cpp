// The log's room: who waits for it, when the head moves, what is done when there is none, and how the log grows. The
// steps are hardware_log.hpp's.
#include <sim/logging/hardware_log.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::sim {

// ---- 6.

time hardware_log::wait_for_room(std::uint64_t units, time at) {
    const time asked = at;
    while (tail_ + units - head_ > ring_->units() && !failure_) {
        if (is_planted(planted_fault::room_not_awaited)) break;
        const position wanted = tail_ + units - ring_->units();
        if (!measured_) {
            head_ = wanted;
        } else if (!freed_.empty()) {
            at = std::max(at, freed_.front().at);
            head_ = std::max(head_, freed_.front().to);
            freed_.pop_front();
        } else if (truncated_to() > head_) {
            free_truncated(at);
        } else if (config_.safety == log_safety::safe) {
            stop_for_length();
        } else {
            for (position each = head_; each < wanted; ++each) note_overwritten(each);
            head_ = wanted;
        }
    }
    counters_.room_wait += at - asked;
    return at;
}

/// Nothing is free, and nobody can free it: the head waits for the transaction that began first, or for a scan.
void hardware_log::stop_for_length() {
    const std::string ring = std::to_string(ring_->units() * log_record::unit_bytes) + " bytes";
    const auto is_first = [](const open_transaction& each, const open_transaction& other) {
        return each.first < other.first;
    };
    const open_transaction& oldest = *std::min_element(open_.begin(), open_.end(), is_first);
    // What is before it has committed, and would go if there were time for a scan.
    if (oldest.first > head_) {
        failure_ = {"the log is too short", "log.bytes", "room for what is appended until a scan has forced lines home",
                    "a ring of " + ring};
        return;
    }
    failure_ = {"a transaction is longer than the log", "transaction " + std::to_string(oldest.id.value),
                "fewer records behind its first one than the ring of " + ring + " has room for, or log_grow in time",
                std::to_string(oldest.bytes) + " bytes of its own and " +
                    std::to_string((tail_ - oldest.first) * log_record::unit_bytes) + " with those of others"};
}

void hardware_log::note_overwritten(position at) {
    if (is_needed(slots_[ring_->slot_of(at)])) counters_.records_lost += 1;
}

/// Whether a crash now may need the record: its transaction has no durable commit record, or its line is not home.
bool hardware_log::is_needed(const slot& record) const {
    if (record.transaction == 0) return false;
    const std::uint64_t index = record.transaction - first_number_;
    if (record.transaction >= first_number_ && committed_at_[index] > durable_) return true;
    const auto found = lines_.find(record.line.value);
    return found != lines_.end() && found->second.home < record.appended;
}

/// The first record of any open transaction.
hardware_log::position hardware_log::open_from() const {
    position first = no_position;
    for (const open_transaction& each : open_) first = std::min(first, each.first);
    return first;
}

time hardware_log::truncate(hart_id, time at) {
    truncated_to_ = tail_;
    return at;
}

/// As far as the program has truncated the log, and all transactions have committed.
hardware_log::position hardware_log::truncated_to() const { return std::min(truncated_to_, open_from()); }

void hardware_log::free_truncated(time at) {
    if (truncated_to() <= head_) return;
    const time home = is_planted(planted_fault::truncated_before_home) ? at : memory_.nvram().push_out(at);
    move_head(truncated_to_, home);
}

void hardware_log::write_head(position to, time at) {
    memory_.nvram().append(ring_->head_place(), std::as_bytes(std::span(&to, 1)), at);
}

void hardware_log::move_head(position to, time at) {
    if (!is_planted(planted_fault::head_past_open)) to = std::min(to, open_from());
    if (to <= head_ || (!freed_.empty() && to <= freed_.back().to)) return;
    // A transaction that committed at once may have records before it and a commit record that is not durable yet: its
    // undo values are needed until it is.
    at = flush(at);
    // Durable before what it frees is overwritten.
    if (!is_planted(planted_fault::head_left_out)) write_head(to, at);
    const time durable = flush(at);
    counters_.heads += 1;
    if (!freed_.empty() && freed_.back().at > durable) return;
    freed_.push_back({to, durable});
    registers_.log_head = ring_->place_of(to);
    // Of transactions before it nobody asks any more.
    while (!committed_at_.empty() && committed_at_.front() <= to) {
        committed_at_.pop_front();
        ++first_number_;
    }
}

// ---- 7.

bool hardware_log::is_log(const port::log_region& region) {
    const memory_map& map = memory_.map();
    const bool in_nvram = map.is_nvram(region.begin) && map.is_nvram(region.begin + (region.bytes - 1));
    if (in_nvram && log_ring::fits(region)) return true;
    failure_ = {"a region is no log", "log_create, log_grow", "three whole lines of NVRAM, or more",
                std::to_string(region.bytes) + " bytes from " + std::to_string(region.begin.value)};
    return false;
}

time hardware_log::grow(hart_id, const port::log_region& region, time at) {
    if (!ring_ || !is_log(region)) return at;
    at = flush(at);
    const log_header link{0, tail_, region.begin, region.bytes};
    const std::size_t offset = offsetof(log_header, grown_from);
    const auto bytes = std::as_bytes(std::span(&link, 1)).subspan(offset);
    if (!is_planted(planted_fault::link_left_out)) memory_.nvram().append(ring_->link_place() + offset, bytes, at);
    at = flush(at);
    last_left_ = std::max(last_left_, at);
    ring_->grow(region, tail_);
    slots_.resize(ring_->units());
    registers_.log_tail = ring_->place_of(tail_);
    registers_.active_log_region = ring_->at(tail_).region;
    return at;
}

}  // namespace holdfast::sim
