// An image of which the power fails in the middle of a recovery.
#pragma once

#include <sim/base/units.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::sim::test {

struct image_was_cut {};

/// Its writes fail behind some, by an exception.
template <class Image>
struct cut_image {
    Image& image;
    std::uint64_t writes_left;
    void read_bytes(address from, std::span<std::byte> into) const { image.read_bytes(from, into); }
    void write_bytes(address to, std::span<const std::byte> bytes) {
        if (writes_left-- == 0) throw image_was_cut{};
        image.write_bytes(to, bytes);
    }
};

}  // namespace holdfast::sim::test
