// The ring of the hardware's log in NVRAM: which place a position has, and from where on recovery reads.
//
// Positions count units of 32 bytes and never start over. The region's first line has the head, which recovery begins
// at; the ring is the rest. The tail is volatile: recovery finds it by the torn bits.
#pragma once

#include <sim/logging/log_record.hpp>
#include <sim/port/ports.hpp>

namespace holdfast::sim {

class log_ring {
public:
    using position = std::uint64_t;

    /// Requires: the region begins at a line and has three lines at least.
    explicit log_ring(const port::log_region& region) noexcept
        : begin_(region.begin + line_bytes), units_((region.bytes / line_bytes - 1) * 2) {}

    /// How many units there are.
    std::uint64_t units() const noexcept { return units_; }
    std::uint64_t slot_of(position at) const noexcept { return at % units_; }
    address place_of(position at) const noexcept { return begin_ + slot_of(at) * log_record::unit_bytes; }
    bool torn_bit_of(position at) const noexcept { return at / units_ % 2 == 0; }
    bool begins_line(position at) const noexcept { return slot_of(at) % 2 == 0; }

    /// Where the head is.
    address head_place() const noexcept { return {begin_.value - line_bytes}; }
    bool has(address where) const noexcept { return where.value - begin_.value < units_ * log_record::unit_bytes; }
    std::uint64_t slot_at(address where) const noexcept {
        return (where.value - begin_.value) / log_record::unit_bytes;
    }

private:
    address begin_;
    std::uint64_t units_;
};

}  // namespace holdfast::sim
