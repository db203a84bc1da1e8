#include <sim/logging/hardware_log.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::sim {

hardware_log::hardware_log(const log_config& config, port::ports& attached, port::control_registers& registers,
                           memory_system& memory)
    : config_(config), registers_(registers), memory_(memory), open_(harts_max) {
    attached.on_store = this;
    attached.on_write_back = this;
    attached.on_persist = this;
    attached.on_transaction = this;
    attached.on_log = this;
}

time hardware_log::create(hart_id, const port::log_region& region, time at) {
    ring_.emplace(region);
    slots_.assign(ring_->units(), {});
    tail_ = head_ = durable_ = truncated_to_ = 0;
    return at;
}

// ---- 1. and 2.

time hardware_log::commit(const port::store_event& event) {
    if (!ring_ || !memory_.map().is_nvram(event.where)) return event.at;
    if (!event.in_transaction) {
        counters_.stores_outside += 1;
        return event.at;
    }
    log_record record{.what = log_record::kind::store,
                      .transaction = event.transaction,
                      .thread = event.hart,
                      .where = event.where,
                      .bytes = static_cast<std::uint8_t>(event.new_bytes.size())};
    std::memcpy(&record.words[0].undo, event.old_bytes.data(), event.old_bytes.size());
    std::memcpy(&record.words[0].redo, event.new_bytes.data(), event.new_bytes.size());
    if (config_.values == logged_values::undo) record.words[0].redo = 0;
    if (config_.values == logged_values::redo) record.words[0].undo = 0;
    counters_.records += 1;
    return log_store(event.hart, record, event.at);
}

time hardware_log::log_store(hart_id hart, const log_record& record, time at) {
    open_transaction& mine = open_[hart.value];
    // A record that waits to be merged is not in the log yet: its line must not pass it.
    if (config_.record == record_format::merged) return append_merged(mine, record, at);
    return append(mine, record, at);
}

/// Stores to one line in a row share a record, which waits for them.
time hardware_log::append_merged(open_transaction& of, const log_record& record, time at) {
    const bool is_word = record.bytes == 8 && record.where.value % 8 == 0;
    log_record& waits = of.merged;
    if (waits.what == log_record::kind::merged && is_word && waits.where == record.where.line()) {
        const auto bit = static_cast<std::uint8_t>(1u << (record.where.offset_in_line() / 8));
        const auto below = static_cast<std::size_t>(std::popcount(static_cast<unsigned>(waits.in_line & (bit - 1))));
        if ((waits.in_line & bit) != 0) return waits.words[below].redo = record.words[0].redo, at;
        if (waits.word_count() < log_record::words_most) {
            for (std::size_t i = waits.words.size() - 1; i > below; --i) waits.words[i] = waits.words[i - 1];
            waits.words[below] = record.words[0];
            waits.in_line |= bit;
            return at;
        }
    }
    if (waits.what != log_record::kind::none) at = append(of, std::exchange(waits, {}), at);
    if (!is_word) return append(of, record, at);
    waits = record;
    waits.what = log_record::kind::merged;
    waits.where = record.where.line();
    waits.in_line = static_cast<std::uint8_t>(1u << (record.where.offset_in_line() / 8));
    // As if it were the last one so far: the line is held for what will be in the log behind it.
    lines_[waits.where.value].newest = no_position;
    return at;
}

time hardware_log::append(open_transaction& of, const log_record& record, time at) {
    const position before = tail_;
    at = append_encoded(record, bytes_of(config_.record), of, at);
    if (of.first == no_position) of.first = before;
    const bool is_store = record.what == log_record::kind::store || record.what == log_record::kind::merged;
    if (is_store) lines_[record.where.line().value].newest = tail_;
    return at;
}

// ---- 2. and 3.

