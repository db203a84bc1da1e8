// The steps of `rtm`. It owns the word that says that somebody is in the fallback and, for each thread, the write set
// of the fallback, blocks, and counts.
//
// Protocol:
//   1. begin: wait, outside, until nobody is in the fallback. If the home records: wait for room for a write set, then
//      announce the start (stamped_rings.hpp, 1 and 2). Then xbegin.
//   2. subscribe: the first load in hardware is that of the fallback's word. Taken: abort. Free: a thread that takes it
//      from here on aborts this transaction, because it has the line in its read set.
//   3. load: from memory. store: to memory; if the home records, home, value and mask are appended to the room; if it
//      numbers commits, they are put into the thread's write set.
//   4. commit: if the home records, the stamp (`mfence; rdtscp`), then xend. The home gets stamp and write set, or is
//      told that there is none. If the home numbers commits, and anything was stored: the number is drawn from the
//      home's counter by an atomic addition, then xend. The write set stays for the home.
//   5. abort: all that was stored since xbegin never was, and begin goes on behind its xbegin with a status. Where the
//      processor says that the same may succeed when it is tried again, or somebody was in the fallback, it is tried
//      again, at most most_tries times in all. Else, and then: the fallback, which alone can fault pages in: whatever
//      a hardware transaction loads, stores or executes, the fallback does, too, in the same pages.
//   6. the fallback: if the home records, wait for room while nothing is held. Then the word is taken by an exchange:
//      every hardware transaction that has not committed aborts, and no other begins before it is free. Loads are from
//      memory; stores wait in a write set, so that a roll-back forgets them.
//   7. commit of the fallback: draw a number and prepare, which can fail. If the home records: announce, draw the
//      stamp. Log, write back, retire; the word is free (release); then the home gets stamp and write set, and settles.
//   8. roll-back: in hardware, an abort with a code that sends the same transaction into the fallback; in the
//      fallback, the write set is forgotten and the word is free.
//   9. irrevocable: in the fallback, what was stored so far is written back, and later stores are home at once. In
//      hardware, the transaction takes the word itself, by a store, and commits: at one moment its stores are visible
//      and it is alone. What it stored is moved to the fallback's write set if the home records.
//
// Invariants:
//   I1. While the word is taken, only the thread that took it stores to homes, and no hardware transaction commits:
//       each one has loaded the word as free, and would have been aborted.
//   I2. A thread that waits has no open start, no open transaction and not the word. The room it has before it takes
//       the word: only the thread itself fills it.
//   I3. The stamp of the fallback is drawn while the word is taken: behind the stamps of all hardware transactions that
//       committed before, which are behind their xend, and before those of all that begin when it is free. So is its
//       number.
//
// Why the order in 7 and 8:
//   * the stamp is drawn behind the taking (a full fence) and before the release, whose store is visible only when
//     rdtscp is done. Drawn before, a hardware transaction could commit with a larger stamp, and be overwritten.
//   * the start is announced only at the commit: a long fallback, or one that stores nothing, holds nobody back.
//   * the word is free before the home gets the write set: nobody has to wait for that. The open start bounds until
//     then.
//   * a number is drawn last in hardware: a draw aborts every transaction that has drawn and not committed, and that
//     time is a few instructions. What aborts has stored no number: there are no holes.
//   * a hardware transaction looks at the word first of all: what it loads before may be half of what a fallback
//     stores, and what it computes from that may be anything, also where it would look before its end.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/htm/rtm.hpp>
#include <holdfast/stm/ranges.hpp>
#include <holdfast/stm/stop.hpp>
#include <holdfast/stm/wait.hpp>

#include <cstdlib>
#include <cstring>

