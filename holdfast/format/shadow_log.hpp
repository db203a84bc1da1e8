// What stands in the memory that holds the log of a pool whose homes and log a handler saves when the power fails. It
// outlives the process and not the boot. The specification is docs/format/shadow.md.
//
//   0             shadow_header
//   page_bytes    the log: header page and segments, as in the pool
#pragma once

#include <holdfast/format/superblock.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::format {

inline constexpr char shadow_magic[8] = {'H', 'O', 'L', 'D', 'S', 'H', 'D', 'W'};
inline constexpr std::uint64_t shadow_version = 1;
inline constexpr std::uint64_t shadow_log_offset = page_bytes;

/// All integers little-endian.
struct shadow_header {
    char magic[8];
    std::uint64_t version;
    std::uint64_t pool_id;
    std::uint64_t file_mark;  ///< of the pool's file
    std::uint64_t log_offset;  ///< in the pool: where the log is saved to
    std::uint64_t log_bytes;
    std::uint64_t segment_bytes;
    /// Which seal counts: 1 or 2; 0: nothing is to be saved.
    std::uint64_t sealed;
    superblock seals[2];   ///< what the pool's superblock is to be, once all is saved
    superblock replaced;   ///< what a save wrote its seal over
};

static_assert(std::is_trivially_copyable_v<shadow_header>);
static_assert(offsetof(shadow_header, sealed) == 56);
static_assert(offsetof(shadow_header, seals) == 64);
static_assert(offsetof(shadow_header, replaced) == 64 + 2 * sizeof(superblock));
static_assert(sizeof(shadow_header) == 64 + 3 * sizeof(superblock));
static_assert(sizeof(shadow_header) <= page_bytes);

}  // namespace holdfast::format
