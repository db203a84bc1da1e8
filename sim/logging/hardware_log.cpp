#include <sim/logging/hardware_log.hpp>

#include <algorithm>
#include <cstddef>
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
    const std::uint32_t logs = config_.place == log_place::hart ? registers_.transactions().harts() : 1;
    if (!is_log(region, logs)) return at;
    logs_.clear();
    for (std::uint32_t log = 0; log < logs; ++log) logs_.emplace_back(log, part_of_region(region, log, logs));
    open_.assign(open_.size(), {});
    truncated_ = cut();
    if (logs > 1) write_header(logs_.front(), offsetof(log_header, logs), logs, at);
    return at;
}

// ---- 1. and 2.

time hardware_log::commit(const port::store_event& event) {
    if (logs_.empty() || !memory_.map().is_nvram(event.where)) return event.at;
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
    log_of(of).begin_merging(waits.where);
    return at;
}

time hardware_log::append(open_transaction& of, const log_record& record, time at) {
    const std::uint64_t bytes = bytes_of(config_.record);
    const std::uint64_t units = bytes / log_record::unit_bytes;
    of.bytes += bytes;
    at = wait_for_room(of.log, units, at);
    if (failure_) return at;
    ring_log& log = log_of(of);
    const log_ring::spot spot = log.ring().at(log.tail());
    log_record made = record;
    made.torn = spot.torn;
    if (of.first == no_position) of.first = log.tail();
    log.append(record, units, of.number);
    registers_.log_tail = log.ring().place_of(log.tail());
    registers_.active_log_region = spot.region;
    counters_.bytes += bytes;
    return pass_buffer(log, made, spot.place, at);
}

// ---- 3.

time hardware_log::pass_buffer(ring_log& log, const log_record& record, address place, time at) {
    const time asked = at;
    if (config_.buffer_entries != 0 && in_buffer_.size() == config_.buffer_entries) {
        at = std::max(at, in_buffer_.front());
        in_buffer_.pop_front();
    }
    const std::uint64_t bytes = bytes_of(config_.record);
    const record_bytes all = encoded(record);
    // What is durable at once (while warming up) is told from inside of this call.
    const std::span<const std::byte> sent = std::span(all).first(bytes);
    const time left = memory_.nvram().append(place, sent, std::max(at, last_left_), log.number());
    last_left_ = left + config_.buffer_step;
    if (config_.buffer_entries == 0) {
        at = left;
    } else {
        in_buffer_.push_back(left);
        tell({port::log_event::kind::buffered, record.where.line(), 0, at, left});
    }
    log.note_combined(place, bytes, left);
    counters_.buffer_wait += at - asked;
    return at;
}

/// Sends on what of the log waits for its other half. Returns when all its records are at the persist point.
time hardware_log::flush(ring_log& log, time at) {
    if (log.partial && is_planted(planted_fault::partial_line_kept)) return std::max(at, last_left_);
    log.partial.reset();
    return memory_.nvram().flush_log(log.number(), std::max(at, last_left_));
}

time hardware_log::flush_all(time at) {
    for (ring_log& each : logs_) at = flush(each, at);
    return at;
}

void hardware_log::settle(time now) {
    while (!expected_.empty() && expected_.front().home <= now) move_next_heads(now);
    bool is_short = false;
    for (ring_log& each : logs_) {
        if (each.partial && each.partial->since + config_.partial_line_limit <= now)
            flush(each, each.partial->since + config_.partial_line_limit);
        while (!each.freed().empty() && each.freed().front().at <= now) each.take_freed();
        is_short = is_short || (each.room() < each.units() / 4 && each.freed().empty());
    }
    if (is_short) free_truncated(now);
}

// ---- 4.

port::permission hardware_log::leave(const port::write_back_event& event) {
    if (event.from != port::level::controller || !measured_) return {event.at, false};
    if (!is_planted(planted_fault::merged_record_passed)) stop_merging(event.line, event.at);
    // Words of one line may have records in several logs. A line without any is noted, too: it may have some when it is
    // written once more, and this write must not be taken for that one.
    time from = event.at;
    for (ring_log& each : logs_) from = std::max(from, each.line_leaves(event.line));
    if (from != never) return {from, false};
    if (config_.safety == log_safety::faithful) return {event.at, false};
    held_.push_back({event.line, event.at});
    counters_.lines_held += 1;
    return {event.at, true};
}