namespace holdfast::htm {

template <class Home, class Hardware>
constinit typename basic_rtm<Home, Hardware>::fallback basic_rtm<Home, Hardware>::fallback_;
template <class Home, class Hardware>
constinit pthread_key_t basic_rtm<Home, Hardware>::exit_key_ = 0;

/// When the program is loaded; before that, everything runs in the fallback. A stand-in knows of forks by itself.
template <class Home, class Hardware>
const bool basic_rtm<Home, Hardware>::is_known_to_process_ = [] {
    return pthread_key_create(&exit_key_, leave) == 0 &&
           (!Hardware::stores_directly || pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0);
}();

/// In hardware, or where that comes to nothing, alone. It returns a second time when the hardware aborts.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::begin_in_hardware() noexcept {
    while (tries_ < most_tries) {
        wait_for_fallback();
        open_log();
        // Before xbegin: what an abort finds. And before the home is entered: a signal handler that forks must not give
        // back what was taken there.
        mode_ = mode::hardware;
        if constexpr (numbers) {
            place_ = Home::enter_hardware();
            if (place_.counter == nullptr) {
                mode_ = mode::inactive;
                break;
            }
        }
        const unsigned why = Hardware::begin({frames_below_, read_only_, aborted});
        if (why == status::started) [[likely]] {
            if (is_planted(fault::not_subscribed) || !Hardware::is_taken(fallback_.held)) [[likely]]
                return;
            Hardware::template abort<status::fallback_runs>();
            // Only a stand-in comes here; from the processor it is the status below.
            note_failure(status::of_code(status::fallback_runs));
        } else {
            note_failure(why);
        }
        come_to_nothing();
        mode_ = mode::inactive;
        if (tries_ < most_tries) pauses_.conflict();
    }
    begin_alone();
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::open_log() noexcept {
    if constexpr (records) {
        stm::write_log::entry* const kept = log_next_;
        room_ = Home::make_room();
        log_next_ = room_.first;
        const bool is_of_last_try = tries_ != 0 && kept > room_.first && kept < room_.end;
        if (is_planted(fault::log_not_emptied) && is_of_last_try) log_next_ = kept;
        Home::announce();
    }
}

/// What was taken for a hardware transaction is given back.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::come_to_nothing() noexcept {
    if constexpr (records) Home::withdraw();
    if constexpr (numbers) Home::leave_hardware();
}

