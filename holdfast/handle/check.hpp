// The offline check of a whole pool: everything that the library can know of it, and what its program adds.
#pragma once

#include <holdfast/handle/roots.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// One part of a pool and what was found in it.
struct check_finding {
    enum class verdict : std::uint8_t {
        sound,
        worn,     ///< one of two copies is lost: a crash may leave it so, and nothing is missing
        damaged,
    };
    std::string part;  ///< header, log, roots, contents, heap
    verdict is = verdict::sound;
    std::string words;
};

/// What a program knows of its pool's contents.
struct contents_finding {
    std::string part = "contents";
    std::optional<std::string> problem;
    std::string words;
    /// Every block that the roots reach, each once, and the roots' own; only where `problem` is empty.
    std::vector<const void*> owned;
};
/// Examines the objects below the roots of a pool that was recovered in memory. nullopt: it does not know this layout.
/// Must not trust a byte of them.
using contents_checker =
    std::function<std::optional<contents_finding>(const open_pool& pool, const std::vector<root_listing>& roots)>;

struct check_report {
    std::vector<check_finding> findings;
    bool sound() const noexcept;  ///< nothing is damaged
    bool worn() const noexcept;   ///< something is worn
};

/// Checks the pool at `path` without changing it, as recovery would leave it: both copies of the superblock, the log
/// and its truncation point, roots, heap metadata, and the contents with their owners as far as `contents` knows them.
/// Later parts rely on earlier ones: the first that cannot be read ends the check. It calls `on_finding` for each.
/// Errors: what prevents the examination of the pool (not_found, permission_denied, busy, not_a_pool,
/// version_unsupported, feature_unsupported, address_taken, io); damage is a finding.
result<check_report> check_pool(const std::string& path, const contents_checker& contents,
                                const std::function<void(const check_finding&)>& on_finding = {});

}  // namespace holdfast
