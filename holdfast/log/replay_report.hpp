// What recovery says of itself.
#pragma once

#include <cstdint>

namespace holdfast {

/// What recovery found and did.
struct replay_report {
    std::uint64_t records = 0;         ///< whole records above the truncation point
    std::uint64_t applied = 0;         ///< of these, applied
    std::uint64_t truncated = 0;       ///< the truncation point S
    std::uint64_t last_sequence = 0;   ///< highest number seen; the next commit draws one above
    std::uint64_t words = 0;           ///< stored to homes
    unsigned threads = 1;              ///< that stored them
};

}  // namespace holdfast
