// The steps of `value`, of the family of NOrec: one sequence counter, reads kept with their values. It owns the
// counter, a registry of threads and, for each thread, read set, write set and the blocks that wait to be given back.
//
// Protocol (NOrec: Dalessandro, Spear, Scott, PPoPP 2010, figure 2):
//   1. begin: wait until the counter is even; it is the snapshot, and is published in the thread's slot.
//      Of a thread that is the only one with a slot, or that has said that it will not store, no reads are kept, until
//      it meets a conflict: any validation finds one.
//   2. load: a word that was stored to comes from the write set. Any other is loaded from its home; then the counter is
//      looked at: where it is the snapshot still, the value is part of the state at the snapshot, and is kept with its
//      home. Where it has moved: 3., and the word is loaded again.
//   3. validate: wait until the counter is even; compare every home in the read set with the value that was read; look
//      whether the counter has moved meanwhile, and if so do it again. All equal: the counter is the new snapshot,
//      since the values that were read are those of that state too. One differs: conflict.
//   4. store: into the write set.
//   4a. at the first store, while no other thread has a slot; and while none is in a transaction, when the write set
//      has become large (large_write_set) or a large run of words is read after a store: the counter goes to the odd
//      number above the snapshot as in 5., and what was stored so far is written back. From here on stores go home at
//      once, with the old value kept for a roll-back, and no read is kept (TML: Dalessandro, Dice, Scott, Shavit,
//      Spear, Euro-Par 2010). A roll-back puts the old values back and makes the counter the even number *above*: a
//      load that met a value in between must not find its old snapshot. Words that the home keeps stay in the write
//      set, since the commit logs them; with such a home, not at the first store. Beside others not at the first store
//      either: who waits for the counter would wait for whatever the rest of the block waits for, and it does not pay
//      (two threads, from the second word on: kmeans 1.26 of the time, yada 1.18).
//   5. commit without stores: nothing to do; all loads are of one state. With stores: the counter goes from the
//      snapshot to the odd number above it by compare-and-swap; where that fails, 3. and again. Then write back, then
//      the counter goes to the even number above.
//   6. alone (serial or irrevocable): the counter is odd from the beginning, or from become_irrevocable, until the end.
//      Who waits to be alone at the beginning says so, and commits that have not made the counter odd wait meanwhile:
//      so a transaction that always met conflicts comes through.
//   6a. irrevocable: the code that runs then may give memory straight back, also to the kernel. So it goes on only when
//      no other transaction is open: the others end with a conflict, and compare nothing, where they find the counter
//      odd.
//   6b. alone from the beginning, without touching the counter: a thread that is the only one with a slot. The second
//      one that claims a slot waits for the end (registry.hpp).
//   7. what was freed goes to the thread's limbo with the counter after commit as its time; blocks are given back in
//      batches when every open transaction has begun at that time or later.
//
// Invariants:
//   I1. While the counter is even no home is stored to, but for fresh blocks, which nobody else can reach.
//   I2. All pairs and runs of a read set equal the memory at the moment at which the counter became snapshot_.
//   I3. The slot holds the counter of the beginning, not the snapshot that validation moved on: the read set may hold
//       homes of a block that was freed in between, as long as its words have not changed.
//   I4. While a transaction is irrevocable no other one looks at a home, but for the first that it loads: one that
//       publishes its slot late finds the counter odd behind that.
//
// Privatisation: a transaction that read what the privatiser overwrote fails its next validation, and it cannot load
// anything more, nor commit, without one. So no wait is needed before the privatised data is used directly. What it
// compares, though, is memory: hence 7.
//
// Memory orders:
//   * homes are loaded with acquire and stored with release: who sees a value of a commit sees the counter
//     odd (or later), so that the look at the counter that follows the load cannot miss it.
//   * the compare-and-swap that makes the counter odd acquires: homes are stored after it. Release is not needed of it,
//     the write-back's own release stores carry it along.
//   * the store that makes the counter even is a release: who takes it for a snapshot (acquire) sees all homes.
//   * the slot is published before the first load of data without a fence on this side: registry.hpp.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/stm/stop.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/wait.hpp>

