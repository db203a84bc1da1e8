// A pool on an ordinary file at `on_power_fail`: commits write their records and do not sync, and a handler that hears
// of a power failure seconds before has the pool go on at `power`.
//
// Protocol
//   1. Opening recovers as at `power`: homes are durable, and so is what the log has.
//   2. A handler is asked. Where one is armed for the pool, the superblock says `on_power_fail`, durably, before the
//      first commit; else the pool runs at `power`.
//   3. A commit returns when its group is written (log/groups.hpp). The page cache has it, which outlives the process:
//      an opening in the same boot replays it, as it does after a kill.
//   4. The power will fail, or the handler is lost: one SYNC covers all groups so far, and from then on each has its
//      own. Then the superblock says `power`. Were that durable first, a cut would leave a pool that counts as whole
//      and lacks commits that have returned.
//   5. Where the log cannot be synced, commits that have returned may be lost, whatever the page cache shows. The
//      superblock names no boot any more: opening returns `not_durable`, also in this one.
// A power failure that nobody announced leaves any of the unsynced pages behind a superblock that says `on_power_fail`
// and names another boot: opening returns `not_durable`, and what `accept_not_durable` opens may be torn. (A file
// system that is lost and mounted again in the same boot leaves the same, and names this boot: nobody can tell.)
#include <holdfast/base/assertion.hpp>
#include <holdfast/pool/mapped_pool.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/superblock.hpp>

#include <new>

namespace holdfast {

/// Step 2. Requires: as `arm`.
void mapped_pool::arm_on_file() {
    charge_.path = path_;
    charge_.log_bytes = superblock_.log_bytes;
    charge_.reserved_bytes = superblock_.reserved_bytes;
    charge_.pool_bytes = superblock_.pool_bytes;
    charge_.lost = lost_call();
    has_charge_ = handler_->arm_on_file(charge_);
    if (has_charge_) level_ = level::on_power_fail;
}

/// Step 4. Requires: growing_ is held. Errors: io, and the handler still has charge and calls again; poisoned, and
/// nobody can do more for the pool.
result<void> mapped_pool::become_power_on_file() {
    HOLDFAST_ASSERT_ALWAYS(is_armed_on_file(), "a pool on a file goes on at power once");
    if (is_planted(planted::power_recorded_before_sync))
        static_cast<void>(write_superblock(format::pool_state::dirty, level::power));
    auto done = groups_->end_deferral();
    if (done) done = write_superblock(format::pool_state::dirty, level::power);
    if (done) level_ = level::power;
    if (done || groups_->poisoned()) let_handler_go();
    return done;
}

/// Step 5. By any thread. Requires: if there is a log, it is poisoned.
void mapped_pool::disown_boot() noexcept {
    // From then on the pool gets no superblock but this one.
    if (groups_) groups_->wait_for_syncs();
    try {
        // The one that the next opening would read: a growth may have written it, or said that it could not.
        const auto last = read_superblock(*file_);
        format::superblock next = last ? *last : superblock_now();
        put_text(next.boot_id, "");
        ++next.generation;
        // Where this fails as well, the page cache may still have it.
        static_cast<void>(holdfast::write_superblock(*file_, next));
    } catch (const std::bad_alloc&) {
        // For the text of an error.
    }
}

}  // namespace holdfast
