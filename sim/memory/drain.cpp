// When a queued write goes to its bank, and which one: the drain policies of memory_config.hpp.
//
// Two mechanisms serve them all. `drain` sends a batch at once: the banks are reserved one write behind the other, and
// reads that come later wait for what their bank has been given. `send_while_idle` gives a bank its next write only
// when time has come so far that no earlier read can claim the place.
#include <sim/memory/nvram_controller.hpp>

namespace holdfast::sim {

void nvram_controller::drain(time at) {
    const bool at_high_mark = waiting_ >= config_.high_mark;
    if (config_.drain == drain_policy::marks_between) {
        if (at_high_mark && !draining_) counters_.drains += 1;
        draining_ = draining_ || at_high_mark;
        return;
    }
    if (config_.drain != drain_policy::marks && config_.drain != drain_policy::marks_block) return;
    // With `marks_block` reads wait anyway, and what arrives before the last one of a batch begins prolongs the drain.
    // With `marks` such a write would go between two reads of another row, and each would open its row anew.
    const bool prolongs = config_.drain == drain_policy::marks_block && at < drain_until_;
    if (!at_high_mark && !prolongs) return;
    if (at_high_mark) counters_.drains += 1;
    while (waiting_ > config_.low_mark) {
        queued_write* const next = next_to_send();
        if (next == nullptr) return;
        drain_until_ = std::max(drain_until_, send(*next, at).begin);
    }
}

queued_write* nvram_controller::next_to_send() const noexcept {
    queued_write* oldest = nullptr;
    for (queued_write* const each : queue_.unsent()) {
        if (each->held) continue;
        if (dimm_.bank(each->place.bank).last_row() == each->place.row) return each;
        if (oldest == nullptr) oldest = each;
    }
    return oldest;
}

bool nvram_controller::send_one_per_bank(port::source from, time at) {
    std::uint64_t served = 0;
    for (queued_write* each = queue_.unsent_since(0); each != nullptr; each = queue_.unsent_since(each->number + 1)) {
        const std::uint64_t bank = std::uint64_t{1} << each->place.bank;
        if (each->from != from || each->held || (served & bank) != 0) continue;
        send(*each, at);
        served |= bank;
    }
    return served != 0;
}

void nvram_controller::send_while_idle(time until) {
    if (config_.drain != drain_policy::idle && !draining_) return;
    for (queued_write* each = queue_.unsent_since(0); each != nullptr; each = queue_.unsent_since(each->number + 1)) {
        if (draining_ && waiting_ <= config_.low_mark) break;
        if (each->held || dimm_.bank(each->place.bank).last_end() >= until) continue;
        const time from = std::max(settled_, each->not_before);
        if (dimm_.find(each->place, access_kind::write, from).begin < until) send(*each, from);
    }
    if (waiting_ <= config_.low_mark) draining_ = false;
}

nvram_bank::plan nvram_controller::send(queued_write& write, time at) {
    const time from = after_older_ones(write, std::max({at, settled_, write.not_before}));
    // A held one among the older was pressed, and the drain that this set off has sent this one, too.
    if (!write.waits()) return {write.completes, time{}, false};
    const nvram_bank::plan chance = keeps_order_of(write.from)
                                        ? reserve_in_order(write.place, from)
                                        : reserve(write.place, access_kind::write, from);
    if (attached_.on_bank) {
        tell_bank(chance, write.place, access_kind::write, write.what.line, write.from, write.accepted);
    }
    write.completes = chance.end();
    waiting_ -= 1;
    queue_.sent(write);
    if (write.from == port::source::log) last_log_ = std::max(last_log_, write.completes);
    return chance;
}

// Two orders hold whatever the policy: writes of one line, and the lines of a log that is to keep its order.
time nvram_controller::after_older_ones(const queued_write& write, time at) {
    const bool is_log = keeps_order_of(write.from);
    const auto goes_first = [&](const queued_write& older) {
        return older.what.line == write.what.line || (is_log && older.from == port::source::log);
    };
    const auto send_first = [&](queued_write& older) {
        if (older.held) press(older, at);
        if (older.waits()) send(older, at);
        if (older.what.line == write.what.line) at = std::max(at, older.completes);
    };
    if (queue_.has_older_of_line(write)) {
        for (std::size_t age = 0; queue_[age].number < write.number; ++age) {
            if (goes_first(queue_[age])) send_first(queue_[age]);
        }
    } else if (is_log) {
        for (queued_write* each = queue_.unsent_since(0); each != nullptr && each->number < write.number;
             each = queue_.unsent_since(each->number + 1)) {
            if (goes_first(*each)) send_first(*each);
        }
    }
    return at;
}

// A line of such a log may begin before the one in front of it is done, so that a new row opens while the last one is
// written to, but not end before it.
nvram_bank::plan nvram_controller::reserve_in_order(const nvram_place& place, time from) {
    nvram_bank::plan chance = dimm_.find(place, access_kind::write, from);
    while (chance.end() < last_log_) {
        chance = dimm_.find(place, access_kind::write, chance.begin + (last_log_ - chance.end()));
    }
    dimm_.take(chance, place, access_kind::write);
    return chance;
}

}  // namespace holdfast::sim
