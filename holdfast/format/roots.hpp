// The table of named roots: one page of 32 entries behind the superblocks.
#pragma once

#include <holdfast/base/checksum.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::format {

inline constexpr std::size_t root_limit = 32;

/// One named root. Unused: all zero but for the checksum, so that a lost one is told from an unused one; in pools
/// without feature_seals all zero. Written inside the transaction that makes the root.
struct root_entry {
    char name[72];               ///< zero-padded, never empty in a used entry
    std::uint64_t offset;        ///< of the object, from the start of the pool
    std::uint64_t bytes;         ///< sizeof the type
    std::uint64_t alignment;     ///< alignof the type
    std::uint64_t fingerprint;   ///< of the user's version string, size and alignment
    char version[20];            ///< first bytes of the user's version string, for messages
    std::uint32_t checksum;      ///< inverted CRC32C of the bytes before it, begun with all ones
};

static_assert(offsetof(root_entry, offset) == 72);
static_assert(offsetof(root_entry, fingerprint) == 96);
static_assert(offsetof(root_entry, checksum) == 124);
static_assert(sizeof(root_entry) == 128);
static_assert(sizeof(root_entry) * root_limit == 4096);

inline std::uint32_t checksum_of(const root_entry& entry) noexcept {
    return ~crc32c(&entry, offsetof(root_entry, checksum), ~0u);
}
/// What an unused entry holds.
inline root_entry unused_root() noexcept {
    root_entry entry{};
    entry.checksum = checksum_of(entry);
    return entry;
}

}  // namespace holdfast::format
