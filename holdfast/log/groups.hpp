// The log on ordinary files at `power`: commits gather into groups, one sync each.
//
// Protocol
//   1. A commit appends its payload to the open group, in DRAM, while the caller's locks are held:
//      append order is commit order. Then it stores its homes, which are private to the process.
//   2. With its locks released it waits. The first waiter of a group leads: it closes the group,
//      seals it as ONE record (a prefix of commits survives, never a later one without an earlier),
//      and writes it with pwritev2(RWF_DSYNC): one sync, and no mapped dirty page to flush.
//   3. When no segment is free, or homes take half the memory that they may, the leader checkpoints: the logged bytes
//      of every durable group (never memory pages: those hold commits that are not durable yet) are written home, one
//      sync; then the truncation point, one sync; then all segments are free, and pages of homes may be given back
//      (private_pages.hpp).
// Where a handler learns in time that the power will fail (pool/armed_on_file.cpp), syncs are deferred: step 2 writes a
// group without a sync, since the page cache outlives the process, and a checkpoint syncs the records before it writes
// homes. When that ends, one sync covers all groups so far, and from then on each has its own.
// A failed sync poisons the log: nothing is known of what reached the device, so commits that wait
// return outcome_unknown, later ones poisoned, and no sync is tried again. So does a step behind the append that fails
// otherwise, since others may have seen the commit's values already. A checkpoint that fails before its first sync has
// taken nothing from the log: it says so, and the next one does it all again. Memory that a group needs is there before
// a commit joins it.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/log/home_writer.hpp>
#include <holdfast/log/private_pages.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/segments.hpp>
#include <holdfast/persist/file.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace holdfast {

class group_log {
public:
    /// Names the group a commit joined.
    struct ticket {
        std::uint64_t group = 0;
    };

    /// Requires: no record on the file, whole or torn, is above `last_sequence`, and the whole ones above `truncated`
    /// are durable and in the segments `kept`, oldest first: a later checkpoint brings them home.
    group_log(persist::file& file, log_geometry geometry, std::uint64_t last_sequence, std::uint64_t truncated,
              std::span<const used_segment> kept);

    /// Keeps the memory of homes below the bound of `pages`, which outlives every commit. Requires: no commit yet.
    void bound(private_pages& pages) noexcept { pages_ = &pages; }

    /// From now on a group counts once it is written, and survives the process alone. Requires: no commit yet.
    void defer_syncs() noexcept { defers_syncs_ = true; }
    /// All that was written so far becomes durable, and from now on each group before its commits return. Waits for
    /// nothing but the device. Thread-safe. What holds if the machine stops inside: any of the groups may be missing.
    /// Errors: poisoned; io, which poisons.
    result<void> end_deferral();
    /// Called, by any thread, when a sync or a write fails while groups count that are not synced: they may be lost,
    /// whatever the page cache shows.
    std::function<void()> on_deferred_lost;

    /// Makes a sync of the file that is not the log's own, or a write that is one: like the log's, it comes alone, and
    /// not behind one that failed. Errors: poisoned; what it returns, which poisons. Thread-safe.
    result<void> sync_alone(const std::function<result<void>()>& sync);
    /// Returns when no sync is in progress. Requires: poisoned, so that none begins.
    void wait_for_syncs() { const std::lock_guard none(syncing_); }

    /// Whether a payload can be logged at all. Errors: transaction_too_large, poisoned.
    result<void> admit(std::uint64_t payload_words) const;
    /// Adds a payload to the open group; waits while that is full. Call with the caller's locks held. `sync_first`: the
    /// commit wrote data of its own to the file that must be durable before the group. `new_pages`: the number of pages
    /// of homes that the commit will store to and that are not held yet; waits for a checkpoint where there is no room
    /// for them. Requires: admitted. Thread-safe. Throws std::bad_alloc: the commit has not joined.
    ticket append(const std::uint64_t* payload, std::uint64_t payload_words, bool sync_first,
                  std::uint64_t new_pages = 0);
    /// Returns when the group is durable. Errors: outcome_unknown, poisoned. Thread-safe.
    result<void> wait(ticket joined);

    /// Writes every group to its homes and empties the log. While homes are held it waits for `release_homes`; commits
    /// continue meanwhile. Thread-safe.
    result<void> checkpoint();

