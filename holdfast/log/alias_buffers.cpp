// The shared alias table of SoftWrAP, double buffered. After Giles, Doshi and Varman ("Transaction Local Aliasing in
// Storage Class Memory"; of the shared table it says: values wait in it, go to their homes in the background, and
// entries go in lock step with trimming of the log).
//
// A table is EMPTY, then ACTIVE, then CLOSED, then RETIRING, then EMPTY; one is active, the other somewhere behind it.
//   1. ACTIVE: a commit enters (there is room for all its words), seals its record, publishes its values, notes its
//      sequence, and leaves. It enters with its locks held: of two commits of the same byte the later one finds the
//      same table or the younger one, so the younger table has the newer value.
//   2. CLOSED, when it is full, the log runs short or homes are asked for, and the other one is EMPTY, which becomes
//      ACTIVE with that: nobody enters, those inside finish. They wait for nobody but the medium. Where the other is
//      not empty yet, who wants to enter waits.
//   3. RETIRING: wait until the log has the record of the highest number that left a value here, and those of all
//      smaller ones (see below). Store all homes, write back their lines, each once, and FENCE. Orders the homes before
//      step 5: were the log trimmed first, a cut would lose what was committed.
//   4. EMPTY. Readers find nothing there any more, and what they read at home then is what was stored in 3.
//   5. Trim the log: S is below every commit in flight and below the first that left an alias in the younger table.
//      Everything below it is home, whichever table it was in. Not before 4: what S passes the heap calls clean, and
//      who takes a clean block stores to it past the tables.
// Values come into a table only when their commit is certain, so that nothing ever has to be taken out of one, and a
// wrap that stays open holds no table back: it might be waiting for a lock whose owner waits for room in a table.
//
// Softwrap publishes when the record is durable; nothing is left to wait for in step 3. cc_htm publishes before, while
// it holds the locks of its isolation (wait_for_log): recovery keeps a prefix of the numbers, and a value that was home
// behind its end would belong to no commit. A commit draws its number after it has entered, since
// who waited for room with a number that is not in the log would wait for himself. A number that was drawn in vain
// leaves no value, and no sequence, in a table.
//
// At `process` without write-backs and the fence. A commit larger than a table waits until both are empty, and stores
// its homes itself while nobody publishes; not before the log has its record and those of all smaller numbers.
//
// Invariants
//   * The value of a byte is the younger table's, else the older's, else the home's; the older retires first.
//   * A home is stored by who retires, or by who is alone: never by two at once.
//   * A table comes home only when the prefix of the log has passed the highest number that left a value in it.
//   * S passes no record whose values are in a table.
#include <holdfast/log/alias_buffers.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>

#include <algorithm>
#include <new>

