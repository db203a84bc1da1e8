#include <sim/front/harts.hpp>

#include <algorithm>

namespace holdfast::sim {
namespace {

/// Nobody else could run, so nobody is kept waiting; but a run without end would never look up.
constexpr std::uint64_t turn_when_alone = 1u << 24;

bool can_run(const hart& who) noexcept {
    return who.stop == hart_stop::none || who.stop == hart_stop::refused || who.stop == hart_stop::paused;
}

}  // namespace

hart* harts::add(const hart& creator) {
    const auto exited = std::find_if(harts_.begin(), harts_.end(),
                                     [](const hart& old) { return old.stop == hart_stop::exited; });
    if (exited == harts_.end() && harts_.size() == most_) return nullptr;
    hart& made = exited == harts_.end() ? harts_.emplace_back() : *exited;
    const hart before = made;
    made = creator;
    made.id = {static_cast<std::uint32_t>(std::find_if(harts_.begin(), harts_.end(), [&](const hart& other) {
                                              return &other == &made;
                                          }) - harts_.begin())};
    made.local_time = std::max(before.local_time, creator.local_time);
    made.retired = before.retired;
    made.waited = before.waited;
    made.spun = before.spun;
    made.reserved_line = hart::no_reservation;
    made.clear_when_exited = 0;
    made.stop = hart_stop::none;
    return &made;
}

harts::turn harts::next() {
    turn found;
    std::uint64_t second = 0;
    bool alone = true;
    for (hart& each : harts_) {
        if (!can_run(each)) continue;
        if (found.who == nullptr) {
            found.who = &each;
            continue;
        }
        const bool earlier = each.local_time < found.who->local_time;
        const std::uint64_t later_time = earlier ? found.who->local_time : each.local_time;
        if (earlier) found.who = &each;
        second = alone ? later_time : std::min(second, later_time);
        alone = false;
    }
    if (found.who == nullptr) return found;
    found.who->stop = hart_stop::none;
    found.until = alone ? found.who->local_time + turn_when_alone : second + quantum_;
    return found;
}

void harts::wait(hart& who, std::uint64_t address) {
    who.stop = hart_stop::waiting;
    who.waits_at = address;
    sleepers_.push_back(&who);
}

std::uint64_t harts::wake(const hart& waker, std::uint64_t address, std::uint64_t most) {
    std::uint64_t woken = 0;
    std::erase_if(sleepers_, [&](hart* sleeper) {
        if (sleeper->waits_at != address || woken == most) return false;
        const std::uint64_t now = std::max(sleeper->local_time, waker.local_time);
        sleeper->waited += now - sleeper->local_time;
        sleeper->local_time = now;
        sleeper->stop = hart_stop::none;
        ++woken;
        return true;
    });
    return woken;
}

}  // namespace holdfast::sim
