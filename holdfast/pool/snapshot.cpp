// Copying a pool that is in use.
//
// Protocol
//   1. Prepare a file without a name. Where homes are shared memory, copy them to it, torn as they are.
//   2. Hold commits off at a moment when the homes are what whole transactions made of them:
//      where homes are shared memory, no commit is in flight and none begins, and what waits in alias tables is brought
//      home; an open redo transaction has stored nothing, and an open undo transaction is waited for, because it
//      stores in place.
//      On a file at `power`, after a checkpoint: the file's homes are the commits so far, and only a checkpoint or a
//      fresh block, which is free in the copy, would change them. So checkpoints are held off, and commits go on.
//   3. Copy the homes: roots and heap, as large as the pool is by now; after 1 only what has changed, which takes much
//      less time than all. The log is not copied. The pool may grow meanwhile: what is behind that size is behind the
//      copy's end.
//   4. Let commits go on.
//   5. Give the copy an empty log, sync it, and write both superblocks: clean, and with an id of its own.
//   6. Publish it. What has the name is whole and durable.
//
// Invariant
//   * The copy needs no recovery: its homes hold everything, its log nothing.
#include <holdfast/pool/mapped_pool.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/opener.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>

#include <chrono>
#include <thread>

namespace holdfast {
namespace {

namespace site = persist::site;
using clock = std::chrono::steady_clock;

/// Others may wait for one another across a hold: an open undo transaction for a lock, whose owner waits to begin to
/// store. So a hold is given up soon, and tried again.
constexpr std::chrono::milliseconds patience{20};
constexpr std::chrono::milliseconds pause{5};

}  // namespace

result<std::uint64_t> mapped_pool::hold_commits(std::chrono::milliseconds patience_in_all) {
    if (groups_) return groups_->hold_homes();
    for (const auto begin = clock::now();;) {
        auto held = lanes_->hold(patience);
        if (held) {
            bring_home();
            return lanes_->last_sequence();
        }
        if (held.error().code != errc::busy || clock::now() - begin > patience_in_all) {
            error reason = held.error();
            reason.path = path_;
            return reason;
        }
        std::this_thread::sleep_for(pause);
    }
}

void mapped_pool::release_commits() noexcept {
    if (groups_) {
        groups_->release_homes();
    } else {
        lanes_->resume();
    }
}

result<void> mapped_pool::copy_homes(persist::file& copy, const format::superblock& now, copying how,
                                   const snapshot_options& options) const {
    const auto copy_part = how == copying::all ? &persist::file::copy_range : &persist::file::copy_changes;
    const std::uint64_t first = heap_begin(now);
    const std::uint64_t heap_bytes = now.pool_bytes - first;
    const std::uint64_t done_before = how == copying::changes ? heap_bytes : 0;
    const auto tell = [&](std::uint64_t done) {
        if (options.progress) options.progress(done_before + done, lanes_ ? 2 * heap_bytes : heap_bytes);
    };
    if (auto copied = (copy.*copy_part)(*file_, first, heap_bytes, site::pool_snapshot, tell); !copied)
        return copied;
    return (copy.*copy_part)(*file_, format::roots_offset, now.log_offset - format::roots_offset,
                             site::pool_snapshot, {});
}

result<void> mapped_pool::finish_copy(persist::file& copy, format::superblock block, std::uint64_t last_sequence) {
    const log_geometry log = log_of(block);
    if (auto cleared = pool_opener::clear_segments(copy, log); !cleared) return cleared;
    // Its sync is that of everything copied.
    if (auto emptied = group_log::reset(copy, log, last_sequence); !emptied) return emptied;
    block.pool_id = random_seed();
    block.state = format::pool_state::clean;
    block.file_mark = 0;
    block.unsettled = 0;
    block.required_features &= ~format::feature_shadow_log;
    put_text(block.boot_id, current_boot_id().text());
    for (int superblocks = 0; superblocks < 2; ++superblocks) {
        ++block.generation;
        if (auto written = holdfast::write_superblock(copy, block); !written) return written;
    }
    return {};
}

format::superblock mapped_pool::superblock_now() const {
    const std::lock_guard lock(header_);
    return superblock_;
}

result<std::uint64_t> mapped_pool::copy_at_boundary(persist::file& copy, const snapshot_options& options,
                                                  snapshot_report& report, format::superblock& block) {
    struct releaser {
        mapped_pool& pool;
        ~releaser() { pool.release_commits(); }
    };
    const bool again = lanes_ && !report.shares_blocks;
    if (again)
        if (auto copied = copy_homes(copy, block, copying::all, options); !copied) return copied.error();
    const auto begin = clock::now();
    auto sequence = hold_commits(options.patience);
    if (!sequence) return sequence;
    auto end = clock::now();
    {
        const releaser at_the_end{*this};
        // What the commits so far name is within this size.
        block = superblock_now();
        auto copied = report.shares_blocks ? copy_whole(copy) : copy.allocate(block.pool_bytes);
        if (copied && !report.shares_blocks)
            copied = copy_homes(copy, block, again ? copying::changes : copying::all, options);
        if (!copied) return copied.error();
        if (lanes_) end = clock::now();
    }
    report.bytes = block.pool_bytes;
    report.held_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin).count());
    return sequence;
}

result<void> mapped_pool::copy_whole(persist::file& copy) const {
    if (auto cloned = copy.clone(*file_); !cloned) return cloned.error();
    return {};
}

result<snapshot_report> mapped_pool::snapshot(const std::string& path, const snapshot_options& options) {
    const cancellation_held uncancelled;
    // Before the lock, which in a child nobody lets go.
    if (auto here = check_here("copy it"); !here) return here.error();
    const std::lock_guard lock(copying_);
    if (auto usable = check_usable("copy it"); !usable) return usable.error();
    const auto mode = file_->mode();
    if (!mode) return mode.error();
    auto copy = persist::file::prepare(path, *mode);
    if (!copy) return copy.error();
    format::superblock block = superblock_now();
    snapshot_report report{.bytes = block.pool_bytes};
    // Tried before commits have to wait: allocating takes time, and needs room that a clone does not. A clone shares
    // what is on the device, which after an unclean end need not be what the page cache holds.
    if (!unsettled_) {
        const auto clones = copy->clone(*file_);
        if (!clones) return clones.error();
        report.shares_blocks = *clones;
    }
    if (!report.shares_blocks)
        if (auto allocated = copy->allocate(report.bytes); !allocated) return allocated.error();
    const auto last_sequence = copy_at_boundary(*copy, options, report, block);
    if (!last_sequence) return last_sequence.error();
    if (auto cut = copy->shrink(report.bytes); !cut) return cut.error();
    if (auto finished = finish_copy(*copy, block, *last_sequence); !finished) return finished.error();
    if (auto published = copy->publish(); !published) return published.error();
    return report;
}

}  // namespace holdfast
