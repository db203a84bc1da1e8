// The steps of creating and opening a pool, in the order in which they must happen.
#pragma once

#include <holdfast/pool/mapped_pool.hpp>

#include <memory>
#include <string>
#include <utility>

namespace holdfast {

struct pool_opener {
    /// Makes a pool, opens it, and only then gives it its name: what has the name is whole.
    static result<std::unique_ptr<mapped_pool>> create(const std::string& path, const engine_description& engine,
                                                     const create_options& options, const persist::storage& storage);

    /// Writes an empty pool over the locked, still empty file.
    static result<void> format(persist::file& file, const engine_description& engine, const create_options& options,
                               const persist::storage& storage);

    /// Writes zeros over all segments: written blocks make a first lap as fast as later ones, and say "empty".
    static result<void> clear_segments(persist::file& file, const log_geometry& log);

    /// Opens the locked file.
    static result<std::unique_ptr<mapped_pool>> open(persist::file file, const engine_description& engine,
                                                     const open_options& options);
    /// The same, and a handler that loses the pool is told to come again until it becomes ready. Asks what the file is
    /// stored on unless `storage` says so.
    static result<std::unique_ptr<mapped_pool>> open_unready(persist::file file, const engine_description& engine,
                                                             const open_options& options,
                                                             std::optional<persist::storage> storage);

    /// A pool over bytes that the caller has mapped and recovered, for looking only: what checks containers finds it
    /// by their addresses. Requires: the bytes outlive it.
    static std::unique_ptr<open_pool> over(std::span<std::byte> bytes, const pool_info& info,
                                           std::vector<heap_zone> zones);

    static persist::discovery discovery_of(const open_options& options);

    /// Whether wraps and aliases can be as they are asked for, and keep the promise. Errors: level_unavailable,
    /// invalid_argument.
    static result<void> check_late_homes(const std::string& path, const engine_description& engine,
                                         const open_options& options);
    /// Whether this engine on this storage can keep the promise. Errors: level_unavailable.
    static result<void> check_level(const std::string& path, const engine_description& engine, level promise,
                                    const persist::storage& storage);

    /// An error that names the pool's file.
    static error about(const std::string& path, errc code, std::string what) {
        return error{.code = code, .what = std::move(what), .path = path};
    }

private:
    friend class open_pool;
    friend class mapped_pool;
    static result<void> check_header(const mapped_pool& pool, const engine_description& engine,
                                     const open_options& options);
    static result<void> check_durable(const mapped_pool& pool, const engine_description& engine,
                                      const open_options& options);
    static result<void> map(mapped_pool& pool, const engine_description& engine, const open_options& options);
    static result<void> map_medium(mapped_pool& pool, persist::mapping::kind how, bool populates);
    static result<log_replay> read_log(const mapped_pool& pool);
    static result<void> settle(mapped_pool& pool, bool was_clean, log_replay& replay);
    static result<void> write_log_anew(mapped_pool& pool, const log_replay& replay);
    static result<void> recover(mapped_pool& pool, log_replay& replay);
    static result<void> recover_and_mark(mapped_pool& pool, const engine_description& engine, bool was_clean,
                                         bool arms, log_replay& replay);
    /// Whether the recovered records may stay in the log of a file until a checkpoint, so that
    /// opening writes no home. Not after a weaker level, nor with a record that lacks a part.
    static bool keeps_log(const mapped_pool& pool, const log_replay& replay);
    static result<void> write_recovered_homes(mapped_pool& pool, const home_stores& stored);
    static void start_log(mapped_pool& pool, const engine_description& engine, persist::record_way records);
    static void choose_record_way(mapped_pool& pool, persist::record_way wanted);
    static void bound_memory(mapped_pool& pool, const engine_description& engine);
    // late_homes.cpp
    static void start_late_homes(mapped_pool& pool, const engine_description& engine);
    static void start_aliases(mapped_pool& pool, const alias_options& options);
    static alias_options aliases_of_wraps(const mapped_pool& pool);
    static alias_options aliases_of_commits(mapped_pool& pool);
    static void start_retirement(mapped_pool& pool, const engine_description& engine);
    static bool paces(const mapped_pool& pool, const engine_description& engine) noexcept {
        return engine.paces && pool.persists_lines_;
    }
    static void start_pacer(mapped_pool& pool);
    static bool retires_in_background(const mapped_pool& pool);
    static std::uint32_t lag_of(const mapped_pool& pool) noexcept;
};

}  // namespace holdfast
