// Campaigns of flipped bits against the word code: what `holdfast ecc inject` runs.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast::tools {

/// Of how many trials: a repair that was right, none at all because it was refused, a wrong one, and flips that
/// looked valid. They add up to the trials.
struct injection_counts {
    std::uint64_t trials = 0;
    std::uint64_t repaired = 0;
    std::uint64_t refused = 0;
    std::uint64_t wrong = 0;
    std::uint64_t undetected = 0;

    injection_counts& operator+=(const injection_counts& other);
    friend bool operator==(const injection_counts&, const injection_counts&) = default;
};

struct injection {
    unsigned bits = 1;             ///< flipped in each trial, 1 to 128
    std::uint64_t trials = 0;      ///< random patterns on random words; unless
    bool exhaustive = false;       ///< every pattern is tried once, on random words: for 1 to 3 bits
    std::uint64_t seed = 1;
    unsigned jobs = 1;             ///< threads; the counts do not depend on them
};

/// The number of patterns that there are, or that are asked for.
std::uint64_t trials_of(const injection& asked);

/// Runs all trials. `progress`, called by the calling thread now and then, hears how many are done.
/// Requires: bits in [1, 128], jobs > 0; exhaustive with at most 3 bits.
injection_counts inject(const injection& asked, const std::function<void(std::uint64_t)>& progress);

/// Whether the counts keep what the code promises for this number of flips: none wrong up to 7, none undetected up to
/// 13, none refused up to 6.
bool keeps_promise(unsigned bits, const injection_counts& counts);

}  // namespace holdfast::tools
