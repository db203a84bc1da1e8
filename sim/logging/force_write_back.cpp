#include <sim/logging/force_write_back.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::sim {

void force_write_back::restart() noexcept {
    scanning_ = false;
    walked_until_ = {};
    due_ = log_.config().period();
    at_begin_ = at_last_begin_ = log_.cut();
    counters_ = {};
    ended_.clear();
    past_ = {};
    took_.clear();
}

void force_write_back::reached_in_warm_up() {
    const std::uint64_t units = log_.appended();
    const std::uint64_t of_log = log_.units() / part_of_log_in_warm_up;
    const std::uint64_t part = std::clamp<std::uint64_t>(of_log, 1, most_units_in_warm_up);
    if (units - warm_up_units_ < part) return;
    warm_up_units_ = units;
    walked_until_ = {};
    for (next_set_ = 0; next_set_ < sets();) walk_one(false);
}

void force_write_back::write_homes() {
    const auto visit = [this](walked_line& line) {
        if (!line.dirty) return false;
        line_write newest{line.line, byte_mask::all(), {}};
        caches_.peek(line.line, newest.bytes);
        memory_.poke(newest);
        return false;
    };
    for (std::uint32_t core = 0; core < cores_; ++core)
        for (std::uint64_t set = 0; set < walker_.data_sets(); ++set) walker_.walk_data(core, set, {}, visit);
    for (std::uint64_t set = 0; set < walker_.l2_sets(); ++set) walker_.walk_l2(set, {}, visit);
}

// ---- 1.

void force_write_back::reached(time now) {
    for (; !ended_.empty() && ended_.front().end <= now; ended_.pop_front())
        past_ += ended_.front().end - ended_.front().begin;
    // So that two scans are through before the log is full.
    const bool runs_short = log_.config().safety == log_safety::safe && log_.runs_short(4) &&
                            !is_planted(planted_fault::room_not_awaited);
    if (!scanning_) {
        // There is one walker: its scans follow each other, also where they are ahead of the time that is told.
        const bool hurries = runs_short && log_.config().scans_force && log_.may_be_freed();
        if (now >= std::max(due_, walked_until_) || hurries) begin_scan(std::max(now, walked_until_), hurries);
    }
    if (scanning_ && runs_short && log_.is_nearly_full()) {
        // Harts will wait for room before they meet the walker.
        while (next_set_ < sets()) walk_one(hurried_);
    }
    while (scanning_ && next_set_ < sets() && walked_until_ <= now + ahead) walk_one(hurried_);
    if (scanning_ && next_set_ == sets()) end_scan(now);
}

void force_write_back::begin_scan(time at, bool hurried) {
    scanning_ = true;
    hurried_ = hurried;
    next_set_ = 0;
    began_ = walked_until_ = at;
    counters_.scans += 1;
    counters_.hurried += hurried ? 1 : 0;
    if (at > due_) counters_.late += at - due_;
    due_ = at + log_.config().period();
    at_last_begin_ = std::exchange(at_begin_, log_.cut());
}

// ---- 2. and 3.

void force_write_back::walk_one(bool all) {
    const bool forces = log_.config().scans_force;
    const auto visit = [all, forces](walked_line& line) {
        const bool stays = line.dirty && line.spare == 0;
        line.spare = line.dirty ? 1 : 0;
        return forces && line.dirty && (all || !stays);
    };
    const std::uint64_t in_data = cores_ * walker_.data_sets();
    const auto core = static_cast<std::uint32_t>(next_set_ % cores_);
    const walked_set walked = next_set_ < in_data
                                  ? walker_.walk_data(core, next_set_ / cores_, walked_until_, visit)
                                  : walker_.walk_l2(next_set_ - in_data, walked_until_, visit);
    const time began = std::exchange(walked_until_, std::max(walked.tags_done, walked.accepted));
    log_.tell({port::log_event::kind::scanned, {}, walked.forced, began, walked_until_});
    counters_.lines_forced += walked.forced;
    ++next_set_;
}

// ---- 4.

void force_write_back::end_scan(time now) {
    scanning_ = false;
    ended_.push_back({began_, walked_until_});
    took_.push_back(walked_until_ - began_);
    if (!log_.config().scans_force) return;
    const bool early = is_planted(planted_fault::head_before_home);
    // What others sent before leaves now, in their time.
    const time home = early ? walked_until_ : std::max(walked_until_, memory_.nvram().push_out(now));
    const bool all_are_home = hurried_ || is_planted(planted_fault::head_a_scan_early);
    log_.expect_heads(all_are_home ? at_begin_ : at_last_begin_, home);
}

scan_counters force_write_back::counters_until(time moment) const {
    const auto part = [moment](const interval& of) {
        return std::clamp(moment, of.begin, of.end) - of.begin;
    };
    scan_counters made = counters_;
    made.scanning = past_;
    for (const interval& each : ended_) made.scanning += part(each);
    if (scanning_) made.scanning += part({began_, walked_until_});
    return made;
}

bool force_write_back::is_steady() const {
    const std::size_t third = took_.size() / 3;
    if (third == 0) return false;
    const auto sum = [this](std::size_t from, std::size_t to) {
        std::uint64_t all_ps = 0;
        for (std::size_t i = from; i < to; ++i) all_ps += took_[i].picoseconds;
        return all_ps;
    };
    const std::size_t end = took_.size();
    const std::uint64_t before_ps = sum(end - 2 * third, end - third), after_ps = sum(end - third, end);
    return std::max(before_ps, after_ps) * 2 <= std::min(before_ps, after_ps) * 3;
}

}  // namespace holdfast::sim
