// `value`, of the family of NOrec: one sequence counter, reads kept with their values. It owns the counter, a
// registry of threads and, for each thread, read set, write set and the blocks that wait to be given back.
//
// Protocol (NOrec: Dalessandro, Spear, Scott, PPoPP 2010, figure 2):
//   1. begin: wait until the counter is even; it is the snapshot, and is published in the thread's slot.
//   2. load: a word that was stored to comes from the write set. Any other is loaded from its home; then the counter is
//      looked at: where it is the snapshot still, the value is part of the state at the snapshot, and is kept with its
//      home. Where it has moved: 3., and the word is loaded again.
//   3. validate: wait until the counter is even; compare every home in the read set with the value that was read; look
//      whether the counter has moved meanwhile, and if so do it again. All equal: the counter is the new snapshot,
//      since the values that were read are those of that state too. One differs: conflict.
//   4. store: into the write set.
//   5. commit without stores: nothing to do; all loads are of one state. With stores: the counter goes from the
//      snapshot to the odd number above it by compare-and-swap; where that fails, 3. and again. Then write back, then
//      the counter goes to the even number above.
//   6. alone (serial or irrevocable): the counter is odd from the beginning, or from become_irrevocable, until the end.
//      Who waits to be alone at the beginning says so, and commits that have not made the counter odd wait meanwhile:
//      so a transaction that always met conflicts comes through.
//   7. what was freed goes to the thread's limbo with the counter after commit as its time; blocks are given back in
//      batches when every open transaction has begun at that time or later.
//
// Invariants:
//   I1. While the counter is even no home is stored to, but for fresh blocks, which nobody else can reach.
//   I2. All pairs of a read set equal the memory at the moment at which the counter became snapshot_.
//   I3. The slot holds the counter of the beginning, not the snapshot that validation moved on: the read set may hold
//       homes of a block that was freed in between, as long as its words have not changed.
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
#include <holdfast/stm/value.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/stm/ranges.hpp>
#include <holdfast/stm/wait.hpp>

#include <pthread.h>

#include <cstring>

namespace holdfast::stm {

constinit value::sequence value::sequence_;
constinit registry value::registry_;
constinit thread_local value value_of_this_thread;

static_assert(algorithm<value>);

namespace {

pthread_key_t value_exit_key;
bool value_exit_key_made = false;

}  // namespace

/// A word that was stored to, or one whose slot another one has.
template <bool Keeping>
word value::load_stored(const word* home) {
    const write_log::entry* const stored = writes_.find(home);
    if (stored != nullptr && stored->mask() == 0xFF) return stored->value;
    const word found = Keeping ? load_and_keep(home) : load_shared(home);
    return stored != nullptr ? merged(found, stored->value, stored->mask()) : found;
}
template word value::load_stored<true>(const word* home);
template word value::load_stored<false>(const word* home);

word value::load_and_keep(const word* home) {
    const word found = load_shared(home);
    if (keeps_reads_) reads_.push({home, found});
    return found;
}

/// Loads again once the snapshot is the counter.
word value::load_moved(const word* home) {
    if (!active_) return detail::load_home(home);
    for (;;) {
        if (!validate()) conflict();
        const word found = detail::load_home(home);
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) == snapshot_) return found;
    }
}

std::uint64_t value::wait_for_even() noexcept {
    for (waiter wait;; wait.pause()) {
        const std::uint64_t now = sequence_.now.load(std::memory_order_acquire);
        if ((now & 1) == 0) return now;
    }
}

bool value::validate() noexcept {
    for (;;) {
        const std::uint64_t now = is_planted(fault::value_odd_ignored)
                                      ? sequence_.now.load(std::memory_order_acquire)
                                      : wait_for_even();
        if (!keeps_reads_) return false;
        if (!is_planted(fault::value_validation_dropped)) {
            for (const seen& each : reads_)
                if (detail::load_home(each.home) != each.found && !blocks_.fresh().holds(each.home)) return false;
        }
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) == now) {
            snapshot_ = now;
            return true;
        }
    }
}