    /// The same, and then no home is written to the file until `release_homes`: outside the log the file holds exactly
    /// the commits up to the returned sequence, except in blocks that are free in it. Commits continue as long as the
    /// log has room. One holder at a time. Errors: as checkpoint.
    result<std::uint64_t> hold_homes();
    void release_homes();

    std::uint64_t truncated() const noexcept { return truncated_.load(std::memory_order_acquire); }
    std::uint64_t checkpoints() const noexcept { return checkpoints_.load(std::memory_order_relaxed); }
    std::uint64_t groups() const noexcept { return durable_.load(std::memory_order_relaxed); }
    bool poisoned() const noexcept { return poisoned_.load(std::memory_order_acquire); }
    /// A sync of the file failed elsewhere: treated like the log's own. Thread-safe.
    void poison() {
        const std::lock_guard guard(mutex_);
        poisoned_.store(true, std::memory_order_release);
        changed_.notify_all();
    }

    /// Called by the leader after each checkpoint with the new truncation point.
    std::function<void(std::uint64_t)> on_truncated;

    /// Makes `last_sequence` the truncation point and empties all segments, with syncs. After
    /// recovery, once the homes are durable. Errors: io.
    static result<void> reset(persist::file& file, const log_geometry& geometry, std::uint64_t last_sequence);

private:
    struct group {
        std::vector<std::uint64_t> record;  ///< header words, then payload
        bool sync_first = false;
        std::uint64_t payload_words() const noexcept { return record.size() - format::record_header_words; }
    };

    void lead(std::unique_lock<std::mutex>& lock, bool brings_home = false);
    bool is_crowded(std::uint64_t new_pages) const noexcept;
    template <class F>
    result<void> step(F&& f);
    template <class F>
    result<void> synced(F&& sync);
    result<void> bring_home(bool gives_back);
    result<void> write_group(group& sealed, std::uint64_t sequence);
    result<void> write_parts(group& sealed, std::uint64_t sequence, std::uint64_t parts);
    result<void> write_record(std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                              std::uint16_t part, std::uint16_t parts, bool durable);
    result<void> begin_segment();
    result<void> find_truncation_slot();
    result<void> checkpoint(bool hold);
    result<void> checkpoint_to(std::uint64_t sequence);
    result<void> write_homes(std::uint64_t sequence);
    std::uint64_t fullest_group_words() const noexcept;
    /// The last group that is durable, of which there is a record unless it was truncated.
    std::uint64_t acknowledged() const noexcept {
        const std::uint64_t synced = synced_.load(std::memory_order_relaxed);
        return synced > found_sequence_ ? synced : found_whole_;
    }
    result<void> sync_records(std::uint64_t up_to);
    void note_failure(std::unique_lock<std::mutex>& lock);

    persist::file& file_;
    segment_table segments_;
    // The leader's own; handed on under the mutex.
    std::uint32_t segment_ = no_segment;
    std::uint64_t position_ = 0;
    std::uint64_t salt_ = 0;
    std::uint64_t last_written_;
    bool is_deferred_ = false;  ///< the group that is being written
    unsigned truncation_slot_ = 0;  ///< that holds the current point
    bool knows_slot_ = false;
    bool checkpoint_has_synced_ = false;  ///< the last one, or tried to
    std::vector<std::uint32_t> order_;  ///< used segments, oldest first
    std::vector<std::uint64_t> segment_words_;  ///< a part that is written, or a segment whose records go home
    home_writer homes_;
    private_pages* pages_ = nullptr;

    /// Held during a sync: the kernel tells of a failed write to one sync of the file alone, and the next one must not
    /// pass for good.
    std::mutex syncing_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    group open_;
    group sealed_;
    std::uint64_t open_number_;
    bool leading_ = false;
    bool homes_held_ = false;
    std::atomic<std::uint64_t> durable_;  ///< the last group that its commits need not wait for
    std::atomic<std::uint64_t> synced_;  ///< the last group that is known to be on the device
    std::atomic<bool> defers_syncs_{false};
    std::uint64_t found_sequence_;  ///< by recovery, also of a torn record
    std::uint64_t found_whole_;     ///< by recovery, of a whole one, or truncated
    std::atomic<bool> poisoned_{false};
    std::atomic<std::uint64_t> truncated_;
    std::atomic<std::uint64_t> checkpoints_{0};
};

}  // namespace holdfast
