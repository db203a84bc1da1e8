// A home that puts the write set of each commit into a ring of its thread. Owns which ring a thread has.
#pragma once

#include <holdfast/htm/stamped_rings.hpp>
#include <holdfast/stm/home.hpp>
#include <holdfast/stm/wait.hpp>

namespace holdfast::htm {

/// A recording_home over the rings of `Owner`, which are static: Owner::rings(), and Owner::retire_some(), which
/// retires what can be retired now and is called while a ring has no room. What a home does besides is plain_home's.
/// At most as many threads as there are rings have one at a time; others wait until one ends.
template <class Owner, class Clock>
class ringed_home : public stm::plain_home {
public:
    using rings = stamped_rings<Clock>;

    static log_room make_room() noexcept {
        if (own_ == nullptr) [[unlikely]]
            enter();
        return Owner::rings().make_room(*own_, [] { Owner::retire_some(); });
    }
    static void announce() noexcept { rings::announce(*own_); }
    static void withdraw() noexcept { rings::withdraw(*own_); }
    static void committed(const finished& done, void* owned) noexcept { rings::finish(*own_, done, owned); }
    static void leave() noexcept {
        if (own_ != nullptr) rings::release(*own_);
        own_ = nullptr;
    }

private:
    [[gnu::noinline]] static void enter() noexcept {
        for (stm::waiter wait; (own_ = Owner::rings().claim()) == nullptr;) wait.pause();
    }

    static inline constinit thread_local typename rings::ring* own_ = nullptr;
};

}  // namespace holdfast::htm
