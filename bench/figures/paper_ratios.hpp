// What the paper on cache-line transactions says in numbers, beside what was measured here. Its section 5.3 gives
// ratios; its figures have no numbers.
#pragma once

#include <bench/contest/record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Cache-line transactions in scenario 1 against the same on DRAM. Our delays are chosen so that these hold, and the
/// paper's other ratios are then predictions.
inline constexpr double paper_slowdown_interleaved = 4.6;
inline constexpr double paper_slowdown_not_interleaved = 5.2;

/// The paper's three media: DRAM is no delay here, the others are the two delays in ascending order.
enum class paper_medium : std::uint8_t { dram, interleaved, not_interleaved };
inline constexpr const char* paper_medium_names[]{"DRAM", "interleaved NVRAM", "non-interleaved NVRAM"};

/// One ratio of section 5.3, or one it only describes.
struct paper_ratio {
    unsigned figure;
    std::string case_name;
    bool over_dram;  ///< line against line on DRAM; otherwise libpmemobj against line on the same medium
    paper_medium medium;
    std::optional<double> paper;  ///< nothing: described in words, `in_words`
    std::string in_words;
    std::optional<double> ours;  ///< nothing: not measured

    std::string engine() const { return over_dram ? "line" : "libpmemobj"; }
    std::string metric() const { return over_dram ? "times_dram" : "times_line"; }
};

/// All of them, with ours from the records of suite bounded-buffer.
std::vector<paper_ratio> paper_ratios(const std::vector<record>& records);

/// The delays of those records at level power, ascending: 0 first.
std::vector<std::uint64_t> delays_of(const std::vector<record>& records);

/// The one value, if there is one.
std::optional<double> value_of(const std::vector<record>& records, const std::string& case_name,
                               const std::string& engine, const std::string& level, std::uint64_t delay_ns,
                               const std::string& metric = "ns_per_tx");

/// Adds ours (`times_dram`, `times_line`) and the paper's (`paper_times_dram`, `paper_times_line`) as records, and
/// prints them side by side.
void conclude_bounded_buffer(report& to);

}  // namespace holdfast::bench
