// cc_htm with aliases that are not private pages: the program's homes are the medium's, and what is committed and not
// home waits in the alias tables (log/alias_buffers.cpp) or sets (log/alias_sets.cpp). Owns a commit's part in them.
//
// What differs from the protocol in cc_htm.cpp
//   1. A load looks into the tables, or the set of the word, and then at the home. So does a validation by value.
//   2. Behind the admission, before the number, so that nobody waits with a number that is not in the log:
//      Tables: enter the active one, which may wait for room.
//      Sets: take a place for each word. Where a set is full the attempt is over as behind a conflict. The locks are
//      released, the transaction helps to retire until an entry of that set can be taken over, and begins again. One
//      that runs serially, as all do in the end, keeps its locks: nobody else can take what it waits for.
//   4. Tables: publish the values, and leave. Sets: put the values into the places. Then release the isolation's
//      locks. Nothing is stored home. The record is not durable yet: a closed table waits for the log before it comes
//      home, and an entry of a set cannot be taken over before the queue has retired its commit.
//   7. Tables: whoever has committed brings a table home that is more than half full, so that nobody has to do it
//      while he holds the isolation's locks. (A thread of the pool does it where there is one.) With sets homes come
//      from the queue, as with private pages.
//   Home first: a commit with more words than a table holds waits in step 2 until both are empty and home. One with
//   more words of one set than it has ways takes no places. Its record goes to the log behind the last validation, with
//   the locks held, and it waits for the records of smaller numbers. With tables it stores its homes, writes them back
//   and FENCES: S may pass the record as soon as the lane is given back. With sets it helps the queue until that has
//   retired it, and drops the older entries of its words. Then it releases its locks. It need not run alone for that:
//   nobody with a number waits for a lock of the isolation.
//
// Invariants
//   * A home on the medium is stored only when its record and all those of smaller numbers are in the log.
//   * Places are taken before the number is drawn, and values come into them only when the commit is certain.
#include <holdfast/engine/cc_htm_aliases.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/access.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/retirement.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <cstring>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

namespace site = persist::site;

/// Requires: the caller has no number that is not in the log.
void retire_up_to(retirement& queue, std::uint64_t number) {
    while (queue.retired() < number)
        if (!queue.retire_if_free()) std::this_thread::yield();
}

/// Those of a commit that is larger than a table.
void store_homes(open_pool& pool, const stm::write_log& writes) {
    for (const stm::write_log::entry& each : writes)
        persist::store_word(each.home(), each.value, each.mask(), site::wrap_home);
    if (!pool.persists_lines()) return persist::order_for_kill();
    const auto line_of = [](const stm::word* home) {
        return reinterpret_cast<std::uintptr_t>(home) / persist::line_bytes;
    };
    std::uintptr_t last = 0;
    for (const stm::write_log::entry& each : writes) {
        if (line_of(each.home()) != last)
            persist::write_back(pool.lines(), each.home(), sizeof(stm::word), site::wrap_home);
        last = line_of(each.home());
    }
    persist::fence(pool.lines(), site::wrap_home_fence);
}

}  // namespace

void cc_htm_aliases::begin(open_pool& pool, bool alone) noexcept(persist::noexcept_seam) {
    is_alone_ = alone;
    const std::uint64_t lacking_in = std::exchange(lacking_in_, 0);
    if (lacking_in != 0 && lacking_in == pool.instance()) retire_up_to(*pool.retiring(), places_.wanted());
}

bool cc_htm_aliases::enter(open_pool& pool, const stm::write_log& writes) {
    if (pool.sets() != nullptr) return enter_sets(pool, writes);
    alias_buffers* const tables = pool.aliases();
    if (tables == nullptr) return true;
    entrance_ = tables->enter(writes.size());
    base_ = pool.base();
    tables_ = tables;
    uses_ = entrance_.stores_homes() ? uses::homes : uses::table;
    return true;
}

bool cc_htm_aliases::enter_sets(open_pool& pool, const stm::write_log& writes) {
    for (;;) {
        switch (places_.take(*pool.sets(), writes, *pool.retiring())) {
            case cc_htm_set_places::taken::all: uses_ = uses::sets; return true;
            case cc_htm_set_places::taken::none_ever: uses_ = uses::homes; return true;
            case cc_htm_set_places::taken::none_now: break;
        }
        if (!is_alone_) {
            lacking_in_ = pool.instance();
            return false;
        }
        retire_up_to(*pool.retiring(), places_.wanted());
    }
}

void cc_htm_aliases::begin_publishing(std::uint64_t number) noexcept {
    if (uses_ == uses::table) publisher_.emplace(tables_->begin_publishing(entrance_));
    if (uses_ == uses::sets) places_.begin_putting(number);
}

void cc_htm_aliases::publish(stm::word* home, stm::word value, std::uint8_t mask) noexcept {
    switch (uses_) {
        case uses::table: {
            const auto offset = reinterpret_cast<std::uintptr_t>(home) - reinterpret_cast<std::uintptr_t>(base_);
            return (*publisher_)(offset, value, mask);
        }
        case uses::sets: return places_.put(home, value, mask);
        case uses::nothing: return stm::detail::store_home(home, value, mask);
        case uses::homes: return;
    }
}

void cc_htm_aliases::leave(std::uint64_t number) noexcept {
    if (uses_ == uses::nothing) return;
    publisher_.reset();
    places_.forget();
    if (tables_ != nullptr) tables_->leave(entrance_, number);
    tables_ = nullptr;
    uses_ = uses::nothing;
}

void cc_htm_aliases::give_back() noexcept {
    if (uses_ == uses::nothing) return;
    places_.give_back();
    if (tables_ != nullptr) tables_->leave_unused(entrance_);
    tables_ = nullptr;
    uses_ = uses::nothing;
}

void cc_htm_aliases::bring_home(open_pool& pool, const stm::write_log& writes, std::uint64_t number) {
    if (tables_ != nullptr) {
        pool.retiring()->wait_for_log(number);
        HOLDFAST_ASSERT(pool.retiring()->prefix() >= number,
                        "a home on the medium is stored when the log has all records up to its own");
        return store_homes(pool, writes);
    }
    retire_up_to(*pool.retiring(), number);
    alias_sets& sets = *pool.sets();
    for (const stm::write_log::entry& each : writes) sets.drop(sets.word_of(each.home()));
}

void cc_htm_aliases::settle(open_pool& pool, std::uint64_t number) {
    alias_buffers* const tables = pool.aliases();
    if (tables == nullptr) return;
    const retirement_options& options = pool.retiring()->options();
    if (options.waits_for_homes) {
        if (number == 0 && options.lag == 0) number = pool.retiring()->prefix();
        while (tables->first_not_home() <= number && number - tables->first_not_home() >= options.lag)
            tables->bring_home();
    }
    tables->relieve();
}

void detail::read_committed(const void* home, void* to, std::size_t bytes) {
    const open_pool* const pool = find_open_pool(home);
    if (pool != nullptr && pool->alias_values() != nullptr) return load_bytes(*pool->alias_values(), home, to, bytes);
    if (pool != nullptr && pool->sets() != nullptr) return load_bytes(*pool->sets(), home, to, bytes);
    std::memcpy(to, home, bytes);
}

}  // namespace holdfast
