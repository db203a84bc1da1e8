// A key-value cache in a pool file: the commands of memcached for C++ programs, without a protocol and without a
// server. What was answered survives kill -9 (and, at level `power`, a power cut), with counts and the order of use.
// workload/cache/cache.hpp has the rules of the commands; cache/cache.h is the same for C.
#pragma once

#include <workload/cache/cache.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/pool/options.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

using workload::cache_answer;
using workload::cache_settings;
using workload::cache_statistics;

/// How a cache is opened. `cache` and all sizes apply only when it is created.
struct pool_cache_options {
    cache_settings cache{};
    create_options pool{};         ///< its `bytes` are not used
    std::uint64_t pool_bytes = 0;  ///< of the file; 0: one and a half times the limit, and room for index and log
};

/// A value to store. `lifetime_s`: 0, it never expires; up to 30 days, seconds; more, a time; negative, it has expired.
struct cache_value {
    std::string_view text{};
    std::uint32_t flags = 0;
    std::int64_t lifetime_s = 0;
};

/// What get found. `answer` is found, not_found or bad_key.
struct cache_hit {
    cache_answer answer = cache_answer::not_found;
    std::string text{};
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;  ///< for cas
};

/// What increment and decrement did. `number` is the new value if the answer is stored.
struct cache_number {
    cache_answer answer = cache_answer::not_found;
    std::uint64_t number = 0;
};

/// A cache in a pool of engine redo. Move-only; closes on destruction.
///
/// `now_s` is the time in seconds, from any start, the same for all processes that use the file.
/// Thread safety: all commands may be called concurrently. They run under one lock; threads that wait for it share a
/// commit (combining_mutex).
/// Each command is one transaction, with what it evicts and counts (cache.hpp names the exception).
/// What holds if the process dies inside a command: all of it has happened, or nothing. A command that has returned has
/// happened.
/// If the pool has no room for a value that the limit allows, items are evicted in steps first.
/// Errors of every command: those of basic_pool::atomically, out_of_space if the value does not fit in an empty cache.
/// After an error the command has had no effect, except possible evictions; after outcome_unknown it may have taken
/// effect. An answer is not an error.
class pool_cache {
public:
    /// Opens the cache at `path`, or creates it. Completes a creation that a killed process left unfinished, and grows
    /// that pool if it is too small for these options.
    /// What holds if the process dies inside: the next opening finds the cache as it was, or creates it.
    /// Errors: those of basic_pool::open, create and grow; invalid_argument (settings out of range; no pool is made);
    /// root_mismatch (the pool belongs to another program).
    static result<pool_cache> open_or_create(const std::string& path, const pool_cache_options& options = {});

    pool_cache(pool_cache&&) noexcept;
    pool_cache& operator=(pool_cache&&) noexcept;
    ~pool_cache();

    /// get and gets.
    result<cache_hit> get(std::string_view key, std::uint64_t now_s);
    /// Stores it, whether the key is there or not.
    result<cache_answer> set(std::string_view key, const cache_value& value, std::uint64_t now_s);
    /// Stores it if the key is not there.
    result<cache_answer> add(std::string_view key, const cache_value& value, std::uint64_t now_s);
    /// Stores it if the key is there.
    result<cache_answer> replace(std::string_view key, const cache_value& value, std::uint64_t now_s);
    /// Appends the text to the value; flags and lifetime remain.
    result<cache_answer> append(std::string_view key, std::string_view text, std::uint64_t now_s);
    /// Inserts the text before the value.
    result<cache_answer> prepend(std::string_view key, std::string_view text, std::uint64_t now_s);
    /// Stores the value if the item's `unique` has not changed since `get` returned it.
    result<cache_answer> cas(std::string_view key, const cache_value& value, std::uint64_t unique, std::uint64_t now_s);
    /// Adds to a decimal number, modulo 2^64.
    result<cache_number> increment(std::string_view key, std::uint64_t by, std::uint64_t now_s);
    /// Subtracts; the result is not below 0.
    result<cache_number> decrement(std::string_view key, std::uint64_t by, std::uint64_t now_s);
    /// deleted or not_found.
    result<cache_answer> remove(std::string_view key, std::uint64_t now_s);
    /// Gives the item another lifetime.
    result<cache_answer> touch(std::string_view key, std::int64_t lifetime_s, std::uint64_t now_s);
    /// Drops all items now or, with `delay_s`, drops after that time the items that are then present.
    result<void> flush_all(std::int64_t delay_s, std::uint64_t now_s);
    /// All counts, of one moment.
    result<cache_statistics> statistics();

    /// The first invariant that does not hold (workload/cache/check.hpp), as corrupt. Requires: no command runs.
    result<void> check();
    /// Closes cleanly. Requires: no command runs. Errors: io, poisoned; it is closed nevertheless.
    result<void> close();

private:
    struct state;
    explicit pool_cache(std::unique_ptr<state> opened) noexcept;
    template <class F>
    auto run(F&& f);
    template <class F>
    auto run_with_room(std::string_view key, std::uint64_t bytes, std::uint64_t now_s, F&& f);

    std::unique_ptr<state> state_;
};

}  // namespace holdfast
