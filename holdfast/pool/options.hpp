// Options for creating and opening a pool.
#pragma once

#include <holdfast/persist/line_path.hpp>
#include <holdfast/persist/storage.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// When a commit is durable, from the weakest promise to the strongest.
enum class level : std::uint32_t {
    process = 0,        ///< survives kill -9; no write-back, fence or sync
    lag = 1,            ///< a prefix of the commits survives a crash, all but the last few (lag_options)
    on_power_fail = 2,  ///< saved by a power-failure handler
    power = 3,          ///< on the media before commit returns
};

/// Whether no power cut can tear a commit at this level.
constexpr bool survives_power(level promise) noexcept { return promise == level::power || promise == level::lag; }

std::string_view name_of(level promise) noexcept;
std::optional<level> level_named(std::string_view name) noexcept;

/// Options of the engines of wraps (softwrap_lat, softwrap); others ignore them.
struct wrap_options {
    /// Number of its wraps after which a thread truncates the log, at the cost of one more fence. 1: after each.
    std::uint32_t trim_batch = 64;
    /// A line of a wrap's record streams to the log when this number of later lines exists; 0: at once, as in the
    /// paper. Recent stores are most often repeated, and then a line is sent twice.
    std::uint32_t lines_kept = 8;
    /// Stores and writes back word by word, as in the paper's listing, instead of each line once (measurements only).
    bool writes_back_each_word = false;
    /// softwrap: capacity in words of each of its two alias tables. Larger wraps store their homes themselves.
    std::uint32_t alias_words = 4096;
    /// softwrap: a thread of the pool retires full tables. False: the thread that fills one does.
    bool retires_in_background = true;
    /// Without a log there is no atomicity across a crash; below `power` only (measurements only).
    bool logs = true;
};

/// Which thread stores homes on the medium after the commit.
enum class retiring : std::uint8_t {
    automatic,    ///< a thread where this process may use more than two processors; otherwise the threads that commit
    cooperative,  ///< the threads that commit, when too many commits wait
    by_thread,    ///< a thread of the pool
};

/// Options of cc_htm; other engines ignore them.
struct lag_options {
    /// At level `lag`: commits that have returned and may be missing after a crash, the last ones.
    std::uint32_t commits = 128;
    /// Commits that wait for their homes before somebody retires some of them; 0: until the log runs short.
    std::uint32_t backlog = 128;
    retiring retire = retiring::automatic;
    /// A commit waits until at most `commits` are not home, as in the paper, instead of not in the log.
    bool waits_for_homes = false;
    /// Aliases in tables: room of each of the two, in words. A transaction that stores more waits until all is home.
    std::uint32_t table_words = 4096;
    /// Aliases in sets: memory for entries of 32 bytes, rounded down to a power of two sets, and entries of a set. The
    /// paper's sizes.
    std::uint64_t set_bytes = 64 << 20;
    std::uint32_t set_ways = 2;
};

/// Options of steal_no_force at `power` on byte-addressable media; otherwise it has nothing to pace.
struct pace_options {
    /// Part of the log that is in use before its lines are written back. A larger value lets more commits share a
    /// write-back but leaves less log in which to do the work. 0: a round begins after each commit or, with a thread,
    /// after each segment of the log.
    std::uint32_t percent = 50;
    /// cooperative: a commit, after its locks are free.
    retiring write_back = retiring::automatic;
};

/// For `open`. Everything has a default; nothing here changes the format.
struct open_options {
    level durability = level::power;
    /// Expected application layout; empty accepts any.
    std::string layout;
    /// tmpfs emulates byte-addressable NVRAM (measurements only).
    bool tmpfs_is_nvram = false;
    /// Extra time per written line on byte-addressable media, to emulate slower ones.
    std::uint32_t delay_ns = 0;
    /// How log records reach byte-addressable media at `power`. Measuring adds about a millisecond to each opening.
    persist::record_way records = persist::record_way::measured;
    /// Touch all pages at open instead of on first use.
    bool populate = false;
    /// Open an unclean pool from another boot that was last used below `power`, or an unclean volatile_only pool: its
    /// last changes may be lost or inconsistent.
    bool accept_not_durable = false;
    wrap_options wraps{};
    lag_options lag{};
    pace_options pace{};
    /// On an ordinary file at `power`: bound on the memory of changed pages that are not released yet. A checkpoint
    /// begins when half is used. A transaction that changes more exceeds it. 0: a quarter of the memory that the
    /// process may use. Pools of lines have no bound.
    std::uint64_t private_bytes = 0;
    /// Source of storage discovery; for tests.
    persist::discovery where;
};

/// For `create`.
struct create_options : open_options {
    std::uint64_t bytes = 64 << 20;  ///< at least 256 KiB; rounded up to whole pages
    std::uint64_t reserved_bytes = 0;  ///< address range for growth; 0: four times `bytes`, at least 64 GiB
    std::uint64_t base = 0;            ///< address to map at, 1 GiB-aligned; 0: chosen at random
    std::uint64_t log_bytes = 0;       ///< 0: an eighth of the pool, at most 4 MiB
    unsigned mode = 0600;              ///< of the file
};

/// For `snapshot`.
struct snapshot_options {
    /// Progress callback: bytes copied so far, and the total. Must not use the pool.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress;
    /// How long to wait for a moment at which no transaction of an undo engine is storing.
    std::chrono::milliseconds patience{10'000};
};

/// What a snapshot did.
struct snapshot_report {
    std::uint64_t bytes = 0;      ///< of the copy
    bool shares_blocks = false;   ///< the file system made it (reflink): nothing was copied
    /// How long commits were held, in ns. On a file at `power` only the checkpoint at the beginning; commits then
    /// continue as long as the log has room.
    std::uint64_t held_ns = 0;
};

/// The contents of a pool's header, for people and tools.
struct pool_info {
    std::string path;
    std::string layout;
    std::string engine;
    std::uint16_t version_major = 0;
    std::uint16_t version_minor = 0;
    std::uint64_t pool_id = 0;
    std::uint64_t base = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t log_bytes = 0;
    std::uint64_t segment_bytes = 0;
    /// Of an open pool: memory of homes that is private to the process, on an ordinary file at `power` or `lag` and of
    /// cc_htm; otherwise 0.
    std::uint64_t private_bytes = 0;
    std::uint64_t private_bytes_at_most = 0;  ///< the bound on it
    bool keeps_prefix = false;  ///< recovery stops at the first missing commit
    std::uint32_t zones = 0;  ///< of the heap: one, plus one for each growth; at most 32
    std::uint64_t generation = 0;
    bool clean = false;
    level last_level = level::process;
    std::string last_boot_id;
    bool same_boot = false;
    /// Of an open pool on byte-addressable media at `power`: log records of at least this size are streamed past the
    /// cache, shorter ones stored through it and written back. Otherwise 0.
    std::uint32_t streamed_from_bytes = 0;
    persist::storage storage;
};

}  // namespace holdfast
