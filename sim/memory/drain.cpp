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
        const std::optional<std::size_t> next = next_to_send();
        if (!next) return;
        drain_until_ = std::max(drain_until_, send(*next, at).begin);
    }
}

std::optional<std::size_t> nvram_controller::next_to_send() const noexcept {
    std::optional<std::size_t> oldest;
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        const queued_write& write = queue_[age];
        if (!write.waits() || write.held) continue;
        if (dimm_.bank(write.place.bank).last_row() == write.place.row) return age;
        if (!oldest) oldest = age;
    }
    return oldest;
}

bool nvram_controller::send_one_per_bank(port::source from, time at) {
    std::uint64_t served = 0;
    for (std::size_t age = 0; age < queue_.size(); ++age) {
        const queued_write& write = queue_[age];
        const std::uint64_t bank = std::uint64_t{1} << write.place.bank;
        if (write.from != from || !write.waits() || write.held || (served & bank) != 0) continue;
        send(age, at);
        served |= bank;
    }
    return served != 0;
}

void nvram_controller::send_while_idle(time until) {
    if (config_.drain != drain_policy::idle && !draining_) return;
    for (std::size_t age = 0; age < queue_.size() && waiting_ != 0; ++age) {
        if (draining_ && waiting_ <= config_.low_mark) break;
        const queued_write& write = queue_[age];
        if (!write.waits() || write.held || dimm_.bank(write.place.bank).last_end() >= until) continue;
        const time from = std::max(settled_, write.not_before);
        if (dimm_.find(write.place, access_kind::write, from).begin < until) send(age, from);
    }
    if (waiting_ <= config_.low_mark) draining_ = false;
}

nvram_bank::plan nvram_controller::send(std::size_t age, time at) {
    const time from = after_older_ones(age, std::max({at, settled_, queue_[age].not_before}));
    queued_write& write = queue_[age];
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
time nvram_controller::after_older_ones(std::size_t age, time at) {
    const address line = queue_[age].what.line;
    const bool is_log = keeps_order_of(queue_[age].from);
    if (!is_log && !queue_.may_have_another(line)) return at;
    for (std::size_t older = 0; older < age; ++older) {
        queued_write& write = queue_[older];
        const bool same_line = write.what.line == line;
        if (!same_line && !(is_log && write.from == port::source::log)) continue;
        if (write.held) press(write, at);
        if (write.waits()) send(older, at);
        if (same_line) at = std::max(at, write.completes);
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