/// Makes the counter odd, at a state in which all that was read still holds.
bool value::take_sequence() noexcept {
    let_others_run();
    for (waiter wait; sequence_.wanted_alone.load(std::memory_order_relaxed) != 0;) wait.pause();
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

bool value::commit_stores() noexcept {
    if (!alone_ && !take_sequence()) {
        had_conflict_ = true;
        return false;
    }
    if (is_planted(fault::value_released_early)) sequence_.now.store(snapshot_ + 1, std::memory_order_release);
    HOLDFAST_ASSERT(alone_ && sequence_.now.load(std::memory_order_relaxed) == snapshot_,
                    "homes are stored while the counter is this transaction's");
    writes_.write_back();
    writes_.clear();
    ++snapshot_;
    if (!is_planted(fault::value_released_early)) sequence_.now.store(snapshot_, std::memory_order_release);
    alone_ = false;
    irrevocable_ = false;
    close();
    return true;
}

void value::roll_back() noexcept {
    // Nothing is home: the old number is right again.
    if (alone_) sequence_.now.store(snapshot_ - 1, std::memory_order_release);
    alone_ = false;
    writes_.clear();
    reads_.clear();
    become_inactive();
    if (slot_ != nullptr) registry::retract(*slot_);
    blocks_.rolled_back();
}

bool value::become_irrevocable() noexcept {
    if (irrevocable_) return true;
    if (!alone_ && !take_sequence()) {
        had_conflict_ = true;
        return false;
    }
    writes_.write_back();
    writes_.clear();
    reads_.clear();
    keeps_reads_ = false;
    loads_ = loads::plainly;
    irrevocable_ = some_go_home_ = true;
    blocks_.keep_allocated();
    return true;
}

void value::settle_blocks() noexcept {
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

void value::conflict() noexcept {
    had_conflict_ = true;
    restart_();
    __builtin_unreachable();
}

void value::begin_slowly(const start& how) noexcept {
    if (slot_ == nullptr) {
        enter();
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
void value::store_where_it_belongs(word* home, word what, std::uint8_t byte_mask) {
    if (irrevocable_ || !active_ || blocks_.fresh().holds(home)) return detail::store_home(home, what, byte_mask);
    put(home, what, byte_mask);
}

void value::load_line(const word* first, unsigned count, pool_word* out) {
    for (;;) {
        for (unsigned i = 0; i < count; ++i) out[i] = detail::load_home(first + i);
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) == snapshot_) [[likely]]
            break;
        if (!validate()) conflict();
    }
    if (keeps_reads_) {
        seen* const room = reads_.room_for(count);
        for (unsigned i = 0; i < count; ++i) room[i] = {first + i, out[i]};
        reads_.taken(count);
    }
    if (!writes_.may_hold_of_line(first)) return;
    for (unsigned i = 0; i < count; ++i)
        if (const write_log::entry* stored = writes_.find(first + i))
            out[i] = merged(out[i], stored->value, stored->mask());
}

void value::store_line(const detail::line_piece& piece, const word* values) {
    auto* home = reinterpret_cast<word*>(piece.first_word);
    for (unsigned i = 0; i < piece.words; ++i) store(home + i, values[i], piece.mask_of(i));
}

bool value::is_private(const void* from, std::size_t bytes) const noexcept {
    return !active_ || blocks_.fresh().last_holds(from, bytes) || detail::is_own_frame(from, frames_below_);
}

void value::read_range(void* to, const void* from, std::size_t bytes) { detail::read_range(*this, to, from, bytes); }
void value::write_range(void* to, const void* from, std::size_t bytes) { detail::write_range(*this, to, from, bytes); }
void value::copy_range(void* to, const void* from, std::size_t bytes) { detail::copy_range(*this, to, from, bytes); }
void value::fill_range(void* to, int byte, std::size_t bytes) { detail::fill_range(*this, to, byte, bytes); }

/// The thread's first transaction, or its first since no slot was free.
void value::enter() noexcept {
    static const bool known_to_process = [] {
        registry::prepare();
        value_exit_key_made = pthread_key_create(&value_exit_key, leave) == 0;
        return value_exit_key_made && pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
    }();
    // Without notice of the thread's end its slot would be lost: it runs serially instead.
    if (!known_to_process || pthread_setspecific(value_exit_key, this) != 0) return;
    slot_ = registry_.claim();
}

/// At thread exit, after the destructors of thread_local objects, which may still run transactions.
void value::leave(void* of_thread) noexcept {
    auto& own = *static_cast<value*>(of_thread);
    waiter wait;
    for (;;) {
        registry::order_other_threads();
        own.limbo_.give_back_until(registry_.oldest());
        if (own.limbo_.empty()) break;
        wait.pause();
    }
    if (own.slot_ != nullptr) registry::release(*own.slot_);
    own.slot_ = nullptr;
    own.reads_.release();
    own.writes_.release();
    own.blocks_.release();
    own.limbo_.release();
}

/// No commit of another thread may be half done in the child.
void value::before_fork() noexcept {
    auto& own = of_this_thread();
    if (own.active()) return;
    own.begin({.serial = true});
    own.stopped_others_ = true;
}

void value::after_fork_in_parent() noexcept {
    auto& own = of_this_thread();
    if (own.stopped_others_) own.roll_back();
    own.stopped_others_ = false;
}

void value::after_fork_in_child() noexcept {
    registry_.forget_others(of_this_thread().slot_);
    sequence_.wanted_alone.store(0, std::memory_order_relaxed);
    after_fork_in_parent();
}

}  // namespace holdfast::stm
