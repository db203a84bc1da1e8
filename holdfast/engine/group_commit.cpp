// The commit that the engines which write aside share on a file at `power`; the log is log/groups.
//
// Protocol
//   1. admit: whether the log can hold the record at all; the number of pages of homes that the commit needs.
//   2. Fresh blocks are written to the file at once: the log does not have their bytes. The group syncs them before its
//      record.
//   3. Append to the open group, with the caller's locks held: append order is lock order. From here on the commit
//      stands, and nothing may fail.
//   4. Store the homes: memory that is private to the process, so no cut can show them without the record.
//   5. With the locks released, wait for the group's one SYNC.
//
// Invariants
//   * A home is in the file only when its group is durable: a checkpoint writes logged bytes, never memory.
//   * A page of homes is not given back before every record that names it is home.
#include <holdfast/engine/group_commit.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/private_pages.hpp>
#include <holdfast/persist/file.hpp>

#include <new>

namespace holdfast {
namespace {

namespace site = persist::site;

/// Returns whether any was written. Errors: io.
result<bool> write_fresh_blocks(open_pool& pool, const fresh_blocks& fresh) {
    result<void> written;
    bool any = false;
    fresh.for_each_stored([&](const std::byte* at, std::size_t bytes) {
        if (!written) return;
        any = true;
        const auto offset = static_cast<std::uint64_t>(at - pool.base());
        written = pool.backing_file().write_at(offset, at, bytes, site::redo_fresh);
    });
    if (!written) return std::move(written).give_error();
    return any;
}

void store_homes(open_pool& pool, const write_set& writes, const fresh_blocks& fresh, std::uint64_t group) {
    HOLDFAST_ASSERT(writes.is_within(pool.size()), "no store goes outside the pool");
    private_pages* const pages = pool.pages_of_homes();
    if (pages == nullptr) return writes.apply(pool.base(), site::redo_home);
    private_pages::storing gate(*pages);
    writes.for_each_entry([&](const format::entry& each, const std::uint64_t*) {
        gate.note(each.offset, each.words * 8, group);
    });
    fresh.for_each([&](const std::byte* at, std::size_t bytes) {
        pages->unpin(static_cast<std::uint64_t>(at - pool.base()), bytes, group);
    });
    writes.apply(pool.base(), site::redo_home);
}

}  // namespace

result<std::uint64_t> join_group(open_pool& pool, const write_set& writes, const fresh_blocks& fresh) {
    const cancellation_held uncancelled;
    group_log& log = *pool.groups();
    if (auto admitted = log.admit(writes.payload_words()); !admitted) return std::move(admitted).give_error();  // 1
    private_pages* const pages = pool.pages_of_homes();
    const std::uint64_t new_pages = pages != nullptr ? pages->prepare(writes.payload(), writes.payload_words()) : 0;
    auto sync_first = write_fresh_blocks(pool, fresh);  // 2
    if (!sync_first) return std::move(sync_first).give_error();
    const auto joined = log.append(writes.payload(), writes.payload_words(), *sync_first, new_pages);  // 3
    store_homes(pool, writes, fresh, joined.group);  // 4
    return joined.group;
}

result<void> wait_for_group(open_pool& pool, std::uint64_t group) {
    const cancellation_held uncancelled;
    try {
        return pool.groups()->wait({group});  // 5
    } catch (const std::bad_alloc&) {
        // The log has the record: that the call cannot be told more does not take it back.
        return detail::keep_lasting(bare_error(errc::outcome_unknown));
    }
}

}  // namespace holdfast
