#include <sim/memory/nvram_controller.hpp>

namespace holdfast::sim {

nvram_controller::nvram_controller(const memory_config& config, const port::ports& attached)
    : config_(config.controller),
      attached_(attached),
      dimm_(config.nvram, config.map.nvram_begin),
      queue_(config.controller.write_entries + config.controller.log_entries),
      combining_(config.controller.combining_entries),
      reads_in_flight_(config.controller.read_entries) {}

time nvram_controller::read(address line, line_data& into, time at) {
    if (instant_) {
        image_.read(line, into);
        return at;
    }
    counters_.reads += 1;
    const time asked = at;
    at += config_.latency;
    // Later writes of this line go through the queue, and must not be overtaken by what the buffer has of it.
    if (const auto combined = combining_.find(line)) send_combined(*combined, at);
    image_.read(line, into);
    if (overlay_queued(line, into).is_all()) {
        counters_.reads_forwarded += 1;
        counters_.read_time += at + config_.forward - asked;
        return at + config_.forward;
    }
    at = take_read_entry(at);
    if (config_.drain == drain_policy::marks_block) at = std::max(at, drain_until_);
    const nvram_place place = dimm_.place_of(line);
    const nvram_bank::plan chance = reserve(place, access_kind::read, at);
    if (attached_.on_bank) tell_bank(chance, place, access_kind::read, line, port::source::data, at);
    reads_in_flight_[next_read_] = chance.end();
    next_read_ = next_read_ + 1 == reads_in_flight_.size() ? 0 : next_read_ + 1;
    counters_.read_time += chance.end() - asked;
    return chance.end();
}

nvram_bank::plan nvram_controller::reserve(const nvram_place& place, access_kind kind, time from) {
    const nvram_bank::plan chance = dimm_.find(place, kind, from);
    dimm_.take(chance, place, kind);
    return chance;
}

void nvram_controller::tell_bank(const nvram_bank::plan& chance, const nvram_place& place, access_kind kind,
                                 address line, port::source from, time queued) const {
    attached_.on_bank->access({line, place.bank, place.row, kind == access_kind::write, chance.hit, chance.begin,
                               chance.end(), from, queued});
}

time nvram_controller::take_read_entry(time at) const noexcept {
    // Entries are used in turn: the next one is the oldest, which is nearly always done.
    return std::max(at, reads_in_flight_[next_read_]);
}

byte_mask nvram_controller::overlay_queued(address line, line_data& into) const noexcept {
    byte_mask known{};
    for (const queued_write* const each : queue_.near(line)) {
        if (each->what.line != line) continue;
        each->what.apply_to(into);
        known.bits |= each->what.mask.bits;
    }
    return known;
}

time nvram_controller::write(const line_write& what, write_origin origin, time at) {
    if (instant_) {
        image_.write(what);
        return at;
    }
    at += config_.latency;
    // Bytes that were streamed before stay before.
    if (const auto combined = combining_.find(what.line)) at = send_combined(*combined, at);
    return accept(what, port::source::data, origin, at);
}

time nvram_controller::accept(const line_write& what, port::source from, write_origin origin, time at,
                              std::uint32_t log) {
    at = std::max(at, settled_);
    port::permission leave{at};
    if (attached_.on_write_back && from == port::source::data) {
        leave = attached_.on_write_back->leave(
            {port::level::controller, 0, what.line, line_view(what.bytes), origin.why, at});
    }
    if (overflows(at)) {
        image_.write(what);
        return at;
    }
    const time asked = at;
    // The log is in order at this persist point, too, though harts append a little ahead of each other.
    if (keeps_order_of(from)) at = std::max(at, last_log_accepted_);
    at = make_room(from, at);
    if (from == port::source::log) last_log_accepted_ = std::max(last_log_accepted_, at);
    if (at != asked) {
        counters_.writes_refused += 1;
        counters_.refused_time += at - asked;
    }
    (from == port::source::log ? counters_.log_writes : counters_.writes) += 1;
    if (!what.mask.is_all()) counters_.partial_writes += 1;
    queued_write& write =
        queue_.push({what, dimm_.place_of(what.line), from, origin.why == port::reason::streamed, origin.awaited_by,
                     asked, at, std::max(at, leave.not_before), never, leave.until_released, log});
    if (!write.held) let_go(write, at);
    return at;
}

void nvram_controller::let_go(queued_write& write, time at) {
    write.held = false;
    waiting_ += 1;
    if (config_.persist == persist_point::controller) tell_persisted(write, write.not_before);
    if (!write.bypasses || config_.log == log_arbitration::in_order) {
        drain(at);
    } else {
        send_bypassing(config_.log == log_arbitration::data_first ? std::max(at, drain_until_) : at);
    }
}

void nvram_controller::press(queued_write& write, time at) {
    const time released = attached_.on_write_back ? attached_.on_write_back->press(write.what.line, at) : at;
    if (!write.held) return;  // the port released it by itself
    write.not_before = std::max(write.not_before, released == never ? at : released);
    let_go(write, at);
}

void nvram_controller::release(address line, time at) {
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        queued_write& write = queue_[age];
        if (!write.held || write.what.line != line) continue;
        write.not_before = std::max(write.not_before, at);
        let_go(write, at);
    }
}