namespace holdfast::stm {

template <class Home>
constinit typename basic_value<Home>::sequence basic_value<Home>::sequence_;
template <class Home>
constinit registry basic_value<Home>::registry_;
template <class Home>
constinit pthread_key_t basic_value<Home>::exit_key_ = 0;

/// A word that was stored to, or one whose slot another one has.
template <class Home>
template <bool Keeping>
word basic_value<Home>::load_stored(const word* home) {
    const write_log::entry* const stored = writes_.find_held(home);
    if (stored != nullptr && stored->mask() == 0xFF) return stored->value;
    const word found = Keeping ? load_and_keep(home) : load_shared(home);
    return stored != nullptr ? merged(found, stored->value, stored->mask()) : found;
}

template <class Home>
word basic_value<Home>::load_and_keep(const word* home) {
    const word found = load_shared(home);
    if (keeps_reads_) reads_.push({home, found});
    return found;
}

/// A word of which a part was stored to just now, for another part of it. It is mostly the last of the read set.
template <class Home>
word basic_value<Home>::load_rest_of(const write_log::entry& last) {
    const word* const home = last.home();
    if (last.mask() == 0xFF) return last.value;
    if (reads_.empty() || reads_.back().home != home || is_planted(fault::own_stores_unseen)) return load_apart(home);
    const auto found = Home::peek(home);
    let_others_run();
    if (has_moved() || !found.sound) [[unlikely]]
        return load_apart(home);
    return merged(found.value, last.value, last.mask());
}

/// Loads again once the snapshot is the counter.
template <class Home>
word basic_value<Home>::load_closely(const word* home) {
    if (!active_) return Home::look(home).value;
    for (;;) {
        if (has_moved() && !validate()) return conflict(), 0;
        const auto found = Home::look(home);
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) != snapshot_) continue;
        return found.sound ? found.value : load_unsound(home);
    }
}

/// Bits were flipped. In a block of the transaction nobody else looks, and what cannot be corrected there is no loss.
template <class Home>
word basic_value<Home>::load_unsound(const word* home) {
    if (!active_) return Home::look(home).value;
    if (blocks_.fresh().holds(home)) return Home::mend_fresh(home);
    // Alone, so that nobody stores there meanwhile. What was read still holds.
    const bool was_alone = alone_;
    if (!was_alone && !take_sequence()) return conflict(), 0;
    const bool is_mended = Home::mend(home);
    if (!was_alone) {
        ++snapshot_;
        sequence_.now.store(snapshot_, std::memory_order_release);
        alone_ = false;
    }
    if (!is_mended) {
        if (irrevocable_) Home::end_for_damage();
        return conflict(), 0;
    }
    return load_shared(home);
}

template <class Home>
std::uint64_t basic_value<Home>::wait_for_even() noexcept {
    for (waiter wait;; wait.pause()) {
        const std::uint64_t now = sequence_.now.load(std::memory_order_acquire);
        if ((now & 1) == 0) return now;
    }
}

template <class Home>
bool basic_value<Home>::validate() noexcept {
    for (;;) {
        std::uint64_t now = sequence_.now.load(std::memory_order_acquire);
        for (waiter wait; (now & 1) != 0 && !is_planted(fault::value_odd_ignored); wait.pause()) {
            if (sequence_.others_must_end.load(std::memory_order_relaxed)) return false;
            now = sequence_.now.load(std::memory_order_acquire);
        }
        if (!keeps_reads_) return false;
        if (!is_planted(fault::value_validation_dropped)) {
            for (const seen& each : reads_)
                if (Home::look(each.home).value != each.found && !blocks_.fresh().holds(each.home)) return false;
            if (!runs_hold()) return false;
        }
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) == now) {
            snapshot_ = now;
            return true;
        }
    }
}

/// Whether all runs that were read are at home as they were.
template <class Home>
bool basic_value<Home>::runs_hold() noexcept {
    if (is_planted(fault::run_unvalidated)) return true;
    const word* found = words_of_runs_.begin();
    for (const run& each : runs_)
        for (std::size_t i = 0; i < each.words; ++i, ++found)
            if (Home::look(each.first + i).value != *found && !blocks_.fresh().holds(each.first + i)) return false;
    return true;
}

