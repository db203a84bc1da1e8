// The persistent truncation point: two slots, written in turn.
#pragma once

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/log_record.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace holdfast {

inline format::truncation_slot make_truncation_slot(std::uint64_t sequence) noexcept {
    format::truncation_slot slot{sequence, 0, 0};
    slot.checksum = ~crc32c(&slot, offsetof(format::truncation_slot, checksum), ~0u);
    return slot;
}

inline bool truncation_slot_valid(const format::truncation_slot& slot) noexcept {
    return slot.sequence <= format::largest_sequence &&
           slot.checksum == ~crc32c(&slot, offsetof(format::truncation_slot, checksum), ~0u);
}

/// Which slot to write for `sequence`: the one that does not hold the current point, so that a
/// torn write leaves the other.
struct truncation_point {
    std::uint64_t sequence = 0;
    unsigned slot = 0;  ///< the slot that holds it
};

/// Reads both slots at the log's header. No value when neither is valid.
inline std::optional<truncation_point> read_truncation_point(const std::byte* log_header) noexcept {
    std::optional<truncation_point> newest;
    for (unsigned index = 0; index < 2; ++index) {
        format::truncation_slot slot;
        std::memcpy(&slot, log_header + format::truncation_slot_offset[index], sizeof slot);
        if (!truncation_slot_valid(slot)) continue;
        if (!newest || slot.sequence > newest->sequence) newest = truncation_point{slot.sequence, index};
    }
    return newest;
}

}  // namespace holdfast
