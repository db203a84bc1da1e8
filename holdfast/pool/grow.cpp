// Growing an open pool: another heap zone behind its end, within the address range that it reserved.
//
// Protocol
//   1. Give the file its new size, with allocated space and all zeros; write the zone's header.
//   2. SYNC. Orders size, space and header before the superblock that claims them: a superblock whose file is
//      shorter than it says is no pool any more. What is behind the pool's end belongs to nobody, so until
//      step 4 a crash leaves the old pool, in a file that is longer than it needs to be.
//   3. Map the new bytes behind the old ones. The address range is reserved, so nothing moves.
//   4. Write the superblock, durably, over the older copy: this is the step that makes it true.
//   5. Write it once more over the other copy, which still describes the smaller pool: if the newer copy were
//      damaged one day, that one would count, and blocks in the new zone would be outside of the pool.
//   6. Let transactions see the new size, and then the heap allocate from the zone.
//
// Invariants
//   * No log record names a byte of the zone before the superblock that has it is durable: the heap gets the zone last.
//   * Whoever holds the address of a block in the zone sees the new size: it is stored before the heap gets the
//     zone, and an address comes from the heap or from one who had it from there.
#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/pool/mapped_pool.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>

#include <unistd.h>

#include <string>

namespace holdfast {
namespace {

namespace site = persist::site;

error refused(const std::string& path, std::string what, std::string expected, std::uint64_t found) {
    return error{.code = errc::invalid_argument,
                 .what = std::move(what),
                 .path = path,
                 .expected = std::move(expected),
                 .found = std::to_string(found)};
}

}  // namespace

result<heap_zone> zone_of_growth(const std::string& path, const format::superblock& now, std::uint64_t bytes) {
    if (bytes > now.reserved_bytes)
        return refused(path,
                       "a pool cannot grow beyond the addresses reserved at its creation; move the data to a pool "
                       "created with a larger reserve (pool create --reserve)",
                       "at most " + std::to_string(now.reserved_bytes) + " bytes", bytes);
    bytes = (bytes + format::page_bytes - 1) / format::page_bytes * format::page_bytes;
    if (bytes <= now.pool_bytes)
        return refused(path, "a pool only grows", "more than " + std::to_string(now.pool_bytes) + " bytes", bytes);
    if (now.zone_count == format::zone_limit)
        return refused(path,
                       "each growth adds a heap zone, and the pool has the maximum number; move the data to a larger "
                       "pool, and grow that one by larger steps",
                       "fewer than " + std::to_string(format::zone_limit) + " zones", now.zone_count);
    if (bytes - now.pool_bytes < heap::smallest_zone_bytes())
        return refused(path, "the growth is too small",
                       "at least " + std::to_string(now.pool_bytes + heap::smallest_zone_bytes()) + " bytes", bytes);
    const heap_zone zone{now.pool_bytes, bytes - now.pool_bytes};
    if (auto header = heap::zone_header(zone); !header) return header.error();
    return zone;
}

error mapped_pool::poisoned_error() const {
    return error{.code = errc::poisoned,
                 .what = "an earlier sync failed; close and reopen the pool to see what is durable",
                 .path = path_};
}

error mapped_pool::note_failed_sync(error reason) noexcept {
    // The kernel reports a failed write to one sync only, and this one has taken the report.
    sync_failed_.store(true, std::memory_order_release);
    if (groups_) groups_->poison();
    // While it is opened nothing was committed that could be lost.
    if (groups_ && is_armed_on_file()) disown_boot();
    return reason;
}

result<void> mapped_pool::check_usable(const char* what_for) const {
    if (sync_failed_.load(std::memory_order_acquire) || (groups_ && groups_->poisoned())) return poisoned_error();
    return check_here(what_for);
}

result<void> mapped_pool::check_here(const char* what_for) const {
    if ((lanes_ || groups_) && process_ == ::getpid()) return {};
    error reason{.code = errc::misuse,
                 .what = lanes_ || groups_ ? "a forked child has no part in its parent's pool and cannot "
                                           : "a pool that is only inspected cannot "};
    reason.what += what_for;
    reason.path = path_;
    return reason;
}

result<void> mapped_pool::prepare_zone(heap_zone zone) {
    const auto header = heap::zone_header(zone).value();
    // What an interrupted growth, or anyone else, left behind the pool's end must not pass for the zone's.
    if (auto cut = file_->shrink(zone.offset); !cut) return cut;
    if (auto allocated = file_->allocate(zone.offset + zone.bytes); !allocated) return allocated;
    if (auto written = file_->write_at(zone.offset, header.data(), header.size(), site::pool_grow); !written)
        return written;
    const auto sync = [&] { return file_->sync(site::pool_grow_sync, zone.offset, zone.bytes); };
    if (auto synced = groups_ ? groups_->sync_alone(sync) : sync(); !synced) return note_failed_sync(synced.error());
    auto mapped = mapping_->extend(*file_, zone.offset + zone.bytes);
    if (mapped && medium_mapping_) mapped = medium_mapping_->extend(*file_, zone.offset + zone.bytes);
    return mapped;
}

result<void> mapped_pool::write_grown_superblocks(heap_zone zone) {
    format::superblock next = superblock_;
    HOLDFAST_ASSERT_ALWAYS(next.zone_count < format::zone_limit, "a superblock has room for its zones");
    HOLDFAST_ASSERT_ALWAYS(zone.offset >= next.pool_bytes, "a pool grows at its end");
    HOLDFAST_ASSERT_ALWAYS(mapping_->size() >= zone.offset + zone.bytes, "a named zone is mapped");
    next.zones[next.zone_count++] = {zone.offset, zone.bytes};
    next.pool_bytes = zone.offset + zone.bytes;
    for (int copy = 0; copy < 2; ++copy) {
        ++next.generation;
        if (auto written = put_superblock(next); !written) {
            error reason = note_failed_sync(written.error());
            reason.code = errc::outcome_unknown;
            return reason;
        }
        seal_next(next);
    }
    const std::lock_guard lock(header_);
    if (is_planted(planted::zone_forgotten)) return {};
    superblock_ = next;
    return {};
}

/// What a growth that failed left behind the pool's end. A file that stays longer than it needs to be does no harm.
void mapped_pool::take_back(std::uint64_t bytes) noexcept {
    mapping_->retract(bytes);
    if (medium_mapping_) medium_mapping_->retract(bytes);
    try {
        static_cast<void>(file_->shrink(bytes));
    } catch (...) {
        return;
    }
}

result<void> mapped_pool::grow(std::uint64_t bytes) {
    const cancellation_held uncancelled;
    // Before the lock, which in a child nobody lets go.
    if (auto here = check_here("grow it"); !here) return here;
    const std::lock_guard lock(growing_);
    if (auto usable = check_usable("grow it"); !usable) return usable;
    const auto zone = zone_of_growth(path_, superblock_, bytes);
    if (!zone) return zone.error();
    const std::uint64_t end = zone->offset + zone->bytes;
    // Whatever fails up to here leaves the pool as it was.
    try {
        auto prepared = prepare_zone(*zone);
        if (prepared && aliases_) aliases_->grow(end);
        if (prepared && retiring_) retiring_->grow(end);
        if (prepared) prepared = heap_->check_zone(*zone);
        if (!prepared) {
            take_back(zone->offset);
            return prepared;
        }
    } catch (...) {
        take_back(zone->offset);
        throw;
    }
    if (auto written = write_grown_superblocks(*zone); !written) return written;
    const std::size_t count = zone_count_.load(std::memory_order_relaxed);
    zones_[count] = *zone;
    zone_count_.store(count + 1, std::memory_order_release);
    size_.store(end, std::memory_order_release);
    HOLDFAST_ASSERT(size() <= superblock_.pool_bytes, "no record names a byte that the superblock does not cover");
    heap_->take_zone(*zone);
    if (has_charge_) handler_->grown(charge_, end);
    return {};
}

}  // namespace holdfast
