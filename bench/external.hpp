// Rivals that are no part of this project: records of the same form that another program measured in the same minutes.
#pragma once

#include <bench/contest/record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// Ends the name of each such engine, so that nobody takes it for one that was run here.
inline constexpr std::string_view external_mark = " (external)";

/// Whether `suite` takes them.
bool takes_external(std::string_view suite) noexcept;

/// The times (ns_per_tx) of `suite` in these files. Throws failure: not_found, invalid_argument (no records; none of
/// the suite; no level or medium; a time that is not above 0; one case measured twice).
std::vector<record> read_external(const std::vector<std::string>& paths, const std::string& suite);

/// Those that stand beside one of `ours`: the same case and threads, and each parameter that they name. They are shown,
/// and are no records of this run.
std::vector<record> external_beside(const std::vector<record>& external, const std::vector<record>& ours);

}  // namespace holdfast::bench
