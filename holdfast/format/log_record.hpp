// The log on the media: header page, segments, records, entries. Specification: docs/format/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace holdfast::format {

inline constexpr std::uint64_t log_header_bytes = 4096;
inline constexpr std::uint64_t record_alignment = 64;
inline constexpr std::uint64_t segment_header_bytes = 64;
inline constexpr std::uint64_t smallest_segment_bytes = 4096;

/// No commit has a higher number, and what names one is damage: the number after the highest never wraps around. A log
/// whose highest number is above half of it is not opened, so that every commit that follows has a number below. A
/// billion commits a second take 73 years to get there.
inline constexpr std::uint64_t largest_sequence = std::uint64_t{1} << 62;

/// Where truncation stands: every record with a sequence up to and including `sequence` is home.
/// Two slots, in sectors of their own; the valid one with the higher sequence counts.
struct truncation_slot {
    std::uint64_t sequence;
    std::uint32_t reserved_word;
    std::uint32_t checksum;  ///< inverted CRC32C of the 12 bytes before it, begun with all ones
};
static_assert(sizeof(truncation_slot) == 16);
inline constexpr std::uint64_t truncation_slot_offset[2] = {0, 512};

/// In the header page: a random number drawn whenever the pool is armed, which the log in memory has, too. It tells the
/// log of this life from that of another one whose file was put back. Twice, so that a flipped bit does not part them.
struct armed_life {
    std::uint64_t number = 0;
    std::uint64_t complement = 0;  ///< ~number; 0 before the first
};
static_assert(sizeof(armed_life) == 16);
inline constexpr std::uint64_t armed_life_offset = 1024;
constexpr bool is_same(const armed_life& one, const armed_life& other) noexcept {
    return one.number == other.number || (one.complement != 0 && one.complement == other.complement);
}

/// First line of a segment. Salt 0: the segment holds no records. In pools without feature_seals
/// everything behind the salt is 0.
struct segment_header {
    std::uint64_t salt;
    std::uint64_t acknowledged;  ///< a commit of the same writer, durable before this lap began; 0: none named
    std::uint64_t truncated;     ///< S was at least this, durably, before this lap began
    std::uint64_t check;         ///< the salt, xor segment_mark of the other two and the segment's index
    std::uint64_t reserved_words[4];
};
static_assert(offsetof(segment_header, check) == 24);
static_assert(sizeof(segment_header) == segment_header_bytes);

/// What stands in `check` beside the salt: with the index in it, a header in another's place is found.
constexpr std::uint64_t segment_mark(std::uint64_t index, std::uint64_t acknowledged,
                                     std::uint64_t truncated) noexcept {
    std::uint64_t mark = index + 1;
    for (const std::uint64_t word : {acknowledged, truncated}) {
        mark = (mark ^ word) * 0x9E3779B97F4A7C15;
        mark ^= mark >> 32;
    }
    return mark;
}

enum class record_kind : std::uint8_t {
    redo = 1,         ///< new values; applied when the record is whole
    undo = 2,         ///< old values; applied in reverse when no end of their transaction is found
    undo_end = 3,     ///< the transaction is home (committed or rolled back); no payload
    undo_fenced = 4,  ///< undo, sent after a fence that made all earlier records of its transaction durable
};
constexpr bool is_undo(record_kind kind) noexcept {
    return kind == record_kind::undo || kind == record_kind::undo_fenced;
}

/// Begins every record, at a multiple of record_alignment.
struct record_header {
    std::uint32_t checksum;       ///< of all words behind this one; kind and the segment's salt are in its seed
    record_kind kind;
    std::uint8_t reserved_bytes[3];  ///< zero
    std::uint64_t sequence;       ///< never 0; set to 0 the record is taken back
    std::uint32_t payload_words;  ///< 8-byte words behind this header, in this part
    std::uint16_t part;           ///< redo: 0 … parts-1. undo: low half of the number within the transaction
    std::uint16_t parts;          ///< redo: how many; never 0. undo: high half of that number
};
static_assert(offsetof(record_header, sequence) == 8);
static_assert(offsetof(record_header, payload_words) == 16);
static_assert(sizeof(record_header) == 24);
inline constexpr std::size_t record_header_words = sizeof(record_header) / 8;

/// An entry is a tag and its words. Run: `count` whole words at `offset`. Masked: the bytes of one
/// word that `mask` names (bit i = byte i).
inline constexpr std::uint64_t run_bit = std::uint64_t{1} << 63;
inline constexpr unsigned tag_shift = 48;
inline constexpr std::uint64_t offset_mask = (std::uint64_t{1} << tag_shift) - 1;
inline constexpr std::uint64_t longest_run_words = 0x7FFF;

constexpr std::uint64_t run_tag(std::uint64_t offset, std::uint64_t count) noexcept {
    return run_bit | count << tag_shift | offset;
}
constexpr std::uint64_t masked_tag(std::uint64_t offset, std::uint8_t mask) noexcept {
    return std::uint64_t{mask} << tag_shift | offset;
}

/// A tag taken apart.
struct entry {
    std::uint64_t offset;  ///< of the first word, from the start of the pool
    std::uint64_t words;   ///< payload words behind the tag
    std::uint8_t mask;     ///< bytes of each word
};
constexpr entry entry_of(std::uint64_t tag) noexcept {
    if ((tag & run_bit) != 0) return {tag & offset_mask, (tag & ~run_bit) >> tag_shift, 0xFF};
    return {tag & offset_mask, 1, static_cast<std::uint8_t>(tag >> tag_shift)};
}

constexpr std::uint64_t record_bytes(std::uint64_t payload_words) noexcept {
    const std::uint64_t bytes = sizeof(record_header) + payload_words * 8;
    return (bytes + record_alignment - 1) / record_alignment * record_alignment;
}

}  // namespace holdfast::format