/// Makes the counter odd, at a state in which all that was read still holds.
template <class Home>
bool basic_value<Home>::take_sequence() noexcept {
    let_others_run();
    for (waiter wait; sequence_.wanted_alone.load(std::memory_order_relaxed) != 0; wait.pause())
        if (sequence_.others_must_end.load(std::memory_order_relaxed)) return false;
    std::uint64_t expected = snapshot_;
    while (!sequence_.now.compare_exchange_strong(expected, expected + 1, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) {
        if (is_planted(fault::value_commit_unvalidated)) {
            expected &= ~std::uint64_t{1};
            snapshot_ = expected;
            let_others_run();
            continue;
        }
        if (!validate()) return false;
        expected = snapshot_;
    }
    ++snapshot_;
    HOLDFAST_ASSERT(snapshot_ % 2 == 1, "the counter is odd while a commit stores");
    alone_ = true;
    return true;
}

template <class Home>
bool basic_value<Home>::commit_stores() noexcept {
    if (began_alone_) [[unlikely]]
        return commit_alone(), true;
    if (!alone_ && !take_sequence()) {
        had_conflict_ = true;
        return false;
    }
    // Not before: while it waits for a turn, a commit holds nothing that the one that has it may need. After the
    // exchange nothing can be read that is not valid, so every drawn number is used.
    if (!Home::draw_number(writes_) || !Home::prepare(writes_)) [[unlikely]] {
        if (irrevocable_) stop("an irrevocable transaction", "the log has no room for it");
        return false;
    }
    if (is_planted(fault::value_released_early)) sequence_.now.store(snapshot_ + 1, std::memory_order_release);
    HOLDFAST_ASSERT(alone_ && sequence_.now.load(std::memory_order_relaxed) == snapshot_,
                    "homes are stored while the counter is this transaction's");
    if (keeps_old_values_) [[unlikely]] {
        replaced_.clear();
        keeps_old_values_ = false;
    }
    Home::log();
    writes_.template write_back<Home>();
    Home::retire();
    if constexpr (!Home::numbers_commits) writes_.clear();
    ++snapshot_;
    if (irrevocable_) [[unlikely]]
        sequence_.others_must_end.store(false, std::memory_order_relaxed);
    if (!is_planted(fault::value_released_early)) sequence_.now.store(snapshot_, std::memory_order_release);
    alone_ = false;
    irrevocable_ = false;
    close();
    Home::settle();
    return true;
}

template <class Home>
void basic_value<Home>::roll_back() noexcept {
    HOLDFAST_ASSERT(!irrevocable_, "what is irrevocable is not rolled back");
    if (keeps_old_values_) replaced_.put_back();
    // Where nothing was home the old number is right again.
    const bool was_home = keeps_old_values_ && !is_planted(fault::value_number_again);
    if (alone_) sequence_.now.store(was_home ? snapshot_ + 1 : snapshot_ - 1, std::memory_order_release);
    alone_ = keeps_old_values_ = false;
    writes_.clear();
    forget_reads();
    become_inactive();
    if (slot_ != nullptr) registry::retract(*slot_);
    blocks_.rolled_back();
}

template <class Home>
bool basic_value<Home>::become_irrevocable() noexcept {
    if (irrevocable_) return true;
    if (!alone_ && !take_sequence()) {
        had_conflict_ = true;
        return false;
    }
    if (!writes_.make_room_to_keep(writes_.template words_kept_by<Home>()))
        stop("an irrevocable transaction", "there is no memory for what it has stored");
    end_others();
    store_rest_home();
    store_home_from_now_on();
    replaced_.clear();
    keeps_old_values_ = false;
    irrevocable_ = true;
    blocks_.keep_allocated();
    return true;
}

/// Waits until no transaction of another thread is open. Requires: alone, and not rolled back from here on.
template <class Home>
void basic_value<Home>::end_others() noexcept {
    // It compares nothing any more: what was freed since its beginning need not be kept for it.
    if (slot_ != nullptr) slot_->since.store(snapshot_ - 1, std::memory_order_release);
    // Behind the exchange that made the counter odd: a thread that claims a slot later finds it odd.
    complete_fence();
    if ((slot_ != nullptr && registry_.has_one_thread()) || is_planted(fault::value_irrevocable_beside_others)) return;
    sequence_.others_must_end.store(true, std::memory_order_relaxed);
    registry::order_other_threads();
    registry_.wait_for_all(slot_);
}

/// What was stored so far, but for the words whose home keeps them: those change at the commit, all together. Requires:
/// room to keep them.
template <class Home>
void basic_value<Home>::store_rest_home() noexcept {
    for (const write_log::entry& each : writes_) {
        let_others_run();
        if (!Home::keeps(each.home())) detail::store_home(each.home(), each.value, each.mask());
    }
    writes_.template keep_only_words_of<Home>();
}

template <class Home>
void basic_value<Home>::settle_blocks() noexcept {
    if (is_planted(fault::limbo_ignored)) {
        blocks_.committed();
        return blocks_.give_back_freed();
    }
    for (const block& each : blocks_.freed()) limbo_.add(each, snapshot_);
    blocks_.freed().clear();
    blocks_.committed();
    if (limbo_.is_due()) {
        registry::order_other_threads();
        limbo_.give_back_until(registry_.oldest());
    }
}

template <class Home>
void basic_value<Home>::wait_for_others() noexcept {
    // One that is alone moves nothing on that could be seen.
    if (of_this_thread().slot_ == nullptr) registry_.note_threads_without_slot();
    // Transactions that begin from here on are distinguished from those open now, though nothing committed in between.
    std::uint64_t before = wait_for_even();
    while (!sequence_.now.compare_exchange_weak(before, before + 2, std::memory_order_seq_cst))
        before = wait_for_even();
    registry::order_other_threads();
    registry_.wait_for_older(before + 2, of_this_thread().slot_);
}

template <class Home>
void basic_value<Home>::conflict() {
    had_conflict_ = true;
    restart_();
}

template <class Home>
void basic_value<Home>::begin_slowly(const start& how) noexcept {
    if (slot_ == nullptr) {
        enter();
        // A static constructor's transaction leaves the first thread what it may be: the only one.
        if (slot_ == nullptr && !is_process_single_threaded()) registry_.note_threads_without_slot();
        if (slot_ != nullptr && !how.serial) return begin(how);
    }
    open(how);
    sequence_.wanted_alone.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t now = wait_for_even();
    while (!sequence_.now.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel)) now = wait_for_even();
    sequence_.wanted_alone.fetch_sub(1, std::memory_order_relaxed);
    snapshot_ = now + 1;
    // What was freed before is out of reach for a transaction that begins with the counter its own; a thread without a
    // slot may do without.
    if (slot_ != nullptr) registry::publish_cheaply(*slot_, snapshot_ - 1);
    alone_ = true;
    keeps_reads_ = false;
    loads_ = loads::plainly;
}

