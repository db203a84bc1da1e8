// Checks a dnv pool that is not in use, for tools: what audit.hpp says of an open one.
#pragma once

#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/statics.hpp>
#include <holdfast/handle/check.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::dnv {

inline constexpr std::string_view engine_name = "dnv";

/// A contents_checker for pools of dnv. Requires: no dnv pool is open in this process. Not thread-safe.
std::optional<contents_finding> check_contents(const open_pool& pool, const std::vector<root_listing>& roots);

/// The places of all that the open dnv pool has of the pool's heap, and of its root.
void list_owned(std::vector<const void*>& owned);

/// What a pool knows of flipped bits over its life; it is only read. Requires: no dnv pool is open in this process. Not
/// thread-safe. Errors: as list_statics_of, but for not_found.
result<damage_listing> list_damages_of(const std::string& path);

/// What a pool knows of its program's static variables. Plain data.
struct statics_listing {
    std::vector<static_variable> variables;  ///< in order of their addresses
    std::uint64_t bytes = 0;                 ///< of the window that they take
    std::string script;                      ///< for the linker: they are where they were, and new ones behind
};
/// Of the pool at `path`, which is only read. Requires: no dnv pool is open in this process. Not thread-safe.
/// Errors: those of open_pool::inspect, engine_mismatch, not_found (it has none), corrupt.
result<statics_listing> list_statics_of(const std::string& path);

/// Opens the pool, corrects every word that can be corrected, lists the others, and closes it. What has checksums
/// instead of codes (metadata.hpp) is corrected where a single bit was flipped, and counts as a word. Words become
/// durable as at `process`; one that does not is corrected again. Requires: no dnv pool is open in this process. Not
/// thread-safe. Errors: those of an opening and a closing, corrupt (of its root or directory, by more than one bit).
result<audit_report> mend_pool(const std::string& path);

}  // namespace holdfast::dnv
