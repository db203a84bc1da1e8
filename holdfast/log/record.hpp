// Sealing a record, and reading one back with suspicion.
#pragma once

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/log/geometry.hpp>
#include <holdfast/log/planted.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast {

/// The checksum seed of a segment's lap.
inline std::uint32_t seed_of_salt(std::uint64_t salt) noexcept {
    return static_cast<std::uint32_t>(salt ^ salt >> 32);
}

/// The checksum of a record: interleaved CRC32C of its words behind the first, which holds it.
/// `words` points to the first word.
inline std::uint32_t record_checksum(const std::uint64_t* words, std::uint64_t payload_words, format::record_kind kind,
                                     std::uint32_t seed) noexcept {
    const std::uint32_t of_kind = static_cast<std::uint8_t>(kind) * 0x9E3779B9u;
    return interleaved_crc32c(words + 1, format::record_header_words - 1 + payload_words, seed ^ of_kind);
}

/// Fills the header at `record`, whose payload follows it, and seals both. Requires: the words up
/// to the next multiple of record_alignment may be overwritten; they are zeroed.
inline void seal_record(std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence, std::uint16_t part,
                        std::uint16_t parts, format::record_kind kind, std::uint32_t seed) noexcept {
    record[1] = sequence;
    record[2] = payload_words | std::uint64_t{part} << 32 | std::uint64_t{parts} << 48;
    const std::uint64_t kind_bits = std::uint64_t{static_cast<std::uint8_t>(kind)} << 32;
    record[0] = record_checksum(record, payload_words, kind, seed) | kind_bits;
    for (std::uint64_t i = format::record_header_words + payload_words; i % 8 != 0; ++i) record[i] = 0;
}

/// What an open log reads of a record that it wrote itself.
inline std::uint64_t sequence_of(const std::uint64_t* record) noexcept { return record[1]; }
inline std::uint64_t payload_words_of(const std::uint64_t* record) noexcept { return record[2] & 0xFFFFFFFF; }
/// Where the sequence stands in a record, in bytes.
inline constexpr std::uint64_t sequence_offset = offsetof(format::record_header, sequence);

/// A record as it stands in mapped bytes.
struct record_view {
    format::record_header header;
    const std::uint64_t* payload;
};

/// The record at `at`, if one ends before `end` and its checksum holds. Requires: 8-aligned.
inline bool read_record(const std::byte* at, const std::byte* end, std::uint32_t seed, record_view& out) noexcept {
    if (end - at < static_cast<std::ptrdiff_t>(sizeof(format::record_header))) return false;
    std::memcpy(&out.header, at, sizeof out.header);
    const auto room = static_cast<std::uint64_t>(end - at);
    if (out.header.sequence == 0 || out.header.sequence > format::largest_sequence) return false;
    if (out.header.payload_words > room / 8) return false;
    if (format::record_bytes(out.header.payload_words) > room) return false;
    const auto* words = reinterpret_cast<const std::uint64_t*>(at);
    constexpr unsigned reserved_shift = 40;
    if (words[0] >> reserved_shift != 0) return false;
    out.payload = words + format::record_header_words;
    if (is_planted(planted::checksum_ignored)) return true;
    return record_checksum(words, out.header.payload_words, out.header.kind, seed) == out.header.checksum;
}

}  // namespace holdfast