// Whoever may have a write waiting for room is a core's miss, a store queue, the log or the walker: a machine has far
// fewer. For the host each write that waits makes the search for room longer.
bool nvram_controller::overflows(time at) noexcept {
    constexpr std::size_t senders_most = 512;
    if (overflowed_ || queue_.size() <= senders_most) return overflowed_;
    // What a walk does that is ahead of the harts has not been asked for yet.
    overflowed_ = queue_.not_accepted(at) > senders_most;
    return overflowed_;
}

time nvram_controller::make_room(port::source from, time at) {
    const std::uint32_t entries = from == port::source::log ? config_.log_entries : config_.write_entries;
    if (queue_.size() < entries) return at;
    while (true) {
        at = queue_.occupied_at_most(from, entries - 1, at);
        if (queue_.occupied(from, at) < entries) return at;
        if (send_one_per_bank(from, at)) continue;
        // All are held: the oldest has to be let go for anything to move.
        for (queued_write* const each : queue_.unsent()) {
            if (each->from != from || !each->held) continue;
            press(*each, at);
            break;
        }
    }
}

time nvram_controller::stream(hart_id hart, address where, std::span<const std::byte> bytes, time at) {
    if (instant_) {
        image_.write_bytes(where, bytes);
        return at;
    }
    return combine(where, bytes, port::source::data, 0, hart_set::only(hart), at);
}

time nvram_controller::append(address where, std::span<const std::byte> bytes, time at, std::uint32_t log) {
    if (instant_) {
        image_.write_bytes(where, bytes);
        line_write made{where.line(), byte_mask{}, {}};
        made.add(where.offset_in_line(), bytes);
        if (attached_.on_persist) attached_.on_persist->became_durable({made, port::source::log, at});
        return at;
    }
    return combine(where, bytes, port::source::log, log, hart_set::none(), at);
}

time nvram_controller::combine(address where, std::span<const std::byte> bytes, port::source from, std::uint32_t log,
                               hart_set harts, time at) {
    std::optional<std::size_t> found = combining_.find(where.line());
    if (found && combining_[*found].from != from) {
        at = send_combined(*found, at);
        found.reset();
    }
    if (!found) {
        if (combining_.full()) at = send_combined(0, at);
        combining_.add(where.line(), from, log, at);
        found = combining_.size() - 1;
    }
    combined_line& line = combining_[*found];
    line.what.add(where.offset_in_line(), bytes);
    line.harts.add(harts);
    return line.what.mask.is_all() ? send_combined(*found, at) : at;
}

bool nvram_controller::goes_before(const combined_line& older, const combined_line& newer) const noexcept {
    if (older.from != port::source::log || newer.from != port::source::log) return false;
    return older.log == newer.log || config_.log_order == log_order::kept;
}

time nvram_controller::send_combined(std::size_t age, time at) {
    // What the log began earlier goes first.
    for (std::size_t older = 0; older < age;) {
        if (goes_before(combining_[older], combining_[age])) {
            at = send_combined(older, at);
            --age;
        } else {
            ++older;
        }
    }
    const combined_line line = combining_.take(age);
    return accept(line.what, line.from, {port::reason::streamed, line.harts}, at, line.log);
}

/// The lines of the log source that `which` names, the oldest first.
template <class Which>
time nvram_controller::send_combined_log(time at, Which&& which) {
    for (std::size_t age = 0; age < combining_.size();) {
        if (combining_[age].from == port::source::log && which(combining_[age])) {
            at = send_combined(age, at);
            age = 0;  // older ones may have gone as well
        } else {
            ++age;
        }
    }
    return at;
}

void nvram_controller::await(hart_id hart, address line) {
    if (const auto combined = combining_.find(line)) combining_[*combined].harts.add(hart_set::only(hart));
    for (queued_write* const each : queue_.near(line)) {
        if (each->what.line == line) each->awaited_by.add(hart_set::only(hart));
    }
}