/// Records of the line that wait to be merged with later ones are wanted now.
void hardware_log::stop_merging(address line, time at) {
    const auto is_merging = [line](const ring_log& each) { return each.is_merging(line); };
    if (std::none_of(logs_.begin(), logs_.end(), is_merging)) return;
    for (open_transaction& each : open_) {
        if (each.merged.what == log_record::kind::none || each.merged.where != line) continue;
        append(each, std::exchange(each.merged, {}), at);
    }
}

time hardware_log::press(address line, time at) {
    const auto is_pressed = [line](const held_line& each) { return each.line == line; };
    for (const held_line& each : held_)
        if (is_pressed(each)) tell_held(each, at);
    std::erase_if(held_, is_pressed);
    return flush_all(at);
}

void hardware_log::became_durable(const port::persist_event& event) {
    if (event.from == port::source::log) {
        for (ring_log& each : logs_) {
            if (!each.ring().has(event.what.line)) continue;
            each.note_durable(event.what, event.at);
            return release_held(event.at);
        }
        return;
    }
    bool is_early = false;
    for (ring_log& each : logs_) is_early = !each.line_is_home(event.what.line) || is_early;
    counters_.lines_early += is_early ? 1 : 0;
}

/// A hart that is ahead may have brought the line later than its records are durable.
void hardware_log::tell_held(const held_line& held, time until) const {
    tell({port::log_event::kind::held, held.line, 0, held.since, std::max(held.since, until)});
}

void hardware_log::release_held(time at) {
    for (std::size_t i = 0; i < held_.size();) {
        const held_line each = held_[i];
        const auto lets_it_go = [&](const ring_log& log) { return log.may_go(each.line); };
        if (!std::all_of(logs_.begin(), logs_.end(), lets_it_go)) {
            ++i;
            continue;
        }
        held_[i] = held_.back();
        held_.pop_back();
        tell_held(each, at);
        memory_.nvram().release(each.line, at);
    }
}

// ---- 5.

std::size_t hardware_log::log_number_of(hart_id hart) const { return hart.value % logs_.size(); }

/// One whose register was saved before there was this hardware begins here.
hardware_log::open_transaction& hardware_log::transaction_of(hart_id hart) {
    open_transaction& mine = open_[registers_.active_number(hart)];
    if (mine.is_open) return mine;
    mine = {.is_open = true, .log = log_number_of(hart), .id = registers_.transaction(hart)};
    mine.number = log_of(mine).begin_transaction();
    return mine;
}

time hardware_log::begin(hart_id hart, transaction_id, time at) {
    if (!logs_.empty()) transaction_of(hart);
    return at;
}

time hardware_log::commit(hart_id hart, transaction_id transaction, time at) {
    if (logs_.empty() || !registers_.in_transaction(hart)) return at;
    open_transaction& mine = transaction_of(hart);
    if (mine.merged.what != log_record::kind::none) at = append(mine, std::exchange(mine.merged, {}), at);
    const bool has_records = mine.first != no_position;
    if (has_records) {
        const log_record record{.what = log_record::kind::commit,
                                .transaction = transaction,
                                .thread = hart,
                                .active = registers_.active_number(hart),
                                .number = ++commits_};
        at = append(mine, record, at);
        counters_.commit_records += 1;
        const time durable = flush(log_of(mine), at);
        if (config_.commit == log_commit::durable && !is_planted(planted_fault::commit_too_early)) {
            counters_.commit_wait += durable - at;
            at = durable;
        }
    }
    log_of(mine).end_transaction(mine.number, has_records);
    mine = {};
    return at;
}

void hardware_log::restart() {
    for (open_transaction& each : open_)
        if (each.merged.what != log_record::kind::none) append(each, std::exchange(each.merged, {}), time{});
    measured_ = true;
    held_.clear();
    in_buffer_.clear();
    last_left_ = {};
    counters_ = {};
    truncated_.commits = commits_;
    expected_.clear();
    if (logs_.size() > 1) write_header(logs_.front(), offsetof(log_header, home), commits_, time{});
    for (std::size_t log = 0; log < logs_.size(); ++log) {
        check_open_ones(log);
        logs_[log].restart(open_from(log));
        truncated_.tails[log] = logs_[log].head();
        write_header(logs_[log], offsetof(log_header, head), logs_[log].head(), time{});
    }
}

}  // namespace holdfast::sim