namespace holdfast {
namespace {

namespace site = persist::site;

}  // namespace

alias_buffers::alias_buffers(std::byte* pool, std::uint64_t pool_bytes, lane_log& lanes, const alias_options& options)
    : alias_tables(pool, options.words),
      lanes_(lanes),
      options_(options),
      pool_bytes_(pool_bytes),
      touched_(pool, pool_bytes, options.lines, site::retire_home) {
    open(0);
    if (options.in_background) retirement_ = start_without_signals([this] { retire_in_background(); });
}

alias_buffers::~alias_buffers() {
    if (!retirement_.joinable()) return;
    const cancellation_held uncancelled;
    {
        const std::lock_guard lock(mutex_);
        stops_ = true;
    }
    changed_.notify_all();
    retirement_.join();
}

// ---- 1. ACTIVE

alias_buffers::entrance alias_buffers::enter(std::size_t words) {
    if (words > options_.words) return enter_alone();
    for (;;) {
        const unsigned table = newest_.load(std::memory_order_acquire);
        auto& all = gates_[table].all;
        std::uint64_t now = all.load(std::memory_order_relaxed);
        while ((now & gate::open) != 0 && gate::words(now) + words <= options_.words) {
            if (!all.compare_exchange_weak(now, now + gate::one_inside + words, std::memory_order_acquire)) continue;
            entrance held;
            held.table = table;
            held.reserved = static_cast<std::uint32_t>(words);
            return held;
        }
        make_room_beside(table);
    }
}

std::uint64_t alias_tables::look(const pool_word* home, std::uint64_t word, std::uint64_t hash) const noexcept {
    const unsigned newer = newest_.load(std::memory_order_acquire);
    const alias_table::alias first = tables_[newer].find(word, hash);
    if (first.mask == 0xFF) return first.value;
    const alias_table::alias second = tables_[newer ^ 1u].find(word, hash);
    // Homes last: what left a table before it was looked at has come home before.
    const std::uint64_t value = __atomic_load_n(home, __ATOMIC_ACQUIRE);
    return merged(merged(value, second.value, second.mask), first.value, first.mask);
}

void alias_buffers::leave(const entrance& held, std::uint64_t sequence) {
    if (held.alone) return leave_alone();
    gate& from = gates_[held.table];
    std::uint64_t first = from.first_sequence.load(std::memory_order_relaxed);
    while (sequence < first &&
           !from.first_sequence.compare_exchange_weak(first, sequence, std::memory_order_release)) {
    }
    std::uint64_t last = from.last_sequence.load(std::memory_order_relaxed);
    while (sequence > last && !from.last_sequence.compare_exchange_weak(last, sequence, std::memory_order_release)) {
    }
    go_out(held);
}

void alias_buffers::leave_unused(const entrance& held) {
    if (held.alone) return leave_alone();
    go_out(held);
}

void alias_buffers::go_out(const entrance& held) {
    gate& from = gates_[held.table];
    // A word that was there already needs no more room.
    const std::uint64_t given_back = held.reserved - std::min(held.inserted, held.reserved);
    const std::uint64_t before =
        from.all.fetch_sub(gate::one_inside + given_back, std::memory_order_acq_rel);
    if ((before & gate::open) != 0 || gate::inside(before) != 1) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

// ---- 2. CLOSED

void alias_buffers::open(unsigned table) noexcept {
    HOLDFAST_ASSERT_ALWAYS(states_[table ^ 1u] != state::active, "one table is active");
    ++opened_;
    states_[table] = state::active;
    gates_[table].all.store(gate::open, std::memory_order_release);
    newest_.store(table, std::memory_order_release);
}

void alias_buffers::close(unsigned table) noexcept {
    HOLDFAST_ASSERT_ALWAYS(states_[table] == state::active, "the active table is closed, once");
    gates_[table].all.fetch_and(~gate::open, std::memory_order_acq_rel);
    states_[table] = state::closed;
}

/// Requires: the other table is empty.
void alias_buffers::turn(guard& lock) {
    const unsigned full = newest_.load(std::memory_order_relaxed);
    HOLDFAST_ASSERT_ALWAYS(states_[full ^ 1u] == state::empty, "a table becomes active when it is empty");
    close(full);
    open(full ^ 1u);
    changed_.notify_all();
    if (!retirement_.joinable()) retire(lock);
}

void alias_buffers::make_room_beside(unsigned full) {
    const cancellation_held uncancelled;
    guard lock(mutex_);
    if (alone_) return changed_.wait(lock, [&] { return !alone_; });
    if (newest_.load(std::memory_order_relaxed) != full) return;
    if (states_[full ^ 1u] == state::empty) return turn(lock);
    waits_.fetch_add(1, std::memory_order_relaxed);
    if (!retirement_.joinable()) {
        retire(lock);
        return;
    }
    changed_.wait(lock, [&] { return alone_ || states_[full ^ 1u] == state::empty || newest_.load() != full; });
}

void alias_buffers::relieve() {
    if (retirement_.joinable()) return;
    const unsigned table = newest_.load(std::memory_order_relaxed);
    if (gate::words(gates_[table].all.load(std::memory_order_relaxed)) <= options_.words / 2) return;
    const cancellation_held uncancelled;
    guard lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || alone_ || newest_.load(std::memory_order_relaxed) != table) return;
    if (states_[table ^ 1u] == state::empty) turn(lock);
}

void alias_buffers::note_room(const log_room& now) noexcept {
    if (now.free >= now.of / 2) return;
    guard lock(mutex_);
    const unsigned newest = newest_.load(std::memory_order_relaxed);
    if (!retirement_.joinable() || alone_ || states_[newest ^ 1u] != state::empty || !is_used(newest)) return;
    turn(lock);
}

// ---- 3. to 5. RETIRING, EMPTY

std::optional<unsigned> alias_buffers::closed_table() const noexcept {
    for (const unsigned table : {0u, 1u})
        if (states_[table] == state::closed) return table;
    return std::nullopt;
}

/// Brings the closed table home, or waits while another thread does. False where there is none.
bool alias_buffers::retire(guard& lock) {
    const auto is_retiring = [&] { return std::ranges::find(states_, state::retiring) != states_.end(); };
    const auto closed = closed_table();
    if (!closed) {
        const bool others_do = is_retiring();
        changed_.wait(lock, [&] { return !is_retiring(); });
        return others_do;
    }
    states_[*closed] = state::retiring;
    changed_.wait(lock, [&] { return gate::inside(gates_[*closed].all.load(std::memory_order_acquire)) == 0; });
    lock.unlock();
    bring_table_home(*closed);
    lock.lock();
    retired_.fetch_add(1, std::memory_order_release);
    states_[*closed] = state::empty;
    changed_.notify_all();
    return true;
}

void alias_buffers::bring_table_home(unsigned table) {
    gate& its = gates_[table];
    // Emptied first: what a truncation passes may be stored to past the table, which must not hide it.
    const auto empty_and_trim = [&] {
        tables_[table].empty();
        its.first_sequence.store(never, std::memory_order_release);
        its.last_sequence.store(0, std::memory_order_release);
        lanes_.trim();
    };
    HOLDFAST_ASSERT_ALWAYS(gate::inside(its.all.load()) == 0 && (its.all.load() & gate::open) == 0,
                           "nobody is inside a table that retires");
    HOLDFAST_ASSERT(its.first_sequence.load() > lanes_.truncated(), "S passes no record whose values are in a table");
    if (options_.wait_for_log && !is_planted(planted::table_home_before_prefix))
        options_.wait_for_log(its.last_sequence.load(std::memory_order_acquire));
    if (is_planted(planted::state_flipped_too_soon)) empty_and_trim();
    store_homes(table);
    if (options_.persists) touched_.write_back();
    persist::fence_or_order(options_.persists, options_.lines, site::retire_home_fence);
    if (!is_planted(planted::state_flipped_too_soon)) empty_and_trim();
}

void alias_buffers::store_homes(unsigned table) {
    // With the acquiring load of who finds such a home: he knows of the commit whose value it is.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tables_[table].for_each([&](std::uint64_t word, alias_table::alias each) {
        HOLDFAST_ASSERT(word * 8 < pool_bytes_.load(), "no home is outside the pool");
        auto* home = reinterpret_cast<std::uint64_t*>(pool_) + word;
        persist::store_word(home, each.value, each.mask, site::retire_home);
        if (options_.persists) touched_.add(word * 8, 1);
    });
}