time nvram_controller::fence(hart_id hart, time at) {
    for (std::size_t age = 0; age < combining_.size();) {
        if (combining_[age].harts.has(hart)) {
            at = send_combined(age, at);
            age = 0;  // older log lines may have gone as well
        } else {
            ++age;
        }
    }
    time done = at;
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        queued_write& write = queue_[age];
        if (!write.awaited_by.has(hart)) continue;
        if (write.held) press(write, at);
        if (config_.persist == persist_point::controller) {
            done = std::max(done, write.not_before);
        } else {
            if (write.waits()) send(write, at);
            done = std::max(done, write.completes);
        }
        write.awaited_by.remove(hart);
    }
    return done;
}

void nvram_controller::send_bypassing(time at) {
    for (queued_write* each = queue_.unsent_since(0); each != nullptr; each = queue_.unsent_since(each->number + 1)) {
        if (each->bypasses && !each->held) send(*each, at);
    }
}

void nvram_controller::send_log(time at) {
    for (queued_write* each = queue_.unsent_since(0); each != nullptr; each = queue_.unsent_since(each->number + 1)) {
        if (each->from == port::source::log) send(*each, at);
    }
}

time nvram_controller::flush(time at) {
    at = send_combined_log(at, [](const combined_line&) { return true; });
    if (config_.persist == persist_point::controller) return std::max(at, last_log_accepted_);
    send_log(at);
    return std::max(at, last_log_);
}

time nvram_controller::flush_log(std::uint32_t log, time at) {
    at = send_combined_log(at, [log](const combined_line& each) { return each.log == log; });
    time done = at;
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        queued_write& write = queue_[age];
        if (write.from != port::source::log || write.log != log) continue;
        const bool at_controller = config_.persist == persist_point::controller;
        if (!at_controller && write.waits()) send(write, at);
        done = std::max(done, at_controller ? write.accepted : write.completes);
    }
    return done;
}

void nvram_controller::tell_persisted(const queued_write& write, time at) {
    if (attached_.on_persist) attached_.on_persist->became_durable({write.what, write.from, at});
}

void nvram_controller::retire(time until) {
    queue_.retire(until, [this](const queued_write& write) {
        image_.write(write.what);
        if (config_.persist == persist_point::array) tell_persisted(write, write.completes);
    });
}

void nvram_controller::settle_slowly(time now) {
    if (now <= settled_) return;
    while (config_.combining_limit != time{} && !combining_.empty() &&
           combining_[0].since + config_.combining_limit <= now) {
        send_combined(0, combining_[0].since + config_.combining_limit);
    }
    send_while_idle(now);
    retire(now);
    settled_ = now;
}

memory_image nvram_controller::crash(time at) {
    settle(at);
    if (config_.persist == persist_point::controller) {
        for (std::size_t age = 0; age < queue_.size(); ++age) {
            const queued_write& write = queue_[age];
            if (!write.held && write.not_before <= at) image_.write(write.what);
        }
    }
    return std::move(image_);
}

time nvram_controller::finish(time at) {
    while (!combining_.empty()) at = send_combined(0, at);
    at = send_all(at);
    settle(at);
    return at;
}

time nvram_controller::send_all(time at) {
    time done = at;
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        if (queue_[age].held) press(queue_[age], at);
        if (queue_[age].waits()) send(queue_[age], at);
        done = std::max(done, queue_[age].completes);
    }
    return done;
}

time nvram_controller::push_out(time at) {
    if (instant_) return at;
    const time done = send_all(at);
    return config_.persist == persist_point::controller ? at : done;
}

void nvram_controller::set_instant(bool instant) {
    if (instant && !instant_) {
        const time done = finish(settled_);
        retire(done);
    }
    instant_ = instant;
}

void nvram_controller::peek(address line, line_data& into) const {
    image_.read(line, into);
    overlay_queued(line, into);
    if (const auto combined = combining_.find(line)) combining_[*combined].what.apply_to(into);
}

void nvram_controller::poke(const line_write& what) {
    image_.write(what);
    // What is on its way would undo it.
    const auto also_there = [&what](line_write& other) {
        what.apply_to(other.bytes);
        other.mask.bits |= what.mask.bits;
    };
    if (const auto combined = combining_.find(what.line)) also_there(combining_[*combined].what);
    for (queued_write* const each : queue_.near(what.line)) {
        if (each->what.line == what.line) also_there(each->what);
    }
}

}  // namespace holdfast::sim
