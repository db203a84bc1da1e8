// The log's room: who waits for it, when the head moves, what is done when there is none, and how the log grows. The
// steps are hardware_log.hpp's.
#include <sim/logging/hardware_log.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::sim {

// ---- 6.

log_cut hardware_log::cut() const {
    log_cut made{.commits = commits_};
    for (const ring_log& each : logs_) made.tails.push_back(each.tail());
    return made;
}

/// Units that can be appended without any more scan.
std::uint64_t hardware_log::room_to_come(std::size_t log) const {
    const ring_log& of = logs_[log];
    position head = of.head_to_come();
    for (const heads_to_come& each : expected_) head = std::max(head, head_at(log, each.to));
    return of.units() - (of.tail() - head);
}

bool hardware_log::runs_short(std::uint64_t part) const {
    for (std::size_t log = 0; log < logs_.size(); ++log)
        if (room_to_come(log) < logs_[log].units() / part) return true;
    return false;
}

bool hardware_log::is_nearly_full() const {
    // Time is told each 64 instructions, all of which may store: twice as many of the largest records.
    constexpr std::uint64_t at_once = 256;
    for (std::size_t log = 0; log < logs_.size(); ++log)
        if (room_to_come(log) < std::min(logs_[log].units() / 8, at_once)) return true;
    return false;
}

std::uint64_t hardware_log::units() const noexcept {
    std::uint64_t sum = 0;
    for (const ring_log& each : logs_) sum += each.units();
    return sum;
}

std::uint64_t hardware_log::room() const noexcept {
    std::uint64_t sum = 0;
    for (const ring_log& each : logs_) sum += each.room();
    return sum;
}

std::uint64_t hardware_log::appended() const noexcept {
    std::uint64_t sum = 0;
    for (const ring_log& each : logs_) sum += each.tail();
    return sum;
}

time hardware_log::wait_for_room(std::size_t number, std::uint64_t units, time at) {
    ring_log& log = logs_[number];
    const time asked = at;
    // A transaction that began while caches were warmed up may have lost records: then there is less than no room.
    while (log.tail() + units - log.head() > log.units() && !failure_) {
        if (is_planted(planted_fault::room_not_awaited)) break;
        const position wanted = log.tail() + units - log.units();
        if (!measured_) {
            log.overwrite(wanted);
        } else if (!log.freed().empty()) {
            at = std::max(at, log.freed().front().at);
            log.take_freed();
        } else if (!expected_.empty()) {
            move_next_heads(at);
        } else if (head_at(number, truncated_) > log.head()) {
            free_truncated(at);
        } else if (config_.safety == log_safety::safe) {
            stop_for_length(number);
        } else {
            counters_.records_lost += log.overwrite(wanted);
        }
    }
    counters_.room_wait += at - asked;
    return at;
}

/// Nothing is free, and nobody can free it: the head waits for the transaction that began first, or for a scan.
void hardware_log::stop_for_length(std::size_t number) {
    const ring_log& log = logs_[number];
    const std::string ring = std::to_string(log.units() * log_record::unit_bytes) + " bytes";
    const position first = open_from(number);
    // What is before it has committed, and would go if there were time for a scan.
    if (first > log.head()) {
        failure_ = {"the log is too short", "log.bytes", "room for what is appended until a scan has forced lines home",
                    "a ring of " + ring};
        return;
    }
    const auto is_oldest = [&](const open_transaction& each) { return each.log == number && each.first == first; };
    const open_transaction& oldest = *std::find_if(open_.begin(), open_.end(), is_oldest);
    failure_ = {"a transaction is longer than the log", "transaction " + std::to_string(oldest.id.value),
                "fewer records after its first one than the ring of " + ring + " has room for, or log_grow in time",
                std::to_string(oldest.bytes) + " bytes of its own and " +
                    std::to_string((log.tail() - first) * log_record::unit_bytes) + " with those of others"};
}

/// While caches are warmed up the ring is overwritten without asking, also by what runs while a transaction is open.
void hardware_log::check_open_ones(std::size_t number) {
    const ring_log& log = logs_[number];
    const position first = open_from(number);
    if (first == no_position || log.tail() - first <= log.units() || failure_) return;
    failure_ = {"the log is too short to begin to measure", "log.bytes",
                "room for all records since the first one of a transaction that is open when the caches are warm, " +
                    std::to_string((log.tail() - first) * log_record::unit_bytes) + " bytes in each log",
                "a ring of " + std::to_string(log.units() * log_record::unit_bytes) + " bytes"};
}

