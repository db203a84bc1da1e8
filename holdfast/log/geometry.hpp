// Where a pool's log lies and how it is divided.
#pragma once

#include <holdfast/format/log_record.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Offsets and sizes in bytes from the start of the pool. A header page, then equal segments.
struct log_geometry {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t segment_bytes = 0;
    bool sealed_segments = true;  ///< headers say more than the salt: feature_seals
    bool keeps_prefix = false;    ///< recovery stops at the first missing number: feature_prefix

    std::uint32_t segment_count() const noexcept {
        return static_cast<std::uint32_t>((bytes - format::log_header_bytes) / segment_bytes);
    }
    std::uint64_t segment_offset(std::uint32_t index) const noexcept {
        return offset + format::log_header_bytes + index * segment_bytes;
    }
    /// The segment that holds this byte of the pool. Requires: one does.
    std::uint32_t segment_at(std::uint64_t at) const noexcept {
        return static_cast<std::uint32_t>((at - offset - format::log_header_bytes) / segment_bytes);
    }
    /// Payload words that one record in an empty segment can carry.
    std::uint64_t segment_payload_words() const noexcept {
        return (segment_bytes - format::segment_header_bytes - sizeof(format::record_header)) / 8;
    }
    /// Whether the numbers can be a log within `pool_bytes`.
    bool valid(std::uint64_t pool_bytes) const noexcept {
        return segment_bytes >= format::smallest_segment_bytes && segment_bytes % 4096 == 0 && offset % 4096 == 0 &&
               bytes >= format::log_header_bytes && segment_bytes <= (bytes - format::log_header_bytes) / 2 &&
               offset <= pool_bytes &&
               bytes <= pool_bytes - offset && bytes / segment_bytes < 0xFFFFFFFFu;
    }

    /// The division of a log of about `log_bytes`: at most 64 segments, none under a page.
    static log_geometry divide(std::uint64_t offset, std::uint64_t log_bytes) noexcept {
        std::uint64_t segment = (log_bytes / 64) / 4096 * 4096;
        if (segment < format::smallest_segment_bytes) segment = format::smallest_segment_bytes;
        const std::uint64_t count = (log_bytes - format::log_header_bytes) / segment;
        return {offset, format::log_header_bytes + count * segment, segment};
    }
};

}  // namespace holdfast
