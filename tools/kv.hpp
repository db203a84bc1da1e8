// The kv part of the command: a persistent ordered map from strings to strings in a pool of any engine.
#pragma once

#include "kv_input.hpp"

#include <holdfast/base/result.hpp>
#include <holdfast/handle/roots.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

/// The layout name of kv pools, and the names of their roots.
inline constexpr std::string_view kv_layout = "holdfast-kv";
inline constexpr std::string_view kv_map_root = "kv.entries";
inline constexpr std::string_view kv_load_root = "kv.load";

/// Entries with from <= key < to; nullopt: no bound.
struct kv_range {
    std::optional<std::string> from;
    std::optional<std::string> to;
    std::uint64_t limit = ~std::uint64_t{0};
};

/// An open kv pool. Members throw `failure` for what the library refuses.
/// Thread safety: load_step may run concurrently; everything else alone.
/// What holds if the process dies inside a change: all of it, or nothing of it.
class kv_store {
public:
    virtual ~kv_store() = default;

    virtual void put(std::string_view key, std::string_view value) = 0;
    virtual std::optional<std::string> get(std::string_view key) = 0;
    /// False when there was no such key.
    virtual bool erase(std::string_view key) = 0;
    /// In ascending order of keys, until `visit` returns false.
    virtual void scan(const kv_range& range,
                      const std::function<bool(std::string_view key, std::string_view value)>& visit) = 0;
    virtual std::uint64_t size() = 0;

    /// Takes up an unfinished load of the same input where it stopped, or starts from the beginning.
    /// Returns the place. The place is kept in the pool and moves in the transactions that put entries.
    virtual input_place begin_load(const input& from) = 0;
    /// Puts the next lines, up to `lines_max`, in one transaction and returns them once committed;
    /// an empty part at the end of the input.
    virtual input_part load_step(const input& from, std::uint64_t lines_max) = 0;
    /// Forgets the place: the same input would be loaded from its beginning.
    virtual void end_load() = 0;

    /// What has returned survives from here on. Needed at level lag alone.
    virtual void fence() = 0;

    virtual open_pool& core() = 0;
    virtual heap_usage usage() = 0;
    /// Brings everything home and marks the pool clean.
    virtual void close() = 0;
};

template <class Engine>
std::unique_ptr<kv_store> open_kv(const std::string& path, const open_options& options);
template <class Engine>
std::unique_ptr<kv_store> create_kv(const std::string& path, const create_options& options);

/// What checking the contents of a kv pool found.
struct kv_findings {
    std::optional<std::string> problem;
    std::uint64_t entries = 0;
    std::vector<const void*> owned;  ///< every block of the heap that the roots reach
};

template <class Engine>
kv_findings check_kv_of(const open_pool& pool, const std::vector<root_listing>& roots);

/// Calls visit for each entry in order. Requires: checked.
template <class Engine>
void visit_kv_of(const open_pool& pool, const std::vector<root_listing>& roots,
                 const std::function<void(std::string_view key, std::string_view value)>& visit);

/// The same by the engine in the pool's header.
kv_findings check_kv(const open_pool& pool, const std::vector<root_listing>& roots);
void visit_kv(const open_pool& pool, const std::vector<root_listing>& roots,
              const std::function<void(std::string_view key, std::string_view value)>& visit);

}  // namespace holdfast::tools
