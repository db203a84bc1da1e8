// The steps of `versioned`, of the family of TL2 and LSA: locks with versions, one for each line of 64 bytes, and a
// clock. It owns the lock table, the clock, the mark of the serial transaction, a registry of threads and, for each
// thread, read set, write set and the locks held.
//
// Protocol (LSA, as TinySTM's write-back with locking at the first store has it; Felber, Fetzer, Riegel, PPoPP 2008):
//   1. begin: the snapshot is the clock; it is published in the thread's slot, with a full fence (which the only thread
//      does without: registry::publish_alone). Then the mark of a serial transaction is looked at: where there is one,
//      retract, wait, begin again.
//   2. load: look at the line's lock, load the home, look at the lock again. Free, the same both times and not younger
//      than the snapshot: the value is of the state at the snapshot; lock and version go into the read set, once for
//      loads of one line that follow each other. Younger: extend (3.) and again. Held by another: wait a
//      little, then conflict. Held by this transaction: the value is in the write set, or at home, where nobody else
//      stores.
//      Of a thread that is the only one with a slot, or that has said that it will not store, no reads are kept, until
//      it meets a conflict: any validation finds one.
//   3. extend: take the clock; every lock of the read set must have the version that was read, or be held by this
//      transaction and have had it. Then the clock is the new snapshot, and is published. Otherwise conflict.
//   4. store: take the line's lock by compare-and-swap, at a version that is not younger than the snapshot (else 3.),
//      unless it is held already; note the version it had. The word goes into the write set.
//   4a. at the first store, while no other thread has a slot, and when the write set has become large
//      (large_write_set) while none is in one: put the mark as in 8., validate, and let stores go home at once
//      from here on, with the old values kept for a roll-back. No lock is taken, and no read kept, any more. Words that
//      the home keeps stay in the write set, since the commit logs them; with such a home, not at the first store.
//   5. commit without stores: nothing to do. With stores: add 2 to the clock, which gives the commit's version; where
//      others committed since the snapshot, validate as in 3. Write back. Release each lock with the commit's version.
//   6. quiescence: retract the slot, then wait until every other slot is inactive or has a snapshot not below the
//      commit's version. Then give back what was freed. Not where nobody stores but transactions, nor frees
//      memory that they load from: a home says so.
//   7. roll back: release each lock with the version that it had; nothing is home.
//   8. serial: put the mark, wait until all other slots are inactive; from there as ever. Irrevocable: the same in
//      mid-transaction, then validate, write back, release; loads and stores go home. A thread that finds another's
//      mark gives way: the other one waits for all.
//   8a. alone from the beginning, without a mark: a thread that is the only one with a slot. The second one that claims
//      a slot waits for the end (registry.hpp).
//
// Invariants:
//   I1. A home is stored to only while its line's lock is held, or by one who is alone, or in a fresh block.
//   I2. A lock's version is not below that of any commit that stored to its lines and has released it.
//   I3. All versions in a read set were in force at the moment at which the clock became snapshot_.
//   I4. The slot holds a snapshot at which the read set was valid, and is active until the write-back is through: a
//       privatiser that has waited meets neither a reader that has not seen his commit nor a late write-back.
//   I5. Nobody waits without bound while his slot is active, but for one who has put the serial mark; those he waits
//       for either end, or meet his locks and restart, and then find the mark.
//
// Memory orders:
//   * load: the first look acquires, so the home is not older than the release that set the version; the home's load
//     acquires, so the second look comes after it, and sees a lock taken before the value was stored: write-back
//     stores release, behind the compare-and-swap that took the lock.
//   * locks are released by a release store, after the homes; the clock is read by acquire, so a snapshot not below a
//     commit's version implies that its locks are seen as held or released with that version: the clock's addition
//     releases what was locked before it.
//   * begin's exchange and commit's addition to the clock are Dekker's pair: slot, then locks, on one side; locks, then
//     slots, on the other. Either the committer sees the slot or the beginner sees the locks held. On x86-64
//     both are full fences by themselves; elsewhere a fence follows each.
//   * begin's exchange and the mark's compare-and-swap are another such pair: slot, then mark; mark, then slots.
//   * retract releases: loads and stores of this transaction come before whatever the waiting thread does next.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/stm/stop.hpp>
#include <holdfast/stm/versioned.hpp>
#include <holdfast/stm/wait.hpp>

