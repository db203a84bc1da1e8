// An open pool without its engine: file, mapping, log and heap, recovered and ready.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/log/alias_buffers.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/pool/options.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// The properties of an engine for the pool: its name in the header and the levels that it can keep.
struct engine_description {
    std::string_view name;
    /// False for engines that must write homes before commit: they refuse `power` on files.
    bool power_on_files = true;
    /// False for volatile_only: an unclean pool cannot be recovered.
    bool recovers = true;
    /// True where the log holds new values, which truncation must bring home.
    bool homes_follow_log = true;
    /// True where commits write their homes back, and the log is truncated in batches.
    bool writes_homes_back = false;
    /// True where committed values wait in alias tables, unless homes are private.
    bool homes_come_late = false;
    /// True where objects store to their homes themselves, at any time: private memory then has no bound.
    bool stores_itself = false;
};

/// One open pool. Created and opened by the functions below, closed by `close` or destruction.
/// Thread safety: const members may be called concurrently, and others where they say so.
class open_pool {
public:
    /// Creates and opens a pool.
    /// What holds if the process dies inside: at `path` is either nothing or an empty pool.
    /// Errors: already_exists, no_space, invalid_argument, level_unavailable, address_taken, not_found
    /// (no such directory), permission_denied, io. A failure leaves nothing behind.
    static result<std::unique_ptr<open_pool>> create(const std::string& path, const engine_description& engine,
                                                     const create_options& options);

    /// Opens, recovering with the log if the pool is unclean.
    /// What holds if the process dies inside: the next open recovers the same.
    /// Errors: not_found, permission_denied, not_a_pool, truncated, corrupt, version_unsupported,
    /// feature_unsupported, layout_mismatch, engine_mismatch, address_taken, busy, not_durable,
    /// level_unavailable, io. Nothing is changed by a failed open.
    static result<std::unique_ptr<open_pool>> open(const std::string& path, const engine_description& engine,
                                                   const open_options& options);

    /// Opens for several processes at once, for an engine whose objects need neither log nor recovery (lines). The
    /// first process recovers the pool alone; later ones only map it. There are no transactions, no growth and no
    /// snapshots. The last process to close marks the pool clean, even if several close together. Opening waits up to
    /// two seconds for a process that is recovering; closing waits for one that is opening or closing.
    /// What holds if the process dies inside, or later: the others continue.
    /// Errors: as open, and busy (a process has it exclusively; or this process has it), level_unavailable (the others
    /// have it at another level; an ordinary file at `power`, whose homes would be private).
    static result<std::unique_ptr<open_pool>> open_shared(const std::string& path, const engine_description& engine,
                                                          const open_options& options);

    /// For inspection only, with any engine: recovered in memory of this process; the file is only read. Requires: no
    /// transaction on it. Closed by destruction.
    /// Errors: not_found, permission_denied, not_a_pool, truncated, corrupt, version_unsupported,
    /// feature_unsupported, address_taken, busy, io.
    static result<std::unique_ptr<open_pool>> inspect(const std::string& path);
    /// The same for a file that was opened by `open_locked`.
    static result<std::unique_ptr<open_pool>> inspect(persist::file locked);

    /// Reads the header only; another process may be using the pool.
    /// Errors: as read_superblock, and busy where this process has it open: ask the open pool instead.
    static result<pool_info> info(const std::string& path, const persist::discovery& where = {});

    ~open_pool();
    open_pool(const open_pool&) = delete;
    open_pool& operator=(const open_pool&) = delete;

    /// Brings all commits home, marks the pool clean and releases it. Requires: no transaction is open. After an error
    /// or std::bad_alloc the pool is released as well, unclean. In a forked child it writes nothing.
    /// Errors: io, poisoned, misuse (in a forked child).
    result<void> close();
    /// Releases the pool as a killed process would: nothing is written, the pool stays unclean.
    void abandon() noexcept;

