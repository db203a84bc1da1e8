// Reads one segment: its records, and whether what ends them is a torn tail or damage.
//
// A tear is what a crash leaves of records that no fence had covered. So what follows is damage:
//   * A place that does not verify with a whole record behind it. Redo records are fenced one by one. The
//     undo records of one transaction may share a fence, so those alone that do not say that they were sent behind
//     one, of a transaction without an end and with numbers that leave room for the bad place, may stand behind a tear.
//   * A header that does not hold though records verify under one of the two salts that it yields, more than
//     one fence's worth: it went with the first. Undo segments are emptied in place, so a header half way to
//     "emptied" is none.
//   * A header that is all zero, or for redo records any broken one, in front of a chain of at least two fences'
//     worth of what could only be records.
//   * A sealed header that names an acknowledged commit which is not there (log_replay looks for it).
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/log/geometry.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/segments.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// How a log is read.
enum class log_reading : std::uint8_t {
    strict,         ///< damage is an error
    torn_anywhere,  ///< a power cut may have torn the pool, below `power`: what verifies counts, nothing is refused
    salvage,        ///< damage is collected, and the whole records behind it count
};

/// A whole record above the truncation point.
struct found_record {
    std::uint64_t sequence;
    std::uint32_t number;  ///< redo: part. undo: number within the transaction
    std::uint16_t parts;
    format::record_kind kind;
    std::uint64_t payload_offset;  ///< from the start of the pool
    std::uint64_t payload_words;
};

/// What one segment holds.
struct segment_contents {
    used_segment used;
    std::uint64_t last_sequence = 0;  ///< of all whole records, also those that were truncated
    /// What else stands in the segment as a record's number: a torn record's, or by chance.
    std::vector<std::uint64_t> torn_sequences;
    segment_header_view header;
    std::vector<error> damage;
};

/// Reads segment `index` and adds its records above `truncated` to `records`, in the order in which they stand.
segment_contents scan_segment(std::span<const std::byte> pool, const log_geometry& geometry, std::uint32_t index,
                              std::uint64_t truncated, log_reading how, std::vector<found_record>& records);

}  // namespace holdfast