/// Home, where nobody else can see it or all others wait; otherwise into the write set.
template <class Home>
void basic_value<Home>::store_where_it_belongs(word* home, word what, std::uint8_t byte_mask) {
    const bool is_kept = Home::keeps(home) && !is_planted(fault::kept_stored_early);
    if (!is_kept && (keeps_old_values_ ? replaced_.note_at_once(home, byte_mask) : is_in_last_block(home)))
        return detail::store_home(home, what, byte_mask);
    store_elsewhere(home, what, byte_mask);
}

/// Apart, so that the usual case above saves no register.
template <class Home>
void basic_value<Home>::store_elsewhere(word* home, word what, std::uint8_t byte_mask) {
    if (Home::keeps(home)) {
        if (!active_) return Home::refuse_store(home);
        if (blocks_.fresh().holds(home)) return Home::store_fresh(home, what, byte_mask);
        return put(home, what, byte_mask);
    }
    if (keeps_old_values_) {
        replaced_.note(home, byte_mask);
        return detail::store_home(home, what, byte_mask);
    }
    if (irrevocable_ || !active_ || blocks_.fresh().holds(home)) return detail::store_home(home, what, byte_mask);
    if (may_store_early() && store_home_at_once()) return store_where_it_belongs(home, what, byte_mask);
    if (active_) put(home, what, byte_mask);
}

/// A part of a word that its home keeps: the whole word is read, and stored. The next part finds it whole.
template <class Home>
void basic_value<Home>::put_part(word* home, word what, std::uint8_t byte_mask) {
    if (loads_ == loads::own && writes_.add(home, what, byte_mask)) return;
    put(home, merged(load(home), what, byte_mask), 0xFF);
}

/// The line was stored to before, or the write set has become large.
template <class Home>
void basic_value<Home>::put_further(word* home, word what, std::uint8_t byte_mask) {
    if (Home::stores_early && writes_.is_at_stop()) {
        if (store_home_at_once()) return store_where_it_belongs(home, what, byte_mask);
        if (!active_) return;
    }
    writes_.put_further(home, what, byte_mask);
}

/// From here on, and what was stored so far, if nobody has to wait for it now. False: not so. A conflict restarts.
template <class Home>
bool basic_value<Home>::store_home_at_once() {
    if (keeps_old_values_ || irrevocable_ || registry_.others_are_active(slot_)) return false;
    if (writes_.empty()) {
        if (!alone_ && !take_sequence()) return conflict(), false;
        return store_home_from_now_on(), true;
    }
    // Not for a few words among many that stay in the write set: a thread that comes now has to wait.
    const std::size_t kept = writes_.template words_kept_by<Home>();
    if (kept > writes_.size() / 2) return false;
    // Memory first: a failure changes nothing, and the write set goes on.
    if (!replaced_.make_room(writes_.size()) || !writes_.make_room_to_keep(kept)) return false;
    if (!alone_ && !take_sequence()) return conflict(), false;
    for (const write_log::entry& each : writes_)
        if (!Home::keeps(each.home())) replaced_.note(each.home(), each.mask());
    store_rest_home();
    store_home_from_now_on();
    return true;
}

/// Requires: alone, and only words that the home keeps are in the write set.
template <class Home>
void basic_value<Home>::store_home_from_now_on() noexcept {
    loads_ = writes_.empty() ? loads::plainly : loads::own;
    forget_reads();
    keeps_reads_ = false;
    keeps_old_values_ = some_go_home_ = true;
}

}  // namespace holdfast::stm
