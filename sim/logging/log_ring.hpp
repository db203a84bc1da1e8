// The ring of the hardware's log in NVRAM: which place a position has, and from where on recovery reads.
//
// Positions count units of 32 bytes and never start over. A region's first line has the head, which recovery begins at,
// and a link to the region that was added behind it; the ring is the rest. The tail is volatile: recovery finds it by
// the torn bits, which change from lap to lap. Where each hart has a log, they share the first region in equal parts,
// and its first line has besides what concerns all of them.
//
// A region that is added while the log is in use (log_grow) comes between the tail and what follows it in the ring:
//
//     before   | a a H r r r T f f |        from H to T records that are needed, f and a free
//     after    | a a H r r r | n n n n n n | f f |        the lap goes on in n, then in f, a
//
// So nothing moves, and what is in the ring stays where it is for positions before T. Each place keeps a torn bit of
// its own: in n it is 1 at first, since n is all zero, in f and a the one that they would have had.
#pragma once

#include <sim/base/planted.hpp>
#include <sim/logging/log_record.hpp>
#include <sim/port/ports.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::sim {

/// What the first line of a region has.
struct log_header {
    std::uint64_t head = 0;        ///< in the first region only
    std::uint64_t grown_from = 0;  ///< the tail at which the next region was added
    address next{};                ///< that region; bytes 0: there is none
    std::uint64_t next_bytes = 0;
    std::uint64_t logs = 0;  ///< in the first line of all: how many there are; 0: one
    std::uint64_t home = 0;  ///< the same: all commits up to this number are home; 0: nobody asks
};
static_assert(sizeof(log_header) <= line_bytes);

/// Where a log is of `logs` that share a region.
constexpr port::log_region part_of_region(const port::log_region& all, std::uint64_t log, std::uint64_t logs) noexcept {
    const std::uint64_t bytes = all.bytes / logs / line_bytes * line_bytes;
    return {all.begin + log * bytes, bytes};
}

class log_ring {
public:
    using position = std::uint64_t;
    static constexpr std::uint64_t least_bytes = 3 * line_bytes;

    /// Whether a region can be a log, or a part of one.
    static bool fits(const port::log_region& region) noexcept {
        return region.begin.offset_in_line() == 0 && region.bytes >= least_bytes;
    }

    /// Requires: fits(region).
    explicit log_ring(const port::log_region& region) : head_place_(region.begin) { add_first(region); }

    /// From position `tail` on the ring has the region, too. Requires: it fits, is all zero, and no record is needed
    /// that would be more than units() before a position.
    void grow(const port::log_region& region, position tail);

    struct spot {
        address place{};
        std::uint64_t slot = 0;  ///< places by number, from 0
        std::size_t region = 0;  ///< the first is 0
        bool torn = false;       ///< the bit that a record at this position has
    };
    spot at(position where) const noexcept {
        const shape* of = &shapes_.back();
        while (where < of->from) --of;
        const position into = where - of->from;
        const bool odd_lap = into / of->units % 2 != 0;
        position rest = into % of->units;
        const part* in = of->parts.data();
        for (; rest >= in->units; ++in) rest -= in->units;
        return {in->begin + rest * log_record::unit_bytes, in->first_slot + rest, in->region, in->torn != odd_lap};
    }
    address place_of(position where) const noexcept { return at(where).place; }
    std::uint64_t slot_of(position where) const noexcept { return at(where).slot; }

    /// How many units there are.
    std::uint64_t units() const noexcept { return shapes_.back().units; }
    /// Where the head is, and where the link of the region that was added last.
    address head_place() const noexcept { return head_place_; }
    address link_place() const noexcept { return {regions_.back().begin.value - line_bytes}; }

    bool has(address where) const noexcept { return region_of(where) != nullptr; }
    /// Requires: has(where).
    std::uint64_t slot_at(address where) const noexcept {
        const part& in = *region_of(where);
        return in.first_slot + (where.value - in.begin.value) / log_record::unit_bytes;
    }

private:
    struct part {
        address begin{};
        std::uint64_t units = 0;
        std::uint64_t first_slot = 0;
        std::size_t region = 0;
        bool torn = true;  ///< in the shape's first lap
    };
    /// The ring from a position on, in the order in which it is written.
    struct shape {
        position from = 0;
        std::uint64_t units = 0;
        std::vector<part> parts{};
    };

    part part_of(const port::log_region& region) const noexcept {
        const std::uint64_t slots = shapes_.empty() ? 0 : units();
        return {region.begin + line_bytes, (region.bytes / line_bytes - 1) * 2, slots, regions_.size(), true};
    }
    void add_first(const port::log_region& region) {
        regions_.push_back(part_of(region));
        shapes_.push_back({0, regions_.back().units, {regions_.back()}});
    }
    const part* region_of(address where) const noexcept {
        for (const part& each : regions_)
            if (where.value - each.begin.value < each.units * log_record::unit_bytes) return &each;
        return nullptr;
    }

    address head_place_;
    std::vector<part> regions_{};
    std::vector<shape> shapes_{};
};

inline void log_ring::grow(const port::log_region& region, position tail) {
    const shape& old = shapes_.back();
    const position into = (tail - old.from) % old.units;
    const bool odd_lap = (tail - old.from) / old.units % 2 != 0;
    regions_.push_back(part_of(region));
    shape made{tail, old.units + regions_.back().units, {regions_.back()}};
    std::vector<part> next_lap;
    position begin = 0;
    for (const part& each : old.parts) {
        const position cut = std::clamp<position>(into, begin, begin + each.units) - begin;
        const std::uint64_t bytes = cut * log_record::unit_bytes;
        if (cut != each.units)
            made.parts.push_back(
                {each.begin + bytes, each.units - cut, each.first_slot + cut, each.region, each.torn != odd_lap});
        if (cut != 0) next_lap.push_back({each.begin, cut, each.first_slot, each.region, each.torn == odd_lap});
        begin += each.units;
    }
    made.parts.insert(made.parts.end(), next_lap.begin(), next_lap.end());
    if (is_planted(planted_fault::torn_bits_start_over))
        for (part& each : made.parts) each.torn = true;
    shapes_.push_back(std::move(made));
}

template <class Image>
log_header header_found_in(const Image& image, address place) {
    log_header header;
    image.read_bytes(place, std::as_writable_bytes(std::span(&header, 1)));
    return header;
}
/// The ring as the links in an image say.
template <class Image>
log_ring ring_found_in(const Image& image, const port::log_region& first) {
    log_ring ring(first);
    while (true) {
        const log_header header = header_found_in(image, ring.link_place());
        if (header.next_bytes == 0) return ring;
        ring.grow({header.next, header.next_bytes}, header.grown_from);
    }
}

}  // namespace holdfast::sim
