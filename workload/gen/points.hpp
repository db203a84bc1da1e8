// Points in clusters, for kmeans.
#pragma once

#include <workload/random.hpp>

namespace holdfast::workload {

/// Point `index` of the set that `seed` names, without those before it. Points lie around `centers` places in the unit
/// cube, about as far from them as places are from each other. The same on every machine: all sums are of integers.
class point_generator {
public:
    constexpr point_generator(std::uint64_t seed, std::uint64_t dimensions, std::uint64_t centers) noexcept
        : seed_(seed), dimensions_(dimensions), centers_(centers) {}

    /// Stores the coordinates, which are from -1 to 2, at `to`.
    constexpr void point(std::uint64_t index, float* to) const noexcept {
        random numbers(seed_ + (index + 1) * step);
        random center(seed_ ^ (1 + numbers.below(centers_)) * step);
        for (std::uint64_t i = 0; i < dimensions_; ++i) {
            // Of a sum of four, most are near the middle.
            std::int64_t away = -2 * static_cast<std::int64_t>(unit);
            for (int part = 0; part < 4; ++part) away += static_cast<std::int64_t>(numbers.below(unit));
            const std::int64_t at = 2 * static_cast<std::int64_t>(center.below(unit)) + away;
            to[i] = static_cast<float>(at) / static_cast<float>(2 * unit);
        }
    }

private:
    static constexpr std::uint64_t unit = std::uint64_t{1} << 20;
    static constexpr std::uint64_t step = 0x9E3779B97F4A7C15ull;

    std::uint64_t seed_;
    std::uint64_t dimensions_;
    std::uint64_t centers_;
};

}  // namespace holdfast::workload