/// The thread's first transaction.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::enter() noexcept {
    has_entered_ = true;
    if (is_known_to_process_) pthread_setspecific(exit_key_, this);
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::wait_for_fallback() noexcept {
    for (stm::waiter wait; stm::detail::load_home(&fallback_.held) != 0;) wait.pause();
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::begin_alone() noexcept {
    if constexpr (records) {
        room_ = Home::make_room();
        if (is_planted(fault::fallback_stamp_early)) {
            Home::announce();
            stamp_ = Hardware::stamp();
        }
    }
    if (!is_planted(fault::fallback_takes_nothing)) {
        do wait_for_fallback();
        while (!Hardware::take(fallback_.held));
    }
    ++counts_.fallbacks;
    mode_ = mode::alone;
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::note_failure(unsigned why) noexcept {
    ++counts_.aborts;
    has_failed_ = true;
    const bool met_fallback =
        (why & status::by_program) != 0 && status::code_of(why) == status::fallback_runs;
    tries_ = (why & status::retry) != 0 || met_fallback ? tries_ + 1 : most_tries;
}

/// Ends the try, from inside. With the processor it does not return.
template <class Home, class Hardware>
template <unsigned Code>
void basic_rtm<Home, Hardware>::fail() {
    Hardware::template abort<Code>();
    aborted(status::of_code(Code));
}

/// Where an abort cannot come back by itself: as a conflict of the other algorithms does. If it returns, the
/// transaction is over.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::aborted(unsigned why) {
    basic_rtm& own = of_this_thread();
    own.note_failure(why);
    own.restart_();
}

template <class Home, class Hardware>
inline unsigned basic_rtm<Home, Hardware>::end_hardware() noexcept {
    if constexpr (numbers) {
        if (writes_.empty()) return Hardware::end();
        if (writes_.size() > place_.most_writes) [[unlikely]] {
            Hardware::template abort<status::log_full>();
            return status::of_code(status::log_full);
        }
        if (is_planted(fault::number_drawn_behind)) {
            const unsigned why = Hardware::end();
            stm::let_others_run();
            stamp_ = place_.counter->fetch_add(1);
            return why;
        }
        return Hardware::end_with_number(*place_.counter, stamp_);
    }
    return records ? Hardware::end_with_stamp(stamp_) : Hardware::end();
}

template <class Home, class Hardware>
bool basic_rtm<Home, Hardware>::commit() noexcept {
    if (mode_ != mode::hardware) [[unlikely]]
        return commit_alone();
    const unsigned why = end_hardware();
    if (why != status::started) [[unlikely]] {
        note_failure(why);
        return false;
    }
    ++counts_.commits;
    if constexpr (numbers) {
        if (!writes_.empty())
            Home::drawn(stamp_);
        else
            Home::leave_hardware();
    }
    if constexpr (records) {
        const auto count = static_cast<std::size_t>(log_next_ - room_.first);
        if (count != 0)
            Home::committed({stamp_, room_.first, count}, nullptr);
        else
            Home::withdraw();
    }
    close();
    return true;
}

/// The end of every transaction that committed.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::close() noexcept {
    mode_ = mode::inactive;
    if (tries_ != 0) [[unlikely]]
        forget_tries();
    if (!blocks_.empty()) [[unlikely]] {
        blocks_.committed();
        Hardware::give_back(blocks_.freed());
    }
    Home::settle();
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::forget_tries() noexcept {
    tries_ = 0;
    has_failed_ = false;
    pauses_.reset();
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::release_fallback() noexcept {
    if (!is_planted(fault::fallback_takes_nothing)) __atomic_store_n(&fallback_.held, word{0}, __ATOMIC_RELEASE);
}

template <class Home, class Hardware>
bool basic_rtm<Home, Hardware>::commit_alone() noexcept {
    const bool was_irrevocable = mode_ == mode::irrevocable;
    const bool frees_early = is_planted(fault::fallback_released_early);
    void* owned = nullptr;
    finished done;
    if (!writes_.empty()) {
        if (!Home::draw_number(writes_) || !Home::prepare(writes_)) [[unlikely]] {
            if (was_irrevocable) stm::stop("an irrevocable transaction", "the log has no room for it");
            return false;
        }
        if constexpr (records) {
            done = move_to_log(owned);
            if (!is_planted(fault::fallback_stamp_early)) {
                if (!is_planted(fault::fallback_unannounced)) Home::announce();
                stamp_ = Hardware::stamp();
            }
            done.stamp = stamp_;
        }
        if (frees_early) release_fallback();
        HOLDFAST_ASSERT(stm::detail::load_home(&fallback_.held) != 0 || frees_early ||
                            is_planted(fault::fallback_takes_nothing),
                        "homes are stored while the fallback is this thread's");
        Home::log();
        if (!was_irrevocable) writes_.template write_back<Home>();
        Home::retire();
        if constexpr (!numbers) writes_.clear();
        if (!frees_early) release_fallback();
    } else {
        release_fallback();
    }
    if constexpr (records) {
        if (done.count != 0)
            Home::committed(done, owned);
        else
            Home::withdraw();
    }
    close();
    return true;
}

/// Into the room, or where it is larger than what hardware can store, to memory of its own.
template <class Home, class Hardware>
finished basic_rtm<Home, Hardware>::move_to_log(void*& owned) noexcept {
    const std::size_t count = writes_.size();
    stm::write_log::entry* to = room_.first;
    if (count > static_cast<std::size_t>(room_.end - room_.first)) {
        owned = std::malloc(count * sizeof(stm::write_log::entry));
        if (owned == nullptr) stm::stop("a transaction", "there is no memory for its write set");
        to = static_cast<stm::write_log::entry*>(owned);
    }
    std::memcpy(static_cast<void*>(to), writes_.begin(), count * sizeof(stm::write_log::entry));
    return {0, to, count};
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::roll_back() noexcept {
    // The next attempt is one of the same transaction only where this one came to nothing by itself.
    const bool goes_on = mode_ == mode::hardware && has_failed_;
    if (mode_ == mode::hardware) {
        // The processor goes back to begin here.
        Hardware::template abort<status::rolled_back>();
    } else if (mode_ != mode::inactive) {
        release_fallback();
    }
    if (mode_ != mode::inactive) come_to_nothing();
    mode_ = mode::inactive;
    writes_.clear();
    if (!goes_on) forget_tries();
    has_failed_ = false;
    blocks_.rolled_back();
}

template <class Home, class Hardware>
bool basic_rtm<Home, Hardware>::become_irrevocable() noexcept {
    if (mode_ == mode::irrevocable) return true;
    if (mode_ == mode::hardware) {
        Hardware::store(&fallback_.held, 1, 0xFF);
        if (const unsigned why = records ? Hardware::end_with_stamp(stamp_) : Hardware::end(); why != status::started) {
            note_failure(why);
            return false;
        }
        ++counts_.commits;
        if constexpr (numbers) Home::leave_hardware();
        if constexpr (records) {
            for (const stm::write_log::entry* each = room_.first; each != log_next_; ++each)
                writes_.put(each->home(), each->value, each->mask());
            Home::withdraw();
        }
    } else {
        writes_.template write_back<Home>();
        if constexpr (!keeps_writes) writes_.clear();
    }
    mode_ = mode::irrevocable;
    blocks_.keep_allocated();
    return true;
}

template <class Home, class Hardware>
word basic_rtm<Home, Hardware>::load_in_software(const word* home) noexcept {
    const word found = Home::look(home).value;
    if (!writes_.may_hold(home)) return found;
    const stm::write_log::entry* const stored = writes_.find(home);
    return stored != nullptr ? merged(found, stored->value, stored->mask()) : found;
}

/// Home, where nobody else can see it, or all others wait; otherwise into the write set.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::store_in_software(word* home, word what, std::uint8_t byte_mask) {
    const bool is_kept = keeps_writes && mode_ != mode::inactive;
    if (mode_ == mode::alone && !stm::detail::is_own_frame(home, frames_below_) &&
        (keeps_writes || !blocks_.fresh().holds(home)))
        return writes_.put(home, what, byte_mask);
    stm::detail::store_home(home, what, byte_mask);
    if (is_kept && !stm::detail::is_own_frame(home, frames_below_)) writes_.put(home, what, byte_mask);
}

/// Nobody else can reach it, nor does anybody want to know: it is loaded and stored directly.
template <class Home, class Hardware>
bool basic_rtm<Home, Hardware>::is_private(const void* from, std::size_t bytes) const noexcept {
    if (mode_ == mode::inactive || stm::detail::is_own_frame(from, frames_below_)) return true;
    if (keeps_writes) return false;
    if (mode_ == mode::hardware) return Hardware::stores_directly;
    return mode_ == mode::irrevocable || blocks_.fresh().last_holds(from, bytes);
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::read_range(void* to, const void* from, std::size_t bytes) {
    if (mode_ == mode::hardware && Hardware::stores_directly) {
        std::memcpy(to, from, bytes);
        return;
    }
    stm::detail::read_range(*this, to, from, bytes);
}
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::write_range(void* to, const void* from, std::size_t bytes) {
    stm::detail::write_range(*this, to, from, bytes);
}
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::copy_range(void* to, const void* from, std::size_t bytes) {
    stm::detail::copy_range(*this, to, from, bytes);
}
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::fill_range(void* to, int byte, std::size_t bytes) {
    stm::detail::fill_range(*this, to, byte, bytes);
}

/// At thread exit, after the destructors of thread_local objects, which may still run transactions.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::leave(void* of_thread) noexcept {
    auto& own = *static_cast<basic_rtm*>(of_thread);
    if (own.irrevocable())
        own.commit();
    else if (own.active())
        own.roll_back();
    own.writes_.release();
    own.blocks_.release();
    own.has_entered_ = false;
    if constexpr (records) Home::leave();
}

/// Nobody may be in the fallback in the child who is not there.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::before_fork() noexcept {
    auto& own = of_this_thread();
    // In a signal handler that interrupts a transaction, or a home that still reads what the last one stored.
    if (own.active() || !own.writes_.empty()) return;
    own.begin({.serial = true});
    own.stopped_others_ = true;
}

template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::after_fork_in_parent() noexcept {
    auto& own = of_this_thread();
    if (own.stopped_others_) own.roll_back();
    own.stopped_others_ = false;
}

/// Who was in the fallback does not exist there.
template <class Home, class Hardware>
void basic_rtm<Home, Hardware>::after_fork_in_child() noexcept {
    after_fork_in_parent();
    auto& own = of_this_thread();
    if (own.mode_ != mode::alone && own.mode_ != mode::irrevocable) own.release_fallback();
}

}  // namespace holdfast::htm