time hardware_log::append_encoded(const log_record& record, std::uint64_t bytes, const open_transaction& of, time at) {
    const std::uint64_t units = bytes / log_record::unit_bytes;
    at = wait_for_room(units, at);
    const time asked = at;
    if (config_.buffer_entries != 0 && in_buffer_.size() == config_.buffer_entries) {
        at = std::max(at, in_buffer_.front());
        in_buffer_.pop_front();
    }
    log_record made = record;
    made.torn = ring_->torn_bit_of(tail_);
    for (std::uint64_t i = 0; i < units; ++i) {
        slot& place = slots_[ring_->slot_of(tail_ + i)];
        // Whoever waited for room is ahead of what has been told.
        if (place.durable != place.appended) place.before = place.appended;
        place.appended = tail_ + i + 1;
        place.line = record.where.line();
        place.transaction = i == 0 ? of.number : 0;
    }
    const record_bytes all = encoded(made);
    const address where = ring_->place_of(tail_);
    tail_ += units;
    registers_.log_tail = ring_->place_of(tail_);
    counters_.bytes += bytes;
    // What is durable at once (while warming up) is told from inside of this call.
    const time left = memory_.nvram().append(where, std::span(all).first(bytes), std::max(at, last_left_));
    last_left_ = left + config_.buffer_step;
    if (config_.buffer_entries == 0) {
        at = left;
    } else {
        in_buffer_.push_back(left);
    }
    if (ring_->begins_line(tail_)) {
        partial_since_.reset();
    } else if (!partial_since_) {
        partial_since_ = left;
    }
    counters_.buffer_wait += at - asked;
    return at;
}

void hardware_log::settle(time now) {
    if (partial_since_ && *partial_since_ + config_.partial_line_limit <= now) {
        const time since = *partial_since_;
        partial_since_.reset();
        memory_.nvram().flush(std::max(since + config_.partial_line_limit, last_left_));
    }
    while (!freed_.empty() && freed_.front().at <= now) {
        head_ = std::max(head_, freed_.front().to);
        freed_.pop_front();
    }
    if (room() < units() / 4 && freed_.empty()) free_truncated(now);
}

// ---- 4.

port::permission hardware_log::leave(const port::write_back_event& event) {
    const auto found = lines_.find(event.line.value);
    if (event.from != port::level::controller || found == lines_.end() || !measured_) return {event.at, false};
    line_facts& facts = found->second;
    if (facts.newest == no_position) {
        // Its record waits to be merged with later ones, and is wanted now.
        for (open_transaction& each : open_) {
            if (each.merged.what == log_record::kind::none || each.merged.where != event.line) continue;
            append(each, std::exchange(each.merged, {}), event.at);
        }
    }
    facts.leaving.push_back(facts.newest);
    if (facts.newest <= durable_) return {std::max(event.at, durable_at_), false};
    if (config_.safety == log_safety::faithful) return {event.at, false};
    held_.push_back(event.line);
    counters_.lines_held += 1;
    return {event.at, true};
}

time hardware_log::press(address line, time at) {
    std::erase(held_, line);
    return memory_.nvram().flush(std::max(at, last_left_));
}

void hardware_log::became_durable(const port::persist_event& event) {
    if (!ring_) return;
    if (event.from == port::source::log) {
        if (!ring_->has(event.what.line)) return;
        note_durable_units(event.what.line, event.what.mask);
        durable_at_ = std::max(durable_at_, event.at);
        release_held(event.at);
        return;
    }
    const auto found = lines_.find(event.what.line.value);
    if (found == lines_.end() || found->second.leaving.empty()) return;
    line_facts& facts = found->second;
    facts.home = std::max(facts.home, facts.leaving.front());
    facts.leaving.pop_front();
    if (facts.home > durable_) counters_.lines_early += 1;
}

void hardware_log::note_durable_units(address line, byte_mask mask) {
    for (std::uint64_t half = 0; half < line_bytes; half += log_record::unit_bytes) {
        if ((mask.bits >> half & 1) == 0) continue;
        slot& place = slots_[ring_->slot_at(line + half)];
        const position before = std::exchange(place.before, 0);
        place.durable = before != 0 ? before : place.appended;
    }
    // Writes of one line become durable in order: a later lap stands for the one before.
    while (durable_ < tail_ && slots_[ring_->slot_of(durable_)].durable > durable_) ++durable_;
}

