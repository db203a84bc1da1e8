// The steps of creating and opening a pool, in the order in which they must happen.
#pragma once

#include <holdfast/pool/open_pool.hpp>

#include <memory>
#include <string>

namespace holdfast {

struct pool_opener {
    /// Makes a pool, opens it, and only then gives it its name: what has the name is whole.
    static result<std::unique_ptr<open_pool>> create(const std::string& path, const engine_description& engine,
                                                     const create_options& options, const persist::storage& storage);

    /// Writes an empty pool over the locked, still empty file.
    static result<void> format(persist::file& file, const engine_description& engine, const create_options& options,
                               const persist::storage& storage);

    /// Writes zeros over all segments: written blocks make a first lap as fast as later ones, and say "empty".
    static result<void> clear_segments(persist::file& file, const log_geometry& log);

    /// Opens the locked file; asks what it is stored on unless `storage` says so.
    static result<std::unique_ptr<open_pool>> open(persist::file file, const engine_description& engine,
                                                   const open_options& options,
                                                   std::optional<persist::storage> storage = {});

    /// A pool over bytes that the caller has mapped and recovered, for looking only: what checks containers finds it
    /// by their addresses. Requires: the bytes outlive it.
    static std::unique_ptr<open_pool> over(std::span<std::byte> bytes, const pool_info& info,
                                           std::vector<heap_zone> zones);

    static persist::discovery discovery_of(const open_options& options);

    /// Whether wraps can keep the promise as they are asked for. Errors: level_unavailable,
    /// invalid_argument.
    static result<void> check_wraps(const std::string& path, const engine_description& engine,
                                    const open_options& options);
    /// Whether this engine on this storage can keep the promise. Errors: level_unavailable.
    static result<void> check_level(const std::string& path, const engine_description& engine, level promise,
                                    const persist::storage& storage);

private:
    friend class open_pool;
    static result<void> check_header(const open_pool& pool, const engine_description& engine,
                                     const open_options& options);
    static result<void> check_durable(const open_pool& pool, const engine_description& engine,
                                      const open_options& options);
    static result<void> map(open_pool& pool, const open_options& options);
    static result<log_replay> read_log(const open_pool& pool);
    static result<void> settle(open_pool& pool, bool was_clean, log_replay& replay);
    static result<void> write_log_anew(open_pool& pool, const log_replay& replay);
    static result<void> recover(open_pool& pool, log_replay& replay);
    static result<void> recover_and_mark(open_pool& pool, const engine_description& engine, bool was_clean,
                                         log_replay& replay);
    /// Whether the recovered records may stay in the log of a file until a checkpoint, so that
    /// opening writes no home. Not after a weaker level, nor with a record that lacks a part.
    static bool keeps_log(const open_pool& pool, const log_replay& replay);
    static result<void> write_recovered_homes(open_pool& pool, line_set& touched);
    static void start_log(open_pool& pool, const engine_description& engine);
    static void bound_memory(open_pool& pool, const engine_description& engine);
    static void start_aliases(open_pool& pool);
};

}  // namespace holdfast