/// The first record of any open transaction.
hardware_log::position hardware_log::open_from(std::size_t log) const {
    position first = no_position;
    for (const open_transaction& each : open_)
        if (each.log == log) first = std::min(first, each.first);
    return first;
}

time hardware_log::truncate(hart_id, time at) {
    truncated_ = cut();
    return at;
}

/// As far as a head may move there: all transactions before it have committed.
hardware_log::position hardware_log::head_at(std::size_t log, const log_cut& to) const {
    if (is_planted(planted_fault::head_past_open)) return to.tails[log];
    return std::min(to.tails[log], open_from(log));
}

bool hardware_log::may_move_heads(const log_cut& to) const {
    for (std::size_t log = 0; log < logs_.size(); ++log)
        if (logs_[log].may_move_head(head_at(log, to))) return true;
    return false;
}

void hardware_log::free_truncated(time at) {
    if (!may_move_heads(truncated_)) return;
    const time home = is_planted(planted_fault::truncated_before_home) ? at : memory_.nvram().push_out(at);
    move_heads(truncated_, home);
}

void hardware_log::write_header(const ring_log& of, std::size_t offset, std::uint64_t value, time at) {
    memory_.nvram().append(of.ring().head_place() + offset, std::as_bytes(std::span(&value, 1)), at, of.number());
}

void hardware_log::expect_heads(const log_cut& to, time home) {
    if (may_move_heads(to)) expected_.push_back({to, home});
}

/// Where the walker is ahead, what is at home in its time is not yet in that of others: the head's own write, and the
/// lines of the log that go before it, would be in front of theirs.
void hardware_log::move_next_heads(time at) {
    const heads_to_come next = std::move(expected_.front());
    expected_.pop_front();
    move_heads(next.to, std::max(at, next.home));
}

void hardware_log::move_heads(const log_cut& to, time at) {
    if (!may_move_heads(to)) return;
    // A transaction that committed at once may have records before it and a commit record that is not durable yet: its
    // undo values are needed until it is.
    at = flush_all(at);
    // Of records that some logs lose others may have older ones of the same word.
    if (logs_.size() > 1 && !is_planted(planted_fault::home_left_out)) {
        write_header(logs_.front(), offsetof(log_header, home), to.commits, at);
        at = flush(logs_.front(), at);
    }
    // Durable before what it frees is overwritten.
    if (!is_planted(planted_fault::head_left_out))
        for (std::size_t log = 0; log < logs_.size(); ++log)
            if (const position head = head_at(log, to); logs_[log].may_move_head(head))
                write_header(logs_[log], offsetof(log_header, head), head, at);
    const time durable = flush_all(at);
    counters_.heads += 1;
    for (std::size_t log = 0; log < logs_.size(); ++log) {
        const position head = head_at(log, to);
        if (!logs_[log].may_move_head(head)) continue;
        logs_[log].free(head, durable);
        registers_.log_head = logs_[log].ring().place_of(head);
    }
}

// ---- 7.

bool hardware_log::is_log(const port::log_region& region, std::uint64_t logs) {
    const memory_map& map = memory_.map();
    const bool in_nvram = map.is_nvram(region.begin) && map.is_nvram(region.begin + (region.bytes - 1));
    if (in_nvram && log_ring::fits(part_of_region(region, 0, logs))) return true;
    failure_ = {"a region is no log", "log_create, log_grow",
                "three whole lines of NVRAM, or more, for each of " + std::to_string(logs) + " logs",
                std::to_string(region.bytes) + " bytes from " + std::to_string(region.begin.value)};
    return false;
}

time hardware_log::grow(hart_id hart, const port::log_region& region, time at) {
    if (logs_.empty() || !is_log(region, 1)) return at;
    ring_log& log = logs_[registers_.in_transaction(hart) ? transaction_of(hart).log : log_number_of(hart)];
    at = flush(log, at);
    const log_header link{0, log.tail(), region.begin, region.bytes};
    const std::size_t offset = offsetof(log_header, grown_from);
    const auto bytes = std::as_bytes(std::span(&link, 1)).subspan(offset, offsetof(log_header, logs) - offset);
    if (!is_planted(planted_fault::link_left_out))
        memory_.nvram().append(log.ring().link_place() + offset, bytes, at, log.number());
    at = flush(log, at);
    last_left_ = std::max(last_left_, at);
    log.grow(region);
    registers_.log_tail = log.ring().place_of(log.tail());
    registers_.active_log_region = log.ring().at(log.tail()).region;
    return at;
}

}  // namespace holdfast::sim
