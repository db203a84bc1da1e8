#include <sim/logging/hardware_log.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::sim {

hardware_log::hardware_log(const log_config& config, port::ports& attached, port::control_registers& registers,
                           memory_system& memory)
    : config_(config), registers_(registers), memory_(memory), open_(transaction_registers::active_most) {
    attached.on_store = this;
    attached.on_write_back = this;
    attached.on_persist = this;
    attached.on_transaction = this;
    attached.on_log = this;
    attached_ = &attached;
}

time hardware_log::create(hart_id, const port::log_region& region, time at) {
    if (!is_log(region)) return at;
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
                      .active = registers_.active_number(event.hart),
                      .where = event.where,
                      .bytes = static_cast<std::uint8_t>(event.new_bytes.size())};
    std::memcpy(&record.words[0].undo, event.old_bytes.data(), event.old_bytes.size());
    if (is_planted(planted_fault::old_value_of_memory)) {
        line_data line;
        memory_.peek(event.where.line(), line);
        std::memcpy(&record.words[0].undo, line.data() + event.where.offset_in_line(), event.old_bytes.size());
    }
    std::memcpy(&record.words[0].redo, event.new_bytes.data(), event.new_bytes.size());
    if (config_.values == logged_values::undo) record.words[0].redo = 0;
    if (config_.values == logged_values::redo) record.words[0].undo = 0;
    counters_.records += 1;
    return log_store(event.hart, record, event.at);
}

time hardware_log::log_store(hart_id hart, const log_record& record, time at) {
    open_transaction& mine = transaction_of(hart);
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
    lines_[waits.where.value].merging += 1;
    return at;
}

time hardware_log::append(open_transaction& of, const log_record& record, time at) {
    const std::uint64_t bytes = bytes_of(config_.record);
    const std::uint64_t units = bytes / log_record::unit_bytes;
    of.bytes += bytes;
    at = wait_for_room(units, at);
    if (failure_) return at;
    const time asked = at;
    if (config_.buffer_entries != 0 && in_buffer_.size() == config_.buffer_entries) {
        at = std::max(at, in_buffer_.front());
        in_buffer_.pop_front();
    }
    const log_ring::spot spot = ring_->at(tail_);
    log_record made = record;
    made.torn = spot.torn;
    if (of.first == no_position) of.first = tail_;
    note_appended(record, units, of);
    registers_.active_log_region = spot.region;
    counters_.bytes += bytes;
    // What is durable at once (while warming up) is told from inside of this call.
    const record_bytes all = encoded(made);
    const time left = memory_.nvram().append(spot.place, std::span(all).first(bytes), std::max(at, last_left_));
    last_left_ = left + config_.buffer_step;
    if (config_.buffer_entries == 0) {
        at = left;
    } else {
        in_buffer_.push_back(left);
        tell({port::log_event::kind::buffered, record.where.line(), 0, at, left});
    }
    note_combined(spot.place, bytes, left);
    counters_.buffer_wait += at - asked;
    return at;
}

void hardware_log::note_appended(const log_record& record, std::uint64_t units, const open_transaction& of) {
    for (std::uint64_t i = 0; i < units; ++i) {
        slot& place = slots_[ring_->slot_of(tail_ + i)];
        // Whoever waited for room is ahead of what has been told.
        if (place.durable != place.appended) place.before = place.appended;
        place.appended = tail_ + i + 1;
        place.line = record.where.line();
        place.transaction = i == 0 ? of.number : 0;
    }
    tail_ += units;
    registers_.log_tail = ring_->place_of(tail_);
    const bool is_store = record.what == log_record::kind::store || record.what == log_record::kind::merged;
    if (!is_store) return;
    line_facts& facts = lines_[record.where.line().value];
    facts.newest = tail_;
    if (record.what == log_record::kind::merged) facts.merging -= 1;
}

/// The write-combining buffer sends a line on by itself when it has both halves.
void hardware_log::note_combined(address place, std::uint64_t bytes, time at) {
    const bool is_other_half = partial_ && partial_->place.line() == place.line() && partial_->place != place;
    if (bytes == line_bytes || is_other_half) {
        partial_.reset();
    } else {
        partial_ = {place, at};
    }
}

/// Sends on what waits for its other half. Returns when all records are at the persist point.
time hardware_log::flush(time at) {
    if (partial_ && is_planted(planted_fault::partial_line_kept)) return std::max(at, last_left_);
    partial_.reset();
    return memory_.nvram().flush(std::max(at, last_left_));
}

void hardware_log::settle(time now) {
    if (partial_ && partial_->since + config_.partial_line_limit <= now)
        flush(partial_->since + config_.partial_line_limit);
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
    if (facts.merging != 0 && !is_planted(planted_fault::merged_record_passed)) {
        // Records that wait to be merged with later ones are wanted now.
        for (open_transaction& each : open_) {
            if (each.merged.what == log_record::kind::none || each.merged.where != event.line) continue;
            append(each, std::exchange(each.merged, {}), event.at);
        }
    }
    facts.leaving.push_back(facts.newest);
    const bool goes = facts.newest <= durable_ || is_planted(planted_fault::hold_dropped);
    if (goes) return {std::max(event.at, durable_at_), false};
    if (config_.safety == log_safety::faithful) return {event.at, false};
    held_.push_back(event.line);
    facts.held_since = event.at;
    counters_.lines_held += 1;
    return {event.at, true};
}

time hardware_log::press(address line, time at) {
    std::erase(held_, line);
    tell_held(line, at);
    return flush(at);
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
    if (is_planted(planted_fault::hole_overlooked))
        durable_ = std::max(durable_, slots_[ring_->slot_at(line)].durable);
}

/// A hart that is ahead may have brought the line later than its records are durable.
void hardware_log::tell_held(address line, time until) {
    const time since = lines_[line.value].held_since;
    tell({port::log_event::kind::held, line, 0, since, std::max(since, until)});
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
        tell_held(line, at);
        memory_.nvram().release(line, at);
    }
}

// ---- 5.

/// One whose register was saved before there was this hardware begins here.
hardware_log::open_transaction& hardware_log::transaction_of(hart_id hart) {
    open_transaction& mine = open_[registers_.active_number(hart)];
    if (mine.is_open) return mine;
    mine = {.is_open = true, .number = ++last_number_, .id = registers_.transaction(hart)};
    committed_at_.push_back(no_position);
    return mine;
}

time hardware_log::begin(hart_id hart, transaction_id, time at) {
    transaction_of(hart);
    return at;
}

time hardware_log::commit(hart_id hart, transaction_id transaction, time at) {
    if (!ring_ || !registers_.in_transaction(hart)) return at;
    open_transaction& mine = transaction_of(hart);
    if (mine.merged.what != log_record::kind::none) at = append(mine, std::exchange(mine.merged, {}), at);
    const bool has_records = mine.first != no_position;
    if (has_records) {
        const std::uint8_t active = registers_.active_number(hart);
        at = append(mine, {log_record::kind::commit, transaction, hart, active}, at);
        counters_.commit_records += 1;
        const time durable = flush(at);
        if (config_.commit == log_commit::durable && !is_planted(planted_fault::commit_too_early)) {
            counters_.commit_wait += durable - at;
            at = durable;
        }
    }
    committed_at_[mine.number - first_number_] = has_records ? tail_ : 0;
    mine = {};
    return at;
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
    partial_.reset();
    counters_ = {};
    write_head(head_, time{});
}

}  // namespace holdfast::sim
