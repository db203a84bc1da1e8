// An open pool without its engine: file, mapping, log and heap, recovered and ready.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/pool/options.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// What an engine is to the pool: its name in the header and the levels it can keep.
struct engine_description {
    std::string_view name;
    /// False for engines that must write homes before commit: they refuse `power` on files.
    bool power_on_files = true;
    /// False for volatile_only: an unclean pool cannot be recovered.
    bool recovers = true;
    /// True where the log holds new values, which truncation must bring home.
    bool homes_follow_log = true;
};

/// One open pool. Created and opened by the functions below, closed by `close` or destruction.
/// Thread safety: const members may be called concurrently.
class open_pool {
public:
    /// Creates and opens. What holds if the process dies inside: either nothing stands at `path`, or
    /// an empty pool does.
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

    /// For looking only, whatever the engine: recovered in memory of this process, the file is only read.
    /// Requires: no transaction on it. Closed by destruction.
    /// Errors: not_found, permission_denied, not_a_pool, truncated, corrupt, version_unsupported,
    /// feature_unsupported, address_taken, busy, io.
    static result<std::unique_ptr<open_pool>> inspect(const std::string& path);

    /// Reads the header only; another process may be using the pool.
    /// Errors: as read_superblock, and busy where this process has it open: ask the open pool instead.
    static result<pool_info> info(const std::string& path, const persist::discovery& where = {});

    ~open_pool();
    open_pool(const open_pool&) = delete;
    open_pool& operator=(const open_pool&) = delete;

    /// Brings all commits home, marks the pool clean and releases it. Requires: no transaction is
    /// open. After an error the pool is released too, and unclean. In a forked child it writes nothing.
    /// Errors: io, poisoned, misuse (in a forked child).
    result<void> close();
    /// Releases the pool as a killed process would: nothing is written, the pool stays unclean.
    void abandon() noexcept;

    std::byte* base() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return size_; }
    bool contains(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_) < size_;
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
    class heap& heap() noexcept { return *heap_; }
    /// Differs for every opening in this process.
    std::uint64_t instance() const noexcept { return instance_; }
    /// True in a child of the process that opened the pool: nothing is mapped here, nothing may be
    /// touched; destroying the handle is harmless.
    bool is_inherited() const noexcept { return inherited_; }
    const replay_report& recovery() const noexcept { return recovery_; }
    std::span<const heap_zone> zones() const noexcept { return zones_; }
    /// True when homes are private to the process and become durable by the log alone.
    bool homes_are_private() const noexcept { return groups_ != nullptr; }
    /// True at `power` on byte-addressable media: commits write back and fence.
    bool persists_lines() const noexcept { return persists_lines_; }
    const persist::line_path& lines() const noexcept { return lines_; }
    persist::file& backing_file() noexcept { return *file_; }

    /// Brings all commits home and empties the log. Thread-safe.
    result<void> checkpoint();

private:
    open_pool() = default;
    friend struct pool_opener;
    friend void mark_pools_inherited() noexcept;

    void connect_heap();
    result<void> write_superblock(format::pool_state state, level promise);

    std::optional<persist::file> file_;
    std::optional<persist::mapping> mapping_;
    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    level level_ = level::power;
    bool persists_lines_ = false;
    bool inherited_ = false;
    std::uint64_t instance_ = 0;
    pid_t process_ = ::getpid();
    replay_report recovery_;
    std::vector<used_segment> kept_segments_;
    persist::line_path lines_;
    persist::storage storage_;
    format::superblock superblock_{};
    std::string path_;
    std::string engine_name_;
    std::vector<heap_zone> zones_;
    std::unique_ptr<lane_log> lanes_;
    std::unique_ptr<group_log> groups_;
    std::unique_ptr<class heap> heap_;
};

void mark_pools_inherited() noexcept;

/// The open pool of this process whose range holds `address`, or nullptr. Thread-safe.
open_pool* find_open_pool(const void* address) noexcept;

}  // namespace holdfast
