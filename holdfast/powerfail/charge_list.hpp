// The pools that a handler has charge of: armed and given back by their own threads, and lost by one of the handler's.
#pragma once

#include <holdfast/powerfail/handler.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace holdfast::powerfail {

/// What a list keeps of a pool, and a handler adds to.
struct held_charge {
    charge* of;
    pid_t loser = 0;  ///< the thread that is in its `lost`, which uses the charge
};

/// `Held` is a held_charge. `guard` is the handler's, and guards more than the list.
template <class Held, class Mutex>
class charge_list {
public:
    explicit charge_list(Mutex& guard) noexcept : guard_(&guard) {}

    /// Requires of this and the next: the guard is held.
    std::vector<Held>& all() noexcept { return all_; }
    const std::vector<Held>& all() const noexcept { return all_; }
    Held* find(const charge& of) noexcept {
        const auto found = std::ranges::find(all_, &of, &Held::of);
        return found == all_.end() ? nullptr : &*found;
    }

    /// Takes the pool off the list, once no other thread is in its `lost`. Nothing: it is not there, or lost.
    std::optional<Held> take(const charge& of) noexcept {
        for (;; std::this_thread::sleep_for(std::chrono::microseconds{100})) {
            const std::lock_guard lock(*guard_);
            Held* const its = find(of);
            if (its == nullptr) return std::nullopt;
            if (its->loser != 0 && its->loser != ::gettid()) continue;
            std::optional<Held> taken(std::move(*its));
            all_.erase(all_.begin() + (its - all_.data()));
            return taken;
        }
    }

    /// Calls `lost`, without the guard, of each pool that is to be lost, once. Returns whether all of them are at
    /// `power` now. Throws what `lost` throws.
    template <class Which>
    bool lose(Which&& is_to_be_lost) {
        bool are_lost = true;
        for (std::vector<charge*> tried;;) {
            charge* next = nullptr;
            {
                const std::lock_guard lock(*guard_);
                const auto found = std::ranges::find_if(all_, [&](const Held& each) {
                    return each.loser == 0 && is_to_be_lost(each) &&
                           std::ranges::find(tried, each.of) == tried.end();
                });
                if (found == all_.end()) return are_lost && std::ranges::none_of(all_, is_to_be_lost);
                next = found->of;
                found->loser = ::gettid();
            }
            // Also where it throws: `take` waits for it.
            const at_work loser{*this, *next};
            are_lost &= next->lost();
            tried.push_back(next);
        }
    }

private:
    struct at_work {
        charge_list& its;
        const charge& of;
        ~at_work() {
            const std::lock_guard lock(*its.guard_);
            if (Held* const still = its.find(of); still != nullptr) still->loser = 0;
        }
    };

    Mutex* guard_;
    std::vector<Held> all_;
};

}  // namespace holdfast::powerfail
