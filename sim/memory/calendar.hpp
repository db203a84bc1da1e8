// When a resource is taken. Harts run ahead of each other and loads are computed in program order, so requests do not
// come in the order of their times: a later one may fit in front of what is reserved already.
#pragma once

#include <sim/base/units.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace holdfast::sim {

/// Reservations of a resource that does one thing at a time, such as a bus.
class calendar {
public:
    calendar() { busy_.reserve(kept_max + 1); }

    /// The first moment not before `from` at which the resource is free for `length`.
    time first_gap(time from, time length) const noexcept {
        time candidate = std::max(from, floor_);
        for (std::size_t at = first_ending_after(candidate); at < busy_.size(); ++at) {
            if (candidate + length <= busy_[at].begin) break;
            candidate = std::max(candidate, busy_[at].end);
        }
        return candidate;
    }

    /// Requires: it is free then, as first_gap said.
    void take(time begin, time length) {
        if (length == time{}) return;
        const time end = begin + length;
        const auto next = busy_.begin() + static_cast<std::ptrdiff_t>(first_ending_after(begin));
        const bool joins_previous = next != busy_.begin() && (next - 1)->end == begin;
        const bool joins_next = next != busy_.end() && next->begin == end;
        if (joins_previous && joins_next) {
            (next - 1)->end = next->end;
            busy_.erase(next);
        } else if (joins_previous) {
            (next - 1)->end = end;
        } else if (joins_next) {
            next->begin = begin;
        } else {
            busy_.insert(next, {begin, end});
            if (busy_.size() > kept_max) forget_older_half();
        }
    }

private:
    struct interval {
        time begin{}, end{};
    };
    /// Half of this is more than lies in the future at any time. What is forgotten counts as taken, so that nothing
    /// overlaps.
    static constexpr std::size_t kept_max = 512;

    std::size_t first_ending_after(time when) const noexcept {
        std::size_t at = busy_.size();
        while (at > 0 && busy_[at - 1].end > when) --at;
        return at;
    }
    void forget_older_half() {
        const auto kept = busy_.begin() + kept_max / 2;
        floor_ = (kept - 1)->end;
        busy_.erase(busy_.begin(), kept);
    }

    std::vector<interval> busy_;
    time floor_{};
};

}  // namespace holdfast::sim