    std::byte* base() const noexcept { return base_; }
    /// May increase meanwhile, but not decrease.
    std::uint64_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    bool contains(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_) < size();
    }
    const std::string& path() const noexcept { return path_; }
    std::string_view engine_name() const noexcept { return engine_name_; }
    level durability() const noexcept { return level_; }
    const persist::storage& storage() const noexcept { return storage_; }
    pool_info info() const;

    /// The log where homes are shared memory; nullptr where they are private.
    lane_log* lanes() noexcept { return lanes_.get(); }
    /// The log where homes are private (a file at `power`); nullptr elsewhere.
    group_log* groups() noexcept { return groups_.get(); }
    /// The pages held in private memory, within a bound; nullptr if there are none, or no bound.
    private_pages* pages_of_homes() noexcept { return pages_.get(); }
    /// Values that are committed and not home yet; nullptr where the commit stores homes.
    alias_buffers* aliases() noexcept { return aliases_.get(); }
    /// Copies bytes as the commits so far left them. Requires: the caller's locks guard them.
    void read(const void* home, void* to, std::size_t bytes) const noexcept;
    /// Stores committed values that wait in alias tables to their homes, for callers that read homes. Thread-safe.
    void bring_home() {
        if (aliases_) aliases_->bring_home();
    }
    class heap& heap() noexcept { return *heap_; }
    /// Differs for every opening in this process.
    std::uint64_t instance() const noexcept { return instance_; }
    /// True in a child of the process that opened the pool: nothing is mapped here, nothing may be
    /// touched; destroying the handle is harmless.
    bool is_inherited() const noexcept { return inherited_; }
    const replay_report& recovery() const noexcept { return recovery_; }
    std::span<const heap_zone> zones() const noexcept {
        return {zones_.data(), zone_count_.load(std::memory_order_acquire)};
    }
    /// True when homes are private to the process and become durable by the log alone.
    bool homes_are_private() const noexcept { return groups_ != nullptr; }
    /// True where other processes may have it open as well.
    bool is_shared() const noexcept { return shared_; }
    /// True at `power` on byte-addressable media: commits write back and fence.
    bool persists_lines() const noexcept { return persists_lines_; }
    /// True where an unused entry of the roots has a checksum too.
    bool has_sealed_roots() const noexcept {
        return (superblock_.required_features & format::feature_seals) != 0;
    }
    const persist::line_path& lines() const noexcept { return lines_; }
    const wrap_options& wraps() const noexcept { return wraps_; }
    persist::file& backing_file() noexcept { return *file_; }
    /// Held by a transaction that makes a root, until it is decided.
    std::mutex& making_roots() noexcept { return making_roots_; }
    /// The entries of the roots that are known to be committed, a bit for each. They never change again, so they are
    /// read without a lock.
    std::uint32_t settled_roots() const noexcept { return settled_roots_.load(std::memory_order_acquire); }
    void note_settled_roots(std::uint32_t entries) noexcept {
        settled_roots_.fetch_or(entries, std::memory_order_release);
    }

    /// Brings all commits home and empties the log. Thread-safe. Errors: io, poisoned, misuse (a forked child; an
    /// inspected or shared pool).
    result<void> checkpoint();

    /// Makes the pool `bytes` large in total (rounded up to whole pages), in place: no object moves, and the new space
    /// is available to the next allocation. Each growth adds a heap zone, of which a pool has at most 32.
    /// Thread-safe; transactions continue meanwhile, including one of this thread, and growing is not part of it.
    /// What holds if the process dies inside, or the power fails: the pool has its old size or the new one.
    /// Errors: invalid_argument (not larger than now, too little larger, more than is reserved, no zone left),
    /// no_space, level_unavailable, io, poisoned, misuse (a forked child; an inspected pool) - nothing changed;
    /// outcome_unknown: the pool has the old size in this handle, which cannot be closed cleanly any more, and the old
    /// or the new size at the next opening.
    result<void> grow(std::uint64_t bytes);

    /// Copies the pool to a new file at `path` while it is in use: a complete, closed pool that holds exactly the
    /// transactions committed before one moment during this call, with its own id and the same address. The copy shares
    /// blocks if the file system supports it (reflink). Where homes are shared memory (anything but a file at `power`)
    /// commits wait while changes made during the copying are found and copied again, and open undo transactions must
    /// end first. Thread-safe. Requires: the calling thread has no transaction open and holds no lock that one may wait
    /// for; for an engine that does not recover, nobody has one open.
    /// What holds if the process dies inside: the pool is unaffected; at `path` is nothing or the complete copy.
    /// Errors: already_exists, not_found, permission_denied, no_space, busy (transactions stayed open for longer than
    /// `patience`), io, poisoned, misuse (a forked child; a pool that is only inspected). A failure leaves nothing
    /// behind.
    result<snapshot_report> snapshot(const std::string& path, const snapshot_options& options);

