// softwrap: owns a wrap's values until it is closed; the shared alias table is log/alias_buffers. After Giles, Doshi
// and Varman, "Transaction Local Aliasing in Storage Class Memory": algorithm 1, and what it tells of the original
// SoftWrAP.
//
// Protocol, byte-addressable media
//   1. OpenWrap: an empty table of the wrap's own, and a log bucket, as in softwrap_lat.
//   2. WrapStore: the wrap's own table, and its record, which streams to the bucket. The paper enters values into the
//      shared table here; see below.
//   3. WrapLoad: the wrap's own value, else the younger shared table's, else the older's, else the home's. A load that
//      names no wrap sees what this thread's open wraps have stored, and then the same.
//   CloseWrap, with the caller's locks held
//   4. Take a lane and make room in the log: the last step that can fail.
//   5. Enter the active shared table, which may wait for room there.
//   6. Draw the commit stamp: stamp order is lock order. Nobody waits for room with a stamp.
//   7. Fresh blocks, which the record does not name, become durable. A FENCE, if there are any.
//   8. Stream what is missing of the record.
//   9. FENCE. Orders the record before its values are seen, and so before anybody stores them home; and the close waits
//      for it. Without fresh blocks it is the only one.
//  10. Publish all values in the shared table. Nothing is written back. A wrap with more values than a table holds
//      stores its homes instead, writes them back and FENCES: S may pass the record as soon as the lane is given back.
//  11. Leave the table. It may come home once all that have entered it have left.
//  12. Give the lane back; truncation may pass, but for what waits in a table.
// What follows is alias_buffers': closing the table, storing the homes, trimming the log in lock step.
//
// Why values are not shared before the close, as the paper has it: a table cannot come home while a wrap is open that
// has a value in it. With locks that is a deadlock: who waits for room in a table may hold the lock that this wrap
// waits for. And a load without a lock would see what an abort, or a crash, takes back.
//
// At `process` without streams and fences; the log keeps the record until its values are home, for the tables die with
// the process. On a file at `power` homes are private memory, no alias is needed, and it is redo's group commit.
//
// Invariants
//   * A value is in a shared table only when its record is whole, and at `power` durable.
//   * A wrap enters a table with its locks held, and leaves it before they are released.
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/alias_buffers.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/options.hpp>

namespace holdfast {
namespace {

namespace site = persist::site;

/// What a thread sees that names no wrap.
struct outside_view {
    const open_pool& pool;
    const alias_tables* aliases;

    std::uint64_t load(const pool_word* home) const {
        std::uint64_t value = aliases != nullptr ? aliases->load(home) : __atomic_load_n(home, __ATOMIC_RELAXED);
        open_wraps<softwrap_transaction>::for_each_of_this_thread([&](softwrap_transaction& each) {
            if (each.pool() == &pool) value = each.load_over(home, value);
        });
        return value;
    }
};

}  // namespace

result<void> softwrap_transaction::commit() {
    if (pool_->homes_are_private()) return commit_in_group();
    lane_log& log = *pool_->lanes();
    result<void> reserved;
    log_lane* const taken = log.acquire_with_room(writes_, reserved);  // 4
    if (taken == nullptr) return reserved;
    log_lane& lane = *taken;
    alias_buffers& aliases = *pool_->aliases();
    auto entered = aliases.enter(writes_.payload_words());  // 5
    sequence_ = log.draw_sequence(lane);                    // 6
    persist_fresh_blocks();                                 // 7
    if (pool_->persists_lines() || pool_->wraps().logs) {
        log.append_early(lane, writes_.record(), writes_.payload_words(), sequence_, writes_.early());  // 8
        persist::fence_or_order(pool_->persists_lines(), pool_->lines(), site::log_commit_fence);       // 9
    }
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_) || !pool_->wraps().logs, "values are shared once logged, durably");
    HOLDFAST_ASSERT(writes_.is_within(pool_->size()), "no store goes outside the pool");
    if (entered.stores_homes()) {
        store_homes();  // 10
    } else {
        publish(entered);  // 10
    }
    HOLDFAST_ASSERT(log.truncated() < sequence_, "truncation stays below a commit until its values have a place");
    aliases.leave(entered, sequence_);  // 11
    log.release(lane);                  // 12
    clear();
    return {};
}

void softwrap_transaction::publish(alias_entrance& entered) {
    pool_->aliases()->publish(entered, [this](auto&& publish) {
        writes_.for_each_entry([&](const format::entry& each, const std::uint64_t* values) {
            publish(each.offset, values[0], each.mask);
            for (std::uint64_t i = 1; i < each.words; ++i) publish(each.offset + i * 8, values[i], 0xFF);
        });
    });
}

void softwrap_transaction::store_homes() {
    writes_.apply(base_, site::wrap_home);
    if (!pool_->persists_lines()) return;
    writes_.for_each_entry([&](const format::entry& each, const std::uint64_t*) {
        persist::write_back(pool_->lines(), base_ + each.offset, each.words * 8, site::wrap_home);
    });
    // Orders the homes before S passes the record, which it may as soon as the lane is given back.
    persist::fence(pool_->lines(), site::wrap_home_fence);
}

closed_values::closed_values(open_pool& pool)
    : pool_(&pool),
      aliases_(pool.alias_values()),
      instance_(pool.instance()),
      changes_(pool_changes.load(std::memory_order_acquire)) {
    if (pool.is_inherited()) throw failure(detail::refused_in_child(pool));
    if (pool.engine_name() != softwrap::description.name)
        fail(errc::misuse, "closed_values needs a pool of softwrap: elsewhere plain loads see what was closed");
}

void closed_values::check_load(const void* home) const {
    const std::uint64_t now = pool_changes.load(std::memory_order_relaxed);
    if (!is_open_pool(pool_, instance_)) fail(errc::misuse, "the pool was closed, or opened before a fork");
    changes_ = now;
    if (!pool_->contains(home)) fail(errc::misuse, "a load of closed values outside their pool");
}

void softwrap::require_in_open_pool(const void* home) {
    const open_pool* const pool = find_open_pool(home);
    if (pool == nullptr || pool->engine_name() != description.name)
        fail(errc::misuse, "a load that names no wrap, of an object that is in no open pool of softwrap");
}

void softwrap::read(const void* home, void* to, std::size_t bytes) {
    open_pool* const pool = find_open_pool(home);
    if (pool == nullptr || pool->engine_name() != description.name) {
        std::memcpy(to, home, bytes);
        return;
    }
    outside_view view{*pool, pool->alias_values()};
    load_bytes(view, home, to, bytes);
}

}  // namespace holdfast
