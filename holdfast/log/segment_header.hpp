// What a segment's first line says, written and read back with suspicion.
#pragma once

#include <holdfast/format/log_record.hpp>
#include <holdfast/log/geometry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast {

/// The header of a lap; salt 0: of a segment that was emptied.
inline format::segment_header make_segment_header(const log_geometry& geometry, std::uint32_t index,
                                                  std::uint64_t salt, std::uint64_t acknowledged,
                                                  std::uint64_t truncated) noexcept {
    if (!geometry.sealed_segments) return {salt, 0, 0, 0, {}};
    return {salt, acknowledged, truncated, salt ^ format::segment_mark(index, acknowledged, truncated), {}};
}

/// What an emptied segment begins with: its header, and zeros where its first record was. Without them a torn record of
/// the next lap could keep the older one's length, and what stands behind that be taken for another record.
using segment_begin = std::array<std::byte, format::segment_header_bytes + format::record_alignment>;
inline segment_begin emptied_begin(const format::segment_header& header) noexcept {
    segment_begin bytes{};
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

/// Whether nothing at all stands there. A torn header may lack its salt and still lead to it.
inline bool is_unused(const format::segment_header& header) noexcept {
    return (header.salt | header.acknowledged | header.truncated | header.check) == 0;
}

/// A header as it stands in mapped bytes.
struct segment_header_view {
    enum class state : std::uint8_t {
        unused,   ///< all zero: no lap ever began here since the log was formatted or recovered
        emptied,  ///< holds no records
        sealed,   ///< holds records under `salt`
        broken,   ///< torn, or damaged: records verify under `salt`, under `other_salt`, or not at all
    };
    state is = state::unused;
    std::uint64_t salt = 0;
    std::uint64_t other_salt = 0;
    std::uint64_t acknowledged = 0;  ///< of a sealed one
    std::uint64_t truncated = 0;     ///< of a sealed or emptied one
};

inline segment_header_view read_segment_header(const std::byte* pool, const log_geometry& geometry,
                                               std::uint32_t index) noexcept {
    using state = segment_header_view::state;
    std::uint64_t words[4];
    std::memcpy(words, pool + geometry.segment_offset(index), sizeof words);
    const auto [salt, acknowledged, truncated, check] = words;
    if (!geometry.sealed_segments) return {salt == 0 ? state::emptied : state::sealed, salt, salt, 0, 0};
    if ((salt | check) == 0 && (acknowledged | truncated) == 0) return {};
    const std::uint64_t other = check ^ format::segment_mark(index, acknowledged, truncated);
    const bool names_no_commit = acknowledged > format::largest_sequence || truncated > format::largest_sequence;
    if (salt != other || names_no_commit) return {state::broken, salt, other, 0, 0};
    // What an emptied one named may have gone since, like its own records.
    if (salt == 0) return {state::emptied, 0, 0, 0, truncated};
    return {state::sealed, salt, salt, acknowledged, truncated};
}

}  // namespace holdfast
