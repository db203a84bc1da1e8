// The guest's instructions, decoded once: an operation for each parcel of 16 bits, so that a distance in the code is a
// distance in the array. Code is not changed while it runs; the memory refuses stores to it.
#pragma once

#include <sim/front/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::sim {

class code {
public:
    code() = default;
    /// Decodes `bytes`, which the guest has at `base`. Requires: base is even.
    code(std::uint64_t base, std::span<const std::byte> bytes);

    /// The operation at `pc`, or nullptr if there is no code.
    const operation* at(std::uint64_t pc) const noexcept {
        const std::uint64_t parcel = (pc - base_) >> 1;
        return parcel < parcels_ ? operations_.data() + parcel : nullptr;
    }
    std::uint64_t pc_of(const operation* at) const noexcept {
        return base_ + static_cast<std::uint64_t>(at - operations_.data()) * 2;
    }
    /// The operation at a distance in bytes from another, or nullptr if there is no code.
    const operation* at_distance(const operation* from, std::int64_t distance) const noexcept {
        const auto parcel = static_cast<std::uint64_t>(from - operations_.data()) +
                            static_cast<std::uint64_t>(distance >> 1);
        return parcel < parcels_ ? operations_.data() + parcel : nullptr;
    }

    std::uint64_t base() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return parcels_ * 2; }

private:
    std::uint64_t base_ = 0;
    std::uint64_t parcels_ = 0;
    std::vector<operation> operations_{};  ///< two more than parcels: whoever runs off the end stops there
};

}  // namespace holdfast::sim
