// What `pool check` and `pool check --repair` share.
#pragma once

#include <holdfast/handle/check.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::tools {

/// A contents_checker for the layouts that the command makes itself.
std::optional<contents_finding> known_contents(const open_pool& pool, const std::vector<root_listing>& roots);

/// check_pool with a progress bar. Throws failure for what keeps the pool from being looked at.
check_report check_with_progress(const std::string& path);
/// A table of the parts, and the verdict.
std::string check_table(const std::string& path, const check_report& report);

}  // namespace holdfast::tools
