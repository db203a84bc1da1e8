// Runs of `holdfast sim` for a paper's figures: which ones, as command lines, and what they found.
#pragma once

#include <bench/contest/record.hpp>

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// A sweep of `holdfast sim`.
struct simulated_campaign {
    std::string name;                    ///< of the file with its records, in the figures' directory
    std::vector<std::string> arguments;  ///< behind `holdfast sim`

    /// As one types it.
    std::string command_line() const;
};

/// Runs every n-th run of the sweep beginning with the i-th, as `shard` ("i/n") says, and leaves their records at
/// `json_path`. Throws failure: not_found (no simulator beside this program), io (it failed; it has said why).
void run_campaign(const simulated_campaign& one, const std::string& shard, const std::string& json_path);

/// What tells one run from another.
struct simulated_run {
    std::string workload;
    std::string design;
    unsigned threads = 1;
    std::string element = "int";
    std::map<std::string, std::string> settings{};  ///< those that were given, and `core` and `keys` if not usual
    auto operator<=>(const simulated_run&) const = default;
};

/// All runs of suite sim among the records.
class simulated_runs {
public:
    /// Throws failure (invalid_argument): two records of one run differ, as those of a quick and a whole sweep do.
    explicit simulated_runs(const std::vector<record>& records);

    bool empty() const noexcept { return runs_.empty(); }
    bool has(const simulated_run& one) const { return runs_.contains(one); }
    std::optional<double> value(const simulated_run& one, const std::string& metric) const;
    std::optional<double> per_transaction(const simulated_run& one, const std::string& metric) const;

    const std::map<simulated_run, std::map<std::string, double>>& all() const noexcept { return runs_; }

private:
    std::map<simulated_run, std::map<std::string, double>> runs_;
};

/// Of what there is; nothing if there is none.
std::optional<double> geometric_mean(const std::vector<std::optional<double>>& values);

/// Nothing if one of them is missing.
std::optional<double> ratio(std::optional<double> above, std::optional<double> below);

}  // namespace holdfast::bench
