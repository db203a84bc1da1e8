// A pool at `on_power_fail`: its log is in memory, commits neither write back nor fence, and a handler saves both when
// the power fails.
//
// Protocol
//   1. Opening recovers as at `power`: homes are durable and the log is empty.
//   2. The log is made in memory (powerfail/shadow_log.hpp), a seal for the next superblock published, and a handler
//      asked. Where one is armed for the pool, the superblock says `on_power_fail`; else the pool runs at `power`.
//   3. After each superblock the seal for the next one is published, so a save never writes over the one in force, and
//      what it leaves has the pool's size of now. A save between the two writes over the newer one; cut short, it
//      leaves the one before, of which all still holds: what the newer one says is used only later.
//   4. Closing, or going on at `power` because the handler is lost: everything is made durable, and then the very
//      superblock is written that a save would write. Only then is the handler let go: one that saves until then
//      changes nothing. The superblock that says `clean`, or `power`, comes last.
// Opening after a life that did not end so
//   * Saved: the log is in the pool, and replayed as after a kill.
//   * Killed, in the same boot: the log is still in memory, and is saved now, by the same steps.
//   * Otherwise the power failed and nobody saved: the pool may be torn.
#include <holdfast/base/threads.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/mapped_pool.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/save.hpp>

#include <chrono>
#include <utility>

#include <unistd.h>

namespace holdfast {

namespace site = persist::site;

/// Requires: the pool is mapped, and not torn.
result<void> mapped_pool::adopt_saved_log() {
    if (!is_armed(superblock_)) return {};
    const auto torn = may_be_torn(superblock_, *file_);
    if (!torn) return torn.error();
    // Whoever accepts that gets what is there.
    if (*torn) return {};
    auto shadow = powerfail::shadow_log::find(superblock_);
    if (!shadow) return std::move(shadow).give_error();
    powerfail::save(shadow->header(), base_, lines_);
    auto saved = read_superblock(*file_);
    if (!saved) return saved.error();
    superblock_ = *saved;
    return {};
}

/// What an earlier life left in memory, and nobody needs any more. `before`: the superblock that this opening found.
void mapped_pool::forget_shadow_of(const format::superblock& before) noexcept {
    const bool is_own = (before.required_features & format::feature_shadow_log) != 0 &&
                        before.file_mark == superblock_.file_mark;
    if (is_own && !shadow_) powerfail::shadow_log::remove(before);
}

/// Requires: recovered; no superblock of this life yet. Where nobody takes charge the pool stays at `power`.
void mapped_pool::arm() {
    handler_ = powerfail::current_handler();
    if (handler_ == nullptr || !storage_.byte_addressable()) return;
    format::superblock of = superblock_;
    put_text(of.boot_id, current_boot_id().text());
    const auto mark = mark_of(*file_);
    if (!mark) return;
    of.file_mark = *mark;
    const std::uintptr_t behind = superblock_.base + superblock_.reserved_bytes;
    auto shadow = powerfail::shadow_log::create(of, base_, behind);
    if (!shadow) return;
    shadow_.emplace(std::move(*shadow));
    level_ = level::on_power_fail;
    seal_next(of);
    charge_.path = path_;
    charge_.shadow = &shadow_->header();
    charge_.pool = base_;
    charge_.lines = lines_;
    charge_.log_bytes = superblock_.log_bytes;
    charge_.pool_bytes = superblock_.pool_bytes;
    charge_.lost = [this] { return fall_back().has_value(); };
    if (handler_->arm(charge_)) {
        persists_lines_ = false;
        return;
    }
    level_ = level::power;
    shadow_.reset();
    powerfail::shadow_log::remove(of);
}

void mapped_pool::seal_next(const format::superblock& now) {
    if (shadow_ && level_ == level::on_power_fail) shadow_->publish(saved_after(now));
}

log_geometry mapped_pool::geometry_of_log() const noexcept {
    log_geometry geometry = log_of(superblock_);
    if (shadow_) geometry.offset = superblock_.reserved_bytes + format::shadow_log_offset;
    return geometry;
}

/// A handler that loses the pool meanwhile comes too late to change what closing does.
result<void> mapped_pool::close_charge() {
    {
        const std::scoped_lock lock(growing_, copying_);
        is_closing_ = true;
    }
    return shadow_ ? end_charge() : result<void>{};
}

/// Step 4, up to the point where no handler has charge. Requires: no commit is in flight; homes are durable. Errors:
/// io; the handler still has charge.
result<void> mapped_pool::end_charge() {
    const log_geometry geometry = log_of(superblock_);
    const auto empty_log = [&] { reset_log(base_, geometry, lanes_->last_sequence(), true, lines_); };
    // A save that was resumed has left its copy there, and the seal says that it counts.
    empty_log();
    const format::superblock seal = saved_after(superblock_);
    if (auto written = holdfast::write_superblock(*file_, seal); !written) return note_failed_sync(written.error());
    shadow_->withdraw();
    handler_->disarm(charge_);
    empty_log();
    const std::lock_guard lock(header_);
    superblock_ = seal;
    return {};
}

/// Commits are held.
result<void> mapped_pool::become_power() {
    lanes_->pass_drawn_sequences();
    persist::write_back(lines_, base_, size(), site::pool_fall_back);
    // Orders homes before the superblock after which nobody saves them.
    persist::fence(lines_, site::pool_fall_back_fence);
    if (auto ended = end_charge(); !ended) return ended;
    level_ = level::power;
    persists_lines_ = true;
    lanes_->go_on_durably(log_of(superblock_));
    heap_->names_from(lanes_->last_sequence());
    leave_shadow();
    // If this fails, the one that says `saved` stays in force: opening replays the pool's log, as it must.
    auto marked = write_superblock(format::pool_state::dirty, level::power);
    // Neither copy asks for more than what is there now.
    if (marked) marked = write_superblock(format::pool_state::dirty, level::power);
    return marked;
}

result<void> mapped_pool::fall_back() {
    constexpr std::chrono::seconds patience{10};
    const cancellation_held uncancelled;
    if (auto here = check_here("go on at power"); !here) return here;
    const std::scoped_lock lock(growing_, copying_);
    if (level_ != level::on_power_fail || is_closing_)
        return error{.code = errc::misuse, .what = "the pool has no handler that it could lose", .path = path_};
    if (auto usable = check_usable("go on at power"); !usable) return usable;
    if (before_fall_back) before_fall_back();
    if (auto held = hold_commits(patience); !held) return held.error();
    auto done = become_power();
    release_commits();
    return done;
}

/// The handler does not know the pool any more, and the log stays in memory as long as a superblock needs it.
void mapped_pool::leave_shadow() noexcept {
    if (!shadow_) return;
    if (inherited_ || process_ != ::getpid()) return shadow_.reset();
    // As if the process had been killed: there is no more to save than an opening saves.
    if (is_armed(superblock_)) {
        handler_->disarm(charge_);
    } else {
        powerfail::shadow_log::remove(superblock_);
    }
    shadow_.reset();
}

}  // namespace holdfast