namespace holdfast::stm {

template <class Home>
constinit typename basic_versioned<Home>::clock basic_versioned<Home>::clock_;
template <class Home>
alignas(128) constinit std::atomic<const basic_versioned<Home>*> basic_versioned<Home>::serial_{nullptr};
template <class Home>
constinit registry basic_versioned<Home>::registry_;
template <class Home>
typename basic_versioned<Home>::lock basic_versioned<Home>::locks_[std::size_t{1} << basic_versioned<Home>::lock_bits];
template <class Home>
constinit pthread_key_t basic_versioned<Home>::exit_key_ = 0;

/// The lock is held, or younger than the snapshot, or has changed.
template <class Home>
word basic_versioned<Home>::load_slowly(const word* home) {
    if (!active_) return Home::look(home).value;
    const lock& of_line = lock_of(home);
    for (;;) {
        const std::uint64_t version = of_line.load(std::memory_order_acquire);
        if (is_own(version)) {
            const write_log::entry* stored = is_planted(fault::own_stores_unseen) ? nullptr : writes_.find(home);
            if (stored != nullptr && stored->mask() == 0xFF) return stored->value;
            const auto found = Home::look(home);
            const word at_home = found.sound ? found.value : load_unsound(home);
            return stored == nullptr ? at_home : merged(at_home, stored->value, stored->mask());
        }
        if ((version & held_bit) != 0) {
            wait_for_lock(of_line);
            if (!active_) return 0;
        } else if (version > snapshot_) {
            if (!extend()) return conflict(), 0;
        } else {
            const auto found = Home::look(home);
            let_others_run();
            if (of_line.load(std::memory_order_relaxed) == version) {
                if (!found.sound) return load_unsound(home);
                note(of_line, version);
                return found.value;
            }
        }
    }
}

/// Bits were flipped. In a block of the transaction nobody else looks, and what cannot be corrected there is no loss.
template <class Home>
word basic_versioned<Home>::load_unsound(const word* home) {
    if (!active_) return Home::look(home).value;
    if (blocks_.fresh().holds(home)) return Home::mend_fresh(home);
    // With the line's lock, so that nobody looks or stores there meanwhile.
    if (!is_own(lock_of(home).load(std::memory_order_relaxed))) lock_line_of(home);
    if (!Home::mend(home)) {
        if (irrevocable_) Home::end_for_damage();
        return conflict(), 0;
    }
    return load(home);
}

/// Returns when the lock is free; a conflict where it is held for long, behind which the transaction is over.
template <class Home>
void basic_versioned<Home>::wait_for_lock(const lock& of_line) {
    constexpr unsigned patience = 64;
    for (waiter wait; wait.pauses() < patience; wait.pause())
        if ((of_line.load(std::memory_order_relaxed) & held_bit) == 0) return;
    conflict();
}

template <class Home>
void basic_versioned<Home>::lock_slowly(lock& of_line) {
    // Before the lock is taken: one that is not noted would never be given back.
    held_.room_for(1);
    for (;;) {
        const std::uint64_t state = of_line.load(std::memory_order_relaxed);
        if ((state & held_bit) != 0) {
            wait_for_lock(of_line);
            if (!active_) return;
        } else if (state > snapshot_) {
            if (!extend()) return conflict();
        } else if (of_line.take(state, own_mark_ | held_.size())) {
            held_.push_without_growing({&of_line, state});
            return;
        }
    }
}

/// The line is locked, so nothing has to be noted: nobody else stores to it from now on.
template <class Home>
word basic_versioned<Home>::load_to_store(const word* home) {
    if (!active_) return Home::look(home).value;
    const bool is_elsewhere = detail::is_own_frame(home, frames_below_) || (some_go_home_ && goes_home(home));
    if (is_elsewhere) return load_apart(home);
    lock_line_of(home);
    if (writes_.may_hold(home)) return load_apart(home);
    const auto found = Home::peek(home);
    return found.sound ? found.value : load_slowly(home);
}

/// A word of which a part was stored to just now, for another part of it. Its line is locked.
template <class Home>
word basic_versioned<Home>::load_rest_of(const write_log::entry& last) {
    const auto found = Home::peek(last.home());
    if (!found.sound || is_planted(fault::own_stores_unseen)) return load_slowly(last.home());
    return merged(found.value, last.value, last.mask());
}

template <class Home>
bool basic_versioned<Home>::validate() const noexcept {
    if (!keeps_reads_) return false;
    for (const seen& each : reads_) {
        const std::uint64_t state = each.of_line->load(std::memory_order_acquire);
        if (state == each.version) continue;
        const std::uint64_t place = state & place_bits;
        if (!is_own(state) || place >= held_.size() || held_[place].version != each.version) return false;
    }
    return true;
}

template <class Home>
bool basic_versioned<Home>::extend() noexcept {
    const std::uint64_t now = clock_.now.load(std::memory_order_acquire);
    let_others_run();
    if (!is_planted(fault::versioned_validation_dropped) && !validate()) return false;
    snapshot_ = now;
    if (slot_ != nullptr) slot_->since.store(now, std::memory_order_release);
    return true;
}

template <class Home>
bool basic_versioned<Home>::commit_stores() noexcept {
    if (began_alone_) [[unlikely]]
        return commit_alone(), true;
    std::uint64_t version = snapshot_;
    if (!held_.empty()) {
        let_others_run();
        version = clock_.now.fetch_add(2, std::memory_order_seq_cst) + 2;
        complete_fence();
        let_others_run();
        if (!is_planted(fault::versioned_numbered_late) && !Home::draw_number(writes_)) [[unlikely]]
            return false;
        let_others_run();
        // With a number what was read is validated whatever the clock says: who overwrites it may have come later to
        // the clock and earlier to a number.
        const bool others_committed = Home::numbers_commits || version != snapshot_ + 2;
        if (!alone_ && others_committed && !is_planted(fault::versioned_commit_unvalidated) && !validate()) {
            had_conflict_ = true;
            return false;
        }
        if (is_planted(fault::versioned_numbered_late)) {
            let_others_run();
            if (!Home::draw_number(writes_)) return false;
        }
        // Nothing is waited for from here to retire().
        if (!Home::prepare(writes_)) [[unlikely]] {
            if (irrevocable_) stop("an irrevocable transaction", "the log has no room for it");
            return false;
        }
        if (is_planted(fault::versioned_released_early)) release_locks(version);
        Home::log();
        writes_.template write_back<Home>();
        Home::retire();
        if constexpr (!Home::numbers_commits) writes_.clear();
        let_others_run();
        release_locks(version);
    }
    const bool was_alone = alone_;
    if (keeps_old_values_) replaced_.clear();
    end_alone();
    reads_.clear();
    become_inactive();
    if (slot_ != nullptr) registry::retract(*slot_);
    if (Home::privatises && !was_alone && !is_planted(fault::versioned_no_quiescence))
        registry_.wait_for_older(version, slot_);
    close(0);
    Home::settle();
    return true;
}

template <class Home>
void basic_versioned<Home>::release_locks(std::uint64_t version) noexcept {
    for (const held& each : held_) {
        HOLDFAST_ASSERT(is_own(each.of_line->load(std::memory_order_relaxed)), "a lock is released by its holder");
        HOLDFAST_ASSERT(version > each.version, "the version of a lock only grows");
        each.of_line->store(is_planted(fault::versioned_old_version_released) ? each.version : version,
                            std::memory_order_release);
    }
    held_.clear();
}

template <class Home>
void basic_versioned<Home>::end_alone() noexcept {
    if (alone_) serial_.store(nullptr, std::memory_order_release);
    alone_ = false;
    irrevocable_ = false;
    keeps_old_values_ = false;
}

template <class Home>
void basic_versioned<Home>::roll_back() noexcept {
    HOLDFAST_ASSERT(!irrevocable_, "what is irrevocable is not rolled back");
    if (keeps_old_values_) replaced_.put_back();
    for (const held& each : held_) each.of_line->store(each.version, std::memory_order_release);
    held_.clear();
    writes_.clear();
    reads_.clear();
    become_inactive();
    end_alone();
    if (slot_ != nullptr) registry::retract(*slot_);
    blocks_.rolled_back();
}

/// Puts the mark and waits for all others. Requires: not alone.
template <class Home>
typename basic_versioned<Home>::alone basic_versioned<Home>::try_alone() noexcept {
    const basic_versioned* nobody = nullptr;
    if (!serial_.compare_exchange_strong(nobody, this, std::memory_order_seq_cst)) return alone::somebody_else;
    complete_fence();
    alone_ = true;
    registry_.wait_for_all(slot_);
    const bool holds = clock_.now.load(std::memory_order_acquire) == snapshot_ || validate();
    return holds ? alone::yes : alone::conflict;
}

/// Requires: alone, what was read still holds, and room to keep the words that the home keeps: these change at the
/// commit, all together.
template <class Home>
void basic_versioned<Home>::store_home_from_now_on() noexcept {
    if (!held_.empty()) {
        const std::uint64_t version = clock_.now.fetch_add(2, std::memory_order_seq_cst) + 2;
        for (const write_log::entry& each : writes_) {
            let_others_run();
            if (!Home::keeps(each.home())) detail::store_home(each.home(), each.value, each.mask());
        }
        writes_.template keep_only_words_of<Home>();
        release_locks(version);
    }
    reads_.clear();
    keeps_reads_ = false;
    some_go_home_ = true;
    snapshot_ = above_all_versions;
    for (const write_log::entry& each : writes_) lock_line_of(each.home());
}

template <class Home>
bool basic_versioned<Home>::become_irrevocable() noexcept {
    if (irrevocable_) return true;
    if (!alone_ && try_alone() != alone::yes) {
        had_conflict_ = true;
        return false;
    }
    if (!writes_.make_room_to_keep(writes_.template words_kept_by<Home>()))
        stop("an irrevocable transaction", "there is no memory for what it has stored");
    store_home_from_now_on();
    if (keeps_old_values_) replaced_.clear();
    keeps_old_values_ = false;
    irrevocable_ = true;
    blocks_.keep_allocated();
    return true;
}

/// From here on, and what was stored so far. False: another one is alone, or waits for it. A conflict restarts.
template <class Home>
bool basic_versioned<Home>::store_home_at_once() {
    if (keeps_old_values_ || irrevocable_) return false;
    // Not for a few words among many that stay in the write set: a thread that comes now has to wait.
    const std::size_t kept = writes_.template words_kept_by<Home>();
    if (kept > writes_.size() / 2) return false;
    // Memory first: a failure changes nothing, and the write set goes on.
    if (!replaced_.make_room(writes_.size()) || !writes_.make_room_to_keep(kept)) return false;
    const alone is = alone_ ? alone::yes : try_alone();
    if (is == alone::somebody_else) return false;
    if (is == alone::conflict) return conflict(), false;
    for (const write_log::entry& each : writes_)
        if (!Home::keeps(each.home())) replaced_.note(each.home(), each.mask());
    store_home_from_now_on();
    keeps_old_values_ = true;
    return true;
}

/// The lock is not to be had at once.
template <class Home>
void basic_versioned<Home>::put_slowly(word* home, word what, std::uint8_t byte_mask) {
    lock_line_of(home);
    if (active_) put_further(home, what, byte_mask);
}

/// The line was stored to before, or the write set has become large.
template <class Home>
void basic_versioned<Home>::put_further(word* home, word what, std::uint8_t byte_mask) {
    if (Home::stores_early && writes_.is_at_stop() && !registry_.others_are_active(slot_)) {
        if (store_home_at_once()) return store_where_it_belongs(home, what, byte_mask);
        if (!active_) return;
    }
    writes_.put_further(home, what, byte_mask);
}

template <class Home>
void basic_versioned<Home>::settle_blocks(std::uint64_t older_than) noexcept {
    blocks_.committed();
    if (blocks_.freed().empty()) return;
    if (!is_planted(fault::versioned_no_quiescence)) registry_.wait_for_older(older_than, slot_);
    blocks_.give_back_freed();
}

template <class Home>
void basic_versioned<Home>::wait_for_others() noexcept {
    // One that is alone moves nothing on that could be seen.
    if (of_this_thread().slot_ == nullptr) registry_.note_threads_without_slot();
    // Transactions that begin from here on are distinguished from those open now, though nothing committed in between.
    const std::uint64_t now = clock_.now.fetch_add(2, std::memory_order_seq_cst) + 2;
    registry::order_other_threads();
    registry_.wait_for_older(now, of_this_thread().slot_);
}

template <class Home>
void basic_versioned<Home>::conflict() {
    had_conflict_ = true;
    restart_();
}

template <class Home>
void basic_versioned<Home>::begin_slowly(const start& how) noexcept {
    if (slot_ == nullptr) {
        enter();
        // A static constructor's transaction leaves the first thread what it may be: the only one.
        if (slot_ == nullptr && !is_process_single_threaded()) registry_.note_threads_without_slot();
        if (slot_ != nullptr && !how.serial) return begin(how);
    }
    waiter wait;
    for (const basic_versioned* nobody = nullptr;
         !serial_.compare_exchange_strong(nobody, this, std::memory_order_seq_cst); nobody = nullptr)
        wait.pause();
    complete_fence();
    if (!is_planted(fault::serial_does_not_wait)) registry_.wait_for_all(slot_);
    open(how);
    alone_ = true;
    snapshot_ = clock_.now.load(std::memory_order_acquire);
    if (slot_ != nullptr) registry::publish(*slot_, snapshot_);
}

template <class Home>
void basic_versioned<Home>::begin_after_serial() noexcept {
    waiter wait;
    do {
        registry::retract(*slot_);
        while (serial_.load(std::memory_order_acquire) != nullptr) wait.pause();
        snapshot_ = clock_.now.load(std::memory_order_acquire);
        registry::publish(*slot_, snapshot_);
    } while (serial_.load(std::memory_order_seq_cst) != nullptr);
}

/// Home, where nobody else can see it or all others wait; otherwise into the write set.
template <class Home>
void basic_versioned<Home>::store_where_it_belongs(word* home, word what, std::uint8_t byte_mask) {
    const bool is_kept = Home::keeps(home) && !is_planted(fault::kept_stored_early);
    if (!is_kept && (keeps_old_values_ ? replaced_.note_at_once(home, byte_mask) : is_in_last_block(home)))
        return detail::store_home(home, what, byte_mask);
    store_elsewhere(home, what, byte_mask);
}

/// A part of a word that its home keeps: the whole word is read, and stored. The next part finds it whole.
template <class Home>
void basic_versioned<Home>::put_part(word* home, word what, std::uint8_t byte_mask) {
    if (writes_.add(home, what, byte_mask)) return;
    put(home, merged(load(home), what, byte_mask), 0xFF);
}

/// Apart, so that the usual case above saves no register.
template <class Home>
void basic_versioned<Home>::store_elsewhere(word* home, word what, std::uint8_t byte_mask) {
    if (!goes_home(home)) return put(home, what, byte_mask);
    if (keeps_old_values_) replaced_.note(home, byte_mask);
    Home::store_fresh(home, what, byte_mask);
}

/// For a store, or for a load that one follows.
template <class Home>
bool basic_versioned<Home>::goes_home(const word* home) noexcept {
    if (Home::keeps(home)) {
        if (!active_) Home::refuse_store(home);
        return some_go_home_ && blocks_.fresh().holds(home);
    }
    if (keeps_old_values_ || irrevocable_ || !active_) return true;
    if (!some_go_home_) return false;
    if (blocks_.fresh().holds(home)) return true;
    return Home::stores_early && !Home::keeps_words && registry_.has_one_thread() && store_home_at_once();
}

}  // namespace holdfast::stm
