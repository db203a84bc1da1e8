// Looks at a whole pool: every word of every block against its code, every bin against its chunks.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstdint>
#include <vector>

namespace holdfast::dnv {

/// What was found. Plain data.
struct audit_report {
    std::uint64_t chunks = 0;
    std::uint64_t blocks = 0;         ///< given out
    std::uint64_t free_blocks = 0;    ///< in lists
    std::uint64_t unused_blocks = 0;  ///< never given out
    std::uint64_t words = 0;          ///< looked at
    std::uint64_t unprotected_words = 0;  ///< of blocks that have no codes (dnv_malloc_unprotected)
    std::uint64_t flipped_words = 0;  ///< with flipped bits that can be corrected, or were
    std::vector<const void*> damaged;  ///< words that nothing corrects, by their addresses in the window
    std::vector<error> problems;      ///< words that nothing corrects, lists that lead elsewhere
};

/// Corrects what can be corrected, if `mends`, and then makes `damaged` the pool's list of damages.
/// Requires: a pool is open, and no other thread is in a block.
audit_report audit_open_pool(bool mends);

}  // namespace holdfast::dnv
