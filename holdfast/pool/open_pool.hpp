// An open pool as engines and programs see it: where its bytes are, and what can be asked of the whole. What it owns is
// mapped_pool.hpp's.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/persist/line_path.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

namespace persist {
class file;
struct discovery;
struct storage;
}  // namespace persist

class alias_buffers;
class alias_entrance;
class alias_sets;
class alias_tables;
class group_lag;
class group_log;
class lane_log;
class log_lane;
class pacer;
class private_pages;
class retirement;
enum class level : std::uint32_t;
struct create_options;
struct open_options;
struct pool_info;
struct replay_report;
struct snapshot_options;
struct snapshot_report;
struct wrap_options;

/// Where the values of an engine that checkpoints stand from their commit until they are home, on byte-addressable
/// media. On a file homes are private pages whatever the engine says. Nothing on the media depends on it.
enum class aliases_in : std::uint8_t {
    pages,  ///< in private pages of the process, where loads find them as they find everything
    table,  ///< in two tables that take turns, where loads look first
    sets,   ///< in a table of sets, each entry with its commit's number, where loads look first
};

/// The properties of an engine for the pool: its name in the header and the levels that it can keep.
struct engine_description {
    std::string_view name;
    /// How transactions isolate themselves; empty where the caller's locks do. Nothing on the media depends on it.
    std::string_view isolation{};
    /// False for engines that must write homes before commit: they refuse `power` on files.
    bool power_on_files = true;
    /// False for volatile_only: an unclean pool cannot be recovered.
    bool recovers = true;
    /// True where the log holds new values, which truncation must bring home.
    bool logs_new_values = true;
    /// True where commits write their homes back, and the log is truncated in batches.
    bool writes_homes_back = false;
    /// True where commits leave dirty lines that a pacer writes back.
    bool paces = false;
    /// True where committed values wait in alias tables, unless homes are private.
    bool stores_homes_late = false;
    /// True where objects store to their homes themselves, at any time: private memory then has no bound.
    bool stores_itself = false;
    /// True where commits are numbered in the order of their effects, recovery keeps a prefix of them, and homes on the
    /// medium are stored in that order later.
    bool checkpoints = false;
    aliases_in aliases = aliases_in::pages;
};

