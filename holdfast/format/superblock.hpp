// What stands at the beginning of every pool. The specification is docs/format/; each constant
// stands here once and is used by writer, reader and tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast::format {

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr char magic[8] = {'H', 'O', 'L', 'D', 'F', 'A', 'S', 'T'};
/// A reader refuses another major version and accepts any minor one.
inline constexpr std::uint16_t version_major = 1;
inline constexpr std::uint16_t version_minor = 3;
/// Segment headers say more than a salt, and unused roots have a checksum. Required, because one who wrote only salts
/// would leave what another lap's header said beside them.
inline constexpr std::uint64_t feature_seals = 1;
/// The log of a pool in use is in memory beside it, or was saved from there. Required while that is so.
inline constexpr std::uint64_t feature_shadow_log = 2;
/// Recovery stops at the first number that is missing in the log: commits were made in the order of their numbers, and
/// may have used what those before them left. Where it is not set, a missing number is a commit that nobody has seen.
inline constexpr std::uint64_t feature_prefix = 4;
/// Features a reader must know to touch the pool.
inline constexpr std::uint64_t known_required_features = feature_seals | feature_shadow_log | feature_prefix;
inline constexpr std::uint64_t features_of_new_pools = feature_seals;

inline constexpr std::uint64_t superblock_offset[2] = {0, page_bytes};
inline constexpr std::uint64_t roots_offset = 2 * page_bytes;
inline constexpr std::uint64_t log_offset = 3 * page_bytes;
inline constexpr std::size_t zone_limit = 32;

inline constexpr std::uint64_t smallest_pool_bytes = 256 * 1024;

/// saved: in use, and made durable with its log when the power failed, or when its process was found killed.
enum class pool_state : std::uint32_t { clean = 1, dirty = 2, saved = 3 };

/// One of two copies; the valid one with the higher generation counts. Rewritten alternately, so
/// that a torn write leaves the other. All integers little-endian.
struct superblock {
    char magic[8];
    std::uint16_t version_major;
    std::uint16_t version_minor;
    std::uint32_t superblock_bytes;  ///< sizeof(superblock), what the checksum covers
    std::uint64_t required_features;
    std::uint64_t optional_features;
    std::uint64_t generation;
    std::uint64_t pool_id;  ///< random, drawn at creation
    std::uint64_t base;     ///< virtual address at which the pool maps
    std::uint64_t reserved_bytes;
    std::uint64_t pool_bytes;
    std::uint64_t log_offset;
    std::uint64_t log_bytes;
    std::uint64_t segment_bytes;
    char layout[64];   ///< zero-padded application layout name
    char engine[32];   ///< zero-padded engine name
    char boot_id[40];  ///< of the boot in which the pool was last opened for writing
    pool_state state;
    std::uint32_t level;  ///< durability level of that opening
    std::uint32_t zone_count;
    std::uint32_t unsettled;  ///< 1: opened below `power` after an unclean end: not all is durable that stood there
    struct zone {
        std::uint64_t offset;
        std::uint64_t bytes;
    } zones[zone_limit];
    std::uint32_t file_mark;  ///< of the file in that opening; 0: not known
    std::uint32_t checksum;  ///< inverted CRC32C of all bytes before it, begun with all ones
};

static_assert(std::is_trivially_copyable_v<superblock>);
static_assert(offsetof(superblock, version_major) == 8);
static_assert(offsetof(superblock, superblock_bytes) == 12);
static_assert(offsetof(superblock, required_features) == 16);
static_assert(offsetof(superblock, generation) == 32);
static_assert(offsetof(superblock, pool_id) == 40);
static_assert(offsetof(superblock, base) == 48);
static_assert(offsetof(superblock, reserved_bytes) == 56);
static_assert(offsetof(superblock, pool_bytes) == 64);
static_assert(offsetof(superblock, log_offset) == 72);
static_assert(offsetof(superblock, log_bytes) == 80);
static_assert(offsetof(superblock, segment_bytes) == 88);
static_assert(offsetof(superblock, layout) == 96);
static_assert(offsetof(superblock, engine) == 160);
static_assert(offsetof(superblock, boot_id) == 192);
static_assert(offsetof(superblock, state) == 232);
static_assert(offsetof(superblock, level) == 236);
static_assert(offsetof(superblock, zone_count) == 240);
static_assert(offsetof(superblock, unsettled) == 244);
static_assert(offsetof(superblock, zones) == 248);
static_assert(offsetof(superblock, file_mark) == 760);
static_assert(offsetof(superblock, checksum) == 248 + 16 * zone_limit + 4);
static_assert(sizeof(superblock) == 768);
static_assert(sizeof(superblock) <= page_bytes);

}  // namespace holdfast::format