void hardware_log::release_held(time at) {
    for (std::size_t i = 0; i < held_.size();) {
        const address line = held_[i];
        if (lines_[line.value].leaving.back() > durable_) {
            ++i;
            continue;
        }
        held_[i] = held_.back();
        held_.pop_back();
        memory_.nvram().release(line, at);
    }
}

// ---- 5.

time hardware_log::begin(hart_id hart, transaction_id, time at) {
    open_[hart.value] = {.is_open = true, .first = no_position, .number = ++last_number_, .merged = {}};
    committed_at_.push_back(no_position);
    return at;
}

time hardware_log::commit(hart_id hart, transaction_id transaction, time at) {
    open_transaction& mine = open_[hart.value];
    if (!ring_ || !mine.is_open) return at;
    if (mine.merged.what != log_record::kind::none) at = append(mine, std::exchange(mine.merged, {}), at);
    const bool has_records = mine.first != no_position;
    if (has_records) {
        at = append(mine, {.what = log_record::kind::commit, .transaction = transaction, .thread = hart}, at);
        counters_.commit_records += 1;
        partial_since_.reset();
        const time durable = memory_.nvram().flush(std::max(at, last_left_));
        if (config_.commit == log_commit::durable) {
            counters_.commit_wait += durable - at;
            at = durable;
        }
    }
    committed_at_[mine.number - first_number_] = has_records ? tail_ : 0;
    mine = {};
    return at;
}

// ---- 6.

time hardware_log::wait_for_room(std::uint64_t units, time at) {
    const time asked = at;
    while (tail_ + units - head_ > ring_->units()) {
        if (!measured_) {
            head_ = tail_ + units - ring_->units();
        } else if (!freed_.empty()) {
            at = std::max(at, freed_.front().at);
            head_ = std::max(head_, freed_.front().to);
            freed_.pop_front();
        } else if (truncated_to_ > head_) {
            free_truncated(at);
        } else {
            overflowed_ = overflowed_ || config_.safety == log_safety::safe;
            for (position each = head_; each < tail_ + units - ring_->units(); ++each) note_overwritten(each);
            head_ = tail_ + units - ring_->units();
        }
    }
    counters_.room_wait += at - asked;
    return at;
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
    for (const open_transaction& each : open_)
        if (each.is_open) first = std::min(first, each.first);
    return first;
}

time hardware_log::truncate(hart_id, time at) {
    truncated_to_ = std::max(truncated_to_, std::min(tail_, open_from()));
    return at;
}

void hardware_log::free_truncated(time at) {
    if (truncated_to_ > head_) move_head(truncated_to_, memory_.nvram().push_out(at));
}

void hardware_log::move_head(position to, time at) {
    to = std::min(to, open_from());
    if (to <= head_ || (!freed_.empty() && to <= freed_.back().to)) return;
    // A transaction that committed at once may have records before it and a commit record that is not durable yet: its
    // undo values are needed until it is.
    at = memory_.nvram().flush(std::max(at, last_left_));
    // Durable before what it frees is overwritten.
    memory_.nvram().append(ring_->head_place(), std::as_bytes(std::span(&to, 1)), at);
    const time durable = memory_.nvram().flush(at);
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

void hardware_log::restart() {
    for (open_transaction& each : open_)
        if (each.merged.what != log_record::kind::none) append(each, std::exchange(each.merged, {}), time{});
    measured_ = true;
    durable_ = tail_;
    // What open ones have stored is home, too: recovery may have to undo it.
    head_ = truncated_to_ = std::min(tail_, open_from());
    lines_.clear();
    held_.clear();
    freed_.clear();
    in_buffer_.clear();
    last_left_ = {};
    partial_since_.reset();
    counters_ = {};
    memory_.nvram().append(ring_->head_place(), std::as_bytes(std::span(&head_, 1)), time{});
}

}  // namespace holdfast::sim
