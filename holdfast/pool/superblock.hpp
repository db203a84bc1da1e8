// Reading, checking and writing the two superblock copies.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/log/scan.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast {

/// The valid copy with the higher generation. Checks magic, version, features, checksum and that
/// every range lies inside the file; another layout or engine is not its concern.
/// Errors: not_a_pool, truncated, version_unsupported, feature_unsupported, corrupt, io; each names
/// file, offset, expected and found. Changes nothing.
result<format::superblock> read_superblock(const persist::file& from);

/// One copy, checked like that. Errors: as above.
result<format::superblock> read_superblock_copy(const persist::file& from, unsigned copy);

/// Seals `next` (checksum) and writes it durably over the older copy: the copy chosen by its
/// generation's parity, so that a torn write leaves the other; one that is elsewhere is refused.
/// Errors: io. Then `next` may be in the page cache and not on the device, and the other copy is the only one that is
/// certain: do not write that one before `rewrite_superblock` of this one has succeeded, or the file was reopened.
result<void> write_superblock(persist::file& to, format::superblock next);
/// Writes the superblock that was read in its own place once more. Durable with the file's next sync. Errors: io.
result<void> rewrite_superblock(persist::file& to, const format::superblock& read);

/// The heap's zones as the superblock lists them. Requires: read_superblock found it sound.
inline std::vector<heap_zone> zones_of(const format::superblock& block) {
    std::vector<heap_zone> zones;
    for (std::uint32_t i = 0; i < block.zone_count; ++i) zones.push_back({block.zones[i].offset, block.zones[i].bytes});
    return zones;
}

/// Where the log of such a pool lies, and how it is written.
inline log_geometry log_of(const format::superblock& block) noexcept {
    return {block.log_offset, block.log_bytes, block.segment_bytes,
            (block.required_features & format::feature_seals) != 0,
            (block.required_features & format::feature_prefix) != 0};
}

/// Where what is no superblock, root or log begins.
inline std::uint64_t heap_begin(const format::superblock& block) noexcept {
    return block.log_offset + block.log_bytes;
}

/// The superblock with its checksum.
format::superblock with_checksum(format::superblock block) noexcept;

/// What a save of an armed pool makes of its superblock: it says `saved`.
format::superblock saved_after(format::superblock now) noexcept;

/// In use at `on_power_fail`, and not saved so far: its log is in memory. (That of an ordinary file is in the file.)
bool is_armed(const format::superblock& block) noexcept;
/// In use at `on_power_fail` on an ordinary file: the page cache alone may have what commits have promised.
bool is_armed_on_file(const format::superblock& block) noexcept;

/// Under what the kernel module saves the log of the life that wrote this superblock; without a key where a sandbox
/// hides what tells the file from others. Errors: io.
result<powerfail::save_name> save_name_of(const format::superblock& block, const persist::file& in);
/// What the kernel module saved of that life. Errors: those of shadow_log::find_saved and save_name_of.
result<powerfail::shadow_log> log_saved_by_module(const format::superblock& block, const persist::file& in);
/// The log of an armed pool that is not in the pool: what a process of this boot left in memory that had that file
/// open; else a save of the kernel module, if there is one that counts. Of two the one in memory has all commits: a
/// program that closed the module's file was saved then, and went on. Errors: those of mark_of; permission_denied, io.
result<std::optional<powerfail::shadow_log>> log_outside_pool(const format::superblock& block, const persist::file& in);

/// Whether that may be torn which the log does not mend: in use below `power`, and not in this boot, or not in this
/// file, which then is a copy made meanwhile, or without the log that was in memory. Where the kernel has no boot id
/// nothing proves that the machine did not go down. Errors: those of mark_of.
result<bool> may_be_torn(const format::superblock& block, const persist::file& in);

/// How the log of such a pool is read. Errors: those of mark_of.
inline result<log_reading> log_reading_of(const format::superblock& block, const persist::file& in) {
    const auto torn = may_be_torn(block, in);
    if (!torn) return torn.error();
    return *torn ? log_reading::torn_anywhere : log_reading::strict;
}

/// The text in a zero-padded character array.
template <std::size_t N>
std::string_view text_of(const char (&padded)[N]) noexcept {
    std::size_t length = 0;
    while (length < N && padded[length] != 0) ++length;
    return {padded, length};
}

/// Fills the array with the text and zeros behind it; what does not fit is cut off.
template <std::size_t N>
void put_text(char (&padded)[N], std::string_view text) noexcept {
    std::memset(padded, 0, N);
    std::memcpy(padded, text.data(), std::min(N, text.size()));
}

}  // namespace holdfast
