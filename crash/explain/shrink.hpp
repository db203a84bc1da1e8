// The smallest violation that a found one leads to: fewer operations, an earlier cut, and as little as possible
// that is not as the program left it. Deterministic; what it does is bounded by recoveries, not by a clock.
// Source of the method: Zeller, Hildebrandt, Simplifying and isolating failure-inducing input, IEEE TSE 2002.
#pragma once

#include <crash/explain/image_runner.hpp>
#include <crash/explain/replay.hpp>

#include <cstdint>

namespace holdfast::crash {

struct shrunk {
    scenario smallest;
    std::uint64_t recoveries = 0;  ///< that it took
    bool reproduced = true;        ///< false: the violation did not show again, and nothing was tried
    bool finished = true;          ///< false: the recoveries ran out; what is there is a violation all the same
};

/// Requires: `found` is the subject's and the model's. Any violation counts as the violation.
shrunk shrink(subject& what, const model& how, const scenario& found, std::uint64_t recoveries_at_most = 6000);

}  // namespace holdfast::crash