/// Whether this thread runs the function of a barrier.
inline constinit thread_local bool is_in_barrier = false;

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
    /// level_unavailable, io. Nothing is changed by a failed open, but that a pool of `on_power_fail` on a file whose
    /// sync has failed is not_durable from then on.
    static result<std::unique_ptr<open_pool>> open(const std::string& path, const engine_description& engine,
                                                   const open_options& options);

    /// Opens for several processes at once, for an engine whose objects need neither log nor recovery (lines). The
    /// first process recovers the pool alone; later ones only map it. There are no transactions, no growth and no
    /// snapshots. The last process to close marks the pool clean, even if several close together. Opening waits for
    /// a process that is recovering, up to two seconds and 200 ms for each GiB of the file or device; closing waits for
    /// one that is opening or closing.
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
    static result<pool_info> info(const std::string& path);
    /// The same with storage discovered where `where` says.
    static result<pool_info> info(const std::string& path, const persist::discovery& where);

    virtual ~open_pool();
    open_pool(const open_pool&) = delete;
    open_pool& operator=(const open_pool&) = delete;

    /// Brings all commits home, marks the pool clean and releases it. Requires: no transaction is open. After an error
    /// or std::bad_alloc the pool is released as well, unclean. In a forked child it writes nothing.
    /// Errors: io, poisoned, misuse (in a forked child).
    virtual result<void> close() = 0;
    /// Releases the pool as a killed process would: nothing is written, the pool stays unclean.
    virtual void abandon() noexcept = 0;

    std::byte* base() const noexcept { return base_; }
    /// May increase meanwhile, but not decrease.
    std::uint64_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    /// Where the bytes are mapped as the medium has them: base(), unless the program's homes are private memory beside
    /// a log of lanes.
    std::byte* medium() const noexcept { return medium_; }
    bool contains(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_) < size();
    }
    const std::string& path() const noexcept { return path_; }
    std::string_view engine_name() const noexcept { return engine_name_; }
    /// Of the engine that opened it.
    std::string_view isolation() const noexcept { return isolation_; }
    aliases_in where_aliases_are() const noexcept { return where_aliases_are_; }
    level durability() const noexcept { return level_; }
    virtual const persist::storage& storage() const noexcept = 0;
    virtual pool_info info() const = 0;

    /// The log where it is mapped memory; nullptr where commits gather in groups.
    lane_log* lanes() noexcept { return lanes_; }
    /// The log where homes are private (a file at `power`); nullptr elsewhere.
    group_log* groups() noexcept { return groups_; }
    /// The pages held in private memory, within a bound; nullptr if there are none, or no bound.
    private_pages* pages_of_homes() noexcept { return pages_; }
    /// Values that are committed and not home yet; nullptr where the commit stores homes.
    alias_buffers* aliases() noexcept { return aliases_; }
    /// Commits that are not home yet, of an engine that checkpoints; nullptr for others, and where groups are the log.
    retirement* retiring() noexcept { return retiring_; }
    /// Commits that are not synced, of such an engine where groups are the log; nullptr otherwise.
    group_lag* lagging() noexcept { return lagging_; }
    /// Who writes back what commits left dirty; nullptr where truncation does, or nothing needs it.
    pacer* pacing() noexcept { return pacing_; }
    /// Aliases, for loads alone.
    const alias_tables* alias_values() const noexcept { return alias_values_; }
    /// The same where aliases are in sets; nullptr elsewhere.
    alias_sets* sets() const noexcept { return sets_; }
    /// Copies bytes as the commits so far left them. Requires: the caller's locks guard them.
    virtual void read(const void* home, void* to, std::size_t bytes) const noexcept = 0;
    /// Stores committed values that wait in alias tables to their homes, for callers that read homes. Thread-safe.
    virtual void bring_home() = 0;
    class heap& heap() noexcept { return *heap_; }
    /// Differs for every opening in this process.
    std::uint64_t instance() const noexcept { return instance_; }
    /// True in a child of the process that opened the pool: nothing is mapped here, nothing may be
    /// touched; destroying the handle is harmless.
    bool is_inherited() const noexcept { return inherited_; }
    /// Whether this thread is in the function of a barrier, which nothing of this pool may wait for: of the same pool,
    /// or of another of its engine, since those who commit there may wait for locks of the isolation that are held by
    /// those who wait for the barrier.
    bool is_in_barrier_here() const noexcept {
        return is_in_barrier && (retiring_ != nullptr || lagging_ != nullptr);
    }
    virtual const replay_report& recovery() const noexcept = 0;
    virtual std::span<const heap_zone> zones() const noexcept = 0;
    /// True on a file at `power` or `lag`: commits gather in groups, and homes become durable by the log alone.
    bool homes_are_private() const noexcept { return groups_ != nullptr; }
    /// True where other processes may have it open as well.
    bool is_shared() const noexcept { return shared_; }
    /// True at `power` on byte-addressable media: commits write back and fence.
    bool persists_lines() const noexcept { return persists_lines_; }
    /// True where an unused entry of the roots has a checksum too.
    virtual bool has_sealed_roots() const noexcept = 0;
    const persist::line_path& lines() const noexcept { return lines_; }
    virtual const wrap_options& wraps() const noexcept = 0;
    virtual persist::file& backing_file() noexcept = 0;
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
    virtual result<void> checkpoint() = 0;

    /// For an engine that checkpoints: returns when every commit that had returned is home on the medium. Thread-safe.
    /// Errors: as checkpoint, and outcome_unknown.
    virtual result<void> fence() = 0;
    /// The same, and calls f while no commit is in flight and none begins. One caller at a time; others wait. Throws
    /// what f throws. Requires: no transaction of this thread is open.
    virtual result<void> barrier(const std::function<void()>& f) = 0;

    /// Makes the pool `bytes` large in total (rounded up to whole pages), in place: no object moves, and the new space
    /// is available to the next allocation. Each growth adds a heap zone, of which a pool has at most 32.
    /// Thread-safe; transactions continue meanwhile, including one of this thread, and growing is not part of it.
    /// What holds if the process dies inside, or the power fails: the pool has its old size or the new one.
    /// Errors: invalid_argument (not larger than now, too little larger, more than is reserved, no zone left),
    /// no_space, level_unavailable, io, poisoned, misuse (a forked child; an inspected pool) - nothing changed;
    /// outcome_unknown: the pool has the old size in this handle, which cannot be closed cleanly any more, and the old
    /// or the new size at the next opening.
    virtual result<void> grow(std::uint64_t bytes) = 0;

    /// Continues at `power`: the handler that saved the pool is lost. No commit becomes less durable than before, at
    /// any moment; commits wait meanwhile. Thread-safe. Requires: no transaction of this thread is open.
    /// What holds if the process dies inside: as for commits before. If the power fails inside, and the handler cannot
    /// save: the pool counts as torn, or all is there.
    /// Errors: misuse (another level; a forked child), busy (a transaction stayed open), io - the level stays.
    virtual result<void> fall_back() = 0;
    /// For callers that store to homes before they commit. They stop that in `before`, which is called before a
    /// fall_back holds commits. Returns whether the pool persists lines now; from here on this changes only after such
    /// a call.
    virtual bool on_fall_back(std::function<void()> before) = 0;

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
    virtual result<snapshot_report> snapshot(const std::string& path, const snapshot_options& options) = 0;

protected:
    open_pool() = default;

    std::byte* base_ = nullptr;
    std::byte* medium_ = nullptr;
    std::atomic<std::uint64_t> size_{0};
    std::atomic<level> level_{};
    bool persists_lines_ = false;
    bool inherited_ = false;
    bool shared_ = false;
    std::uint64_t instance_ = 0;
    persist::line_path lines_;
    lane_log* lanes_ = nullptr;
    group_log* groups_ = nullptr;
    private_pages* pages_ = nullptr;
    alias_buffers* aliases_ = nullptr;
    retirement* retiring_ = nullptr;
    group_lag* lagging_ = nullptr;
    pacer* pacing_ = nullptr;
    const alias_tables* alias_values_ = nullptr;
    alias_sets* sets_ = nullptr;
    class heap* heap_ = nullptr;
    std::string path_;
    std::string engine_name_;
    std::string_view isolation_;
    aliases_in where_aliases_are_ = aliases_in::pages;

private:
    friend void mark_pools_inherited() noexcept;

    std::mutex making_roots_;
    std::atomic<std::uint32_t> settled_roots_{0};
};

void mark_pools_inherited() noexcept;

/// The open pool of this process whose range holds `address`, or nullptr. Thread-safe.
open_pool* find_open_pool(const void* address) noexcept;

}  // namespace holdfast