private:
    open_pool() = default;
    friend struct pool_opener;
    friend void mark_pools_inherited() noexcept;

    void connect_heap();
    static result<std::unique_ptr<open_pool>> begin_sharing(persist::file file, const engine_description& engine,
                                                            const open_options& options);
    static result<std::unique_ptr<open_pool>> join(persist::file file, const engine_description& engine,
                                                   const open_options& options);
    result<void> close_shared();
    result<void> write_superblock(format::pool_state state, level promise);
    result<void> strengthen(persist::site where);
    void take_zones(std::span<const heap_zone> zones) noexcept;
    result<void> prepare_zone(heap_zone zone);
    void take_back(std::uint64_t bytes) noexcept;
    result<void> write_grown_superblocks(heap_zone zone);
    error note_failed_sync(error reason) noexcept;
    result<std::uint64_t> hold_commits(std::chrono::milliseconds patience_in_all);
    void release_commits() noexcept;
    result<std::uint64_t> copy_at_boundary(persist::file& copy, const snapshot_options& options,
                                           snapshot_report& report, format::superblock& block);
    enum class copying : std::uint8_t { all, changes };
    result<void> copy_homes(persist::file& copy, const format::superblock& now, copying how,
                            const snapshot_options& options) const;
    result<void> copy_whole(persist::file& copy) const;
    static result<void> finish_copy(persist::file& copy, format::superblock block, std::uint64_t last_sequence);
    format::superblock superblock_now() const;
    error poisoned_error() const;
    result<void> check_usable(const char* what_for) const;
    result<void> check_here(const char* what_for) const;

    std::optional<persist::file> file_;
    std::optional<persist::mapping> mapping_;
    std::byte* base_ = nullptr;
    std::atomic<std::uint64_t> size_{0};
    level level_ = level::power;
    bool persists_lines_ = false;
    bool inherited_ = false;
    bool shared_ = false;
    bool unsettled_ = false;  ///< below `power`: a life before did not end cleanly
    std::uint64_t instance_ = 0;
    std::uint64_t private_bytes_ = 0;
    pid_t process_ = ::getpid();
    replay_report recovery_;
    std::vector<used_segment> kept_segments_;
    named_pages named_at_open_;  ///< by the records in these
    persist::line_path lines_;
    wrap_options wraps_;
    persist::storage storage_;
    format::superblock superblock_{};
    std::string path_;
    std::string engine_name_;
    std::array<heap_zone, format::zone_limit> zones_{};
    std::atomic<std::size_t> zone_count_{0};
    // Apart, because a snapshot may wait for a transaction that grows.
    std::mutex growing_;         ///< one growth at a time
    std::mutex copying_;         ///< one snapshot at a time
    std::mutex making_roots_;
    std::atomic<std::uint32_t> settled_roots_{0};
    mutable std::mutex header_;  ///< guards superblock_ against readers while it grows
    /// A sync other than the log's own failed: it is unknown what the file lacks.
    std::atomic<bool> sync_failed_{false};
    std::unique_ptr<lane_log> lanes_;
    std::unique_ptr<alias_buffers> aliases_;
    std::unique_ptr<private_pages> pages_;
    std::unique_ptr<group_log> groups_;
    std::unique_ptr<class heap> heap_;
};

void mark_pools_inherited() noexcept;

/// The heap zone that a pool with that header gets when it grows to `bytes`. Errors: invalid_argument (see
/// open_pool::grow), which a tool can thus report before it opens the pool.
result<heap_zone> zone_of_growth(const std::string& path, const format::superblock& now, std::uint64_t bytes);

/// The open pool of this process whose range holds `address`, or nullptr. Thread-safe.
open_pool* find_open_pool(const void* address) noexcept;

}  // namespace holdfast
