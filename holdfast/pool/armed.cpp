// A pool at `on_power_fail` where lines are written back: its log is in memory, commits neither write back nor fence,
// and a handler saves both when the power fails. On ordinary files: armed_on_file.cpp.
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
//   * Saved into the pool: the log is there, and replayed as after a kill.
//   * Saved by the kernel module: the log is in its region, and the homes are durable. It is saved into the pool now,
//     by the same steps, and acknowledged behind them.
//   * Killed, in the same boot: the log is still in memory, and is saved into the pool as well.
//   * Otherwise the power failed and nobody saved: the pool may be torn.
#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/mapped_pool.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/stand_ins.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/planted.hpp>
#include <holdfast/powerfail/save.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

namespace holdfast {

namespace site = persist::site;

/// Requires: the pool is mapped, and not torn, or whoever opens it accepts that.
result<void> mapped_pool::adopt_log_outside_pool() {
    auto shadow = log_outside_pool(superblock_, *file_);
    if (!shadow) return std::move(shadow).give_error();
    if (!*shadow) return {};
    // Not what was published last: the process may have been killed between a newer superblock and its seal.
    (*shadow)->publish(saved_after(superblock_));
    if (is_planted(planted::log_not_adopted)) {
        superblock_ = saved_after(superblock_);
        return holdfast::write_superblock(*file_, superblock_);
    }
    if (storage_.kind == persist::medium::file) {
        if (auto written = save_into_file((*shadow)->header()); !written) return written;
    } else {
        powerfail::save((*shadow)->header(), base_, lines_);
    }
    if ((*shadow)->is_saved()) forget_saves();
    auto saved = read_superblock(*file_);
    if (!saved) return saved.error();
    superblock_ = *saved;
    return {};
}

/// A pool that was armed may be an ordinary file by now, on a file system that is mounted without DAX. There no
/// write-back reaches the device, and what is stored to private pages not even the file.
result<void> mapped_pool::save_into_file(const format::shadow_header& log) {
    auto shared = persist::mapping::map(*file_, 0, superblock_.pool_bytes, superblock_.pool_bytes,
                                        persist::mapping::kind::shared);
    if (!shared) return shared.error();
    powerfail::copy_log(log, shared->data());
    if (auto synced = shared->sync_all(site::pool_settle); !synced) return synced;
    return holdfast::write_superblock(*file_, saved_after(superblock_));
}

/// The pool has durably what the kernel module has saved of this file, whatever life that was of. Where this fails, who
/// arms the pool next does it.
void mapped_pool::forget_saves() {
    const auto own = save_name_of(superblock_, *file_);
    auto module = powerfail::kernel_module::open();
    if (!own || !module) return;
    const auto saved = module->name_of_save(own->key);
    if (saved && std::equal(saved->session, saved->session + 2, own->session))
        static_cast<void>(module->acknowledge(*saved));
}

/// What an earlier life left in memory, and nobody needs any more. `before`: the superblock that this opening found.
void mapped_pool::forget_shadow_of(const format::superblock& before) noexcept {
    const bool is_own = (before.required_features & format::feature_shadow_log) != 0 &&
                        before.file_mark == superblock_.file_mark;
    if (!is_own || shadow_) return;
    format::armed_life life;
    std::memcpy(&life, medium_ + superblock_.log_offset + format::armed_life_offset, sizeof life);
    powerfail::shadow_log::remove(before, life);
}

/// Requires: recovered; no superblock of this life yet. Where nobody takes charge the pool stays at `power`.
void mapped_pool::arm() {
    handler_ = powerfail::current_handler();
    if (handler_ != nullptr && storage_.kind == persist::medium::file) return arm_on_file();
    // Where the caches are in the persistence domain a log in the pool costs a fence, and nobody has to save it.
    if (handler_ == nullptr || !storage_.byte_addressable() || !lines_.write_back_needed) return;
    format::superblock of = superblock_;
    put_text(of.boot_id, current_boot_id().text());
    const auto mark = mark_of(*file_);
    if (!mark) return;
    of.file_mark = *mark;
    const auto name = save_name_of(of, *file_);
    if (!name) return;
    // Such as that of a life of this boot that ended between step 2 and its superblock: it has nothing, and the
    // generation that this life begins with.
    forget_saves();
    const std::uintptr_t at = stand_ins_now.log_behind_pool ? superblock_.base + superblock_.reserved_bytes : 0;
    const format::armed_life life = begin_armed_life();
    auto shadow = powerfail::shadow_log::create(of, base_, life, at);
    if (!shadow) return;
    shadow_.emplace(std::move(*shadow));
    level_ = level::on_power_fail;
    publishes_seals_ = true;
    seal_next(of);
    charge_.path = path_;
    charge_.shadow = &shadow_->header();
    charge_.pool = base_;
    charge_.lines = lines_;
    charge_.name = *name;
    charge_.log_bytes = superblock_.log_bytes;
    charge_.reserved_bytes = superblock_.reserved_bytes;
    charge_.pool_bytes = superblock_.pool_bytes;
    charge_.lost = lost_call();
    has_charge_ = handler_->arm(charge_);
    if (has_charge_) {
        persists_lines_ = false;
        return;
    }
    level_ = level::power;
    publishes_seals_ = false;
    shadow_.reset();
    powerfail::shadow_log::remove(of);
}

/// The pool has a new number, durably: no log that an earlier life left is taken for this one's, nor this one's for
/// that of a state of the file that is put back later.
format::armed_life mapped_pool::begin_armed_life() {
    const std::uint64_t number = random_seed();
    const format::armed_life life{number, ~number};
    std::byte* const place = medium_ + superblock_.log_offset + format::armed_life_offset;
    persist::copy(place, &life, sizeof life, site::armed_life);
    persist::write_back(lines_, place, sizeof life, site::armed_life);
    // Orders the number before the superblock that says armed.
    persist::fence(lines_, site::armed_life);
    return life;
}

/// A handler that loses the pool was told to come again until now.
void mapped_pool::become_ready() {
    const std::lock_guard lock(growing_);
    is_ready_ = true;
}

std::function<bool()> mapped_pool::lost_call() {
    // Its locks may be held by who waits for this call to end. Behind it the pool may be gone.
    return [this] { return fall_back(false).has_value(); };
}

void mapped_pool::seal_next(const format::superblock& now) {
    if (publishes_seals_) shadow_->publish(saved_after(now));
}

log_geometry mapped_pool::geometry_of_log() const noexcept {
    log_geometry geometry = log_of(superblock_);
    // Counted from the pool on, wherever that is.
    if (shadow_)
        geometry.offset = reinterpret_cast<std::uintptr_t>(&shadow_->header()) + format::shadow_log_offset -
                          reinterpret_cast<std::uintptr_t>(base_);
    return geometry;
}

/// A handler that loses the pool meanwhile comes too late to change what closing does.
result<void> mapped_pool::close_charge() {
    {
        const std::scoped_lock lock(growing_, copying_);
        is_closing_ = true;
    }
    if (shadow_) return end_charge();
    let_handler_go();
    return {};
}

/// For an assertion: whether the next opening finds that superblock.
bool mapped_pool::is_in_force(const format::superblock& block) const noexcept {
    const auto copy_at = [&](std::uint64_t generation) {
        format::superblock copy;
        std::memcpy(&copy, medium_ + format::superblock_offset[generation % 2], sizeof copy);
        return copy;
    };
    const format::superblock found = copy_at(block.generation);
    const format::superblock other = copy_at(block.generation + 1);
    return std::memcmp(&found, &block, sizeof block) == 0 && other.generation < block.generation;
}

/// Step 4, up to the point where no handler has charge. Requires: no commit is in flight; homes are durable. Errors:
/// io; the handler still has charge.
result<void> mapped_pool::end_charge() {
    const log_geometry geometry = log_of(superblock_);
    const auto empty_log = [&] { reset_log(base_, geometry, lanes_->last_sequence(), true, lines_); };
    // A save that was resumed has left its copy there, and the seal says that it counts.
    empty_log();
    const format::superblock seal = saved_after(superblock_);
    if (auto written = holdfast::write_superblock(*file_, seal); !written) {
        if (auto armed = write_armed_in_place_of(seal); !armed)
            return note_failed_sync(armed.error());
        return written;
    }
    HOLDFAST_ASSERT(is_in_force(seal), "a handler is released when the superblock is in force that a save would write");
    publishes_seals_ = false;
    shadow_->withdraw();
    let_handler_go();
    empty_log();
    const std::lock_guard lock(header_);
    superblock_ = seal;
    return {};
}

/// A seal whose writing failed may be in force, or be so one day, while commits go on: the superblock that says so is
/// written in its place.
result<void> mapped_pool::write_armed_in_place_of(const format::superblock& seal) {
    format::superblock armed = superblock_;
    armed.generation = seal.generation;
    if (auto written = holdfast::write_superblock(*file_, armed); !written) return written;
    seal_next(armed);
    const std::lock_guard lock(header_);
    superblock_ = armed;
    return {};
}

namespace {

/// Nothing: somebody has it, and this is not to wait.
std::unique_lock<std::mutex> locked(std::mutex& which, bool waits) {
    return waits ? std::unique_lock(which) : std::unique_lock(which, std::try_to_lock);
}

}  // namespace

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

error mapped_pool::busy_error() const { return {.code = errc::busy, .what = "try again", .path = path_}; }

bool mapped_pool::on_fall_back(std::function<void()> before) {
    const std::lock_guard lock(growing_);
    before_fall_back_ = std::move(before);
    return persists_lines_;
}

/// Calls what is to be called before, without a lock: what it waits for may want one. Errors: busy, misuse.
result<bool> mapped_pool::prepare_fall_back(bool waits) {
    std::function<void()> before;
    {
        const auto lock = locked(growing_, waits);
        if (!lock) return busy_error();
        if (!is_ready_) return error{.code = errc::busy, .what = "the pool is being opened", .path = path_};
        if (auto here = check_here("go on at power"); !here) return std::move(here).give_error();
        before = before_fall_back_;
    }
    if (before) before();
    return before != nullptr;
}

result<void> mapped_pool::fall_back() { return fall_back(true); }

/// `waits`: for growths and snapshots. Without, it is a handler's call, to which a pool that is at `power` by now is no
/// error. Errors, besides: busy.
result<void> mapped_pool::fall_back(bool waits) {
    constexpr std::chrono::seconds patience{10};
    const cancellation_held uncancelled;
    auto called = prepare_fall_back(waits);
    if (!called) return std::move(called).give_error();
    // A snapshot of a file holds homes, which what syncs the log need not wait for.
    std::unique_lock<std::mutex> no_copy;
    if (!groups_) no_copy = locked(copying_, waits);
    const auto no_growth = locked(growing_, waits);
    if (!no_growth || (!groups_ && !no_copy)) return busy_error();
    if (!waits && level_ == level::power) return {};
    if (level_ != level::on_power_fail || is_closing_)
        return error{.code = errc::misuse, .what = "the pool has no handler that it could lose", .path = path_};
    if (auto usable = check_usable("go on at power"); !usable) {
        // Nobody can do more for it.
        if (groups_) let_handler_go();
        return usable;
    }
    // Somebody has come in between who wants to be called.
    if (!*called && before_fall_back_) return busy_error();
    if (groups_) return become_power_on_file();
    if (auto held = hold_commits(patience); !held) return held.error();
    auto done = become_power();
    release_commits();
    if (!waits && level_ == level::power) return {};
    return done;
}

void mapped_pool::let_handler_go() noexcept {
    if (has_charge_.exchange(false)) handler_->disarm(charge_);
}

/// Before what `lost` uses goes. Nobody falls back from here on. Requires: no lock that `lost` takes is held.
void mapped_pool::end_all_charge() noexcept {
    {
        const std::lock_guard lock(growing_);
        is_closing_ = true;
    }
    let_handler_go();
}

/// The handler does not know the pool any more, as if the process had been killed. The log stays in memory as long as
/// an opening may need it.
void mapped_pool::leave_shadow() noexcept {
    const bool is_own = !inherited_ && process_ == ::getpid();
    if (is_own) let_handler_go();
    if (!shadow_) return;
    if (is_own && shadow_->header().sealed == 0) powerfail::shadow_log::remove(superblock_);
    shadow_.reset();
}

}  // namespace holdfast