std::uint64_t alias_buffers::first_not_home() const noexcept {
    if (is_planted(planted::younger_table_trimmed)) return never;
    return std::min(gates_[0].first_sequence.load(std::memory_order_acquire),
                    gates_[1].first_sequence.load(std::memory_order_acquire));
}

void alias_buffers::bring_home() {
    const cancellation_held uncancelled;
    guard lock(mutex_);
    changed_.wait(lock, [&] { return !alone_; });
    const std::uint64_t wanted = is_used(newest_.load()) ? opened_ : opened_ - 1;
    while (retired_.load(std::memory_order_relaxed) < wanted) {
        if (retire(lock)) continue;
        if (alone_) {
            changed_.wait(lock, [&] { return !alone_; });
        } else if (opened_ == wanted) {
            turn(lock);
        }
    }
}

void alias_buffers::retire_in_background() {
    guard lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stops_ || closed_table().has_value(); });
        if (stops_) return;
        retire(lock);
    }
}

// ---- a commit larger than a table

alias_buffers::entrance alias_buffers::enter_alone() {
    const cancellation_held uncancelled;
    guard lock(mutex_);
    changed_.wait(lock, [&] { return !alone_; });
    alone_ = true;
    while (retire(lock)) {
    }
    close(newest_.load(std::memory_order_relaxed));
    while (retire(lock)) {
    }
    entrance held;
    held.alone = true;
    return held;
}

void alias_buffers::leave_alone() {
    const std::lock_guard lock(mutex_);
    open(newest_.load(std::memory_order_relaxed));
    alone_ = false;
    changed_.notify_all();
}

}  // namespace holdfast
