#include <sim/front/code.hpp>

#include <sim/front/decode.hpp>

namespace holdfast::sim {

code::code(std::uint64_t base, std::span<const std::byte> bytes) : base_(base), parcels_(bytes.size() / 2) {
    const auto parcel = [&](std::uint64_t i) {
        return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[2 * i]) |
                                          std::to_integer<unsigned>(bytes[2 * i + 1]) << 8);
    };
    operations_.reserve(parcels_ + 2);
    for (std::uint64_t i = 0; i < parcels_; ++i) {
        const std::uint16_t low = parcel(i);
        if (is_compressed(low)) {
            operations_.push_back(decode_compressed(low));
        } else if (i + 1 < parcels_) {
            operations_.push_back(decode(low | static_cast<std::uint32_t>(parcel(i + 1)) << 16, base + 2 * i));
        } else {
            operations_.push_back(illegal_operation(low, 1));
        }
    }
    operations_.resize(parcels_ + 2);
}

}  // namespace holdfast::sim
