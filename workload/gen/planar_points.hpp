// Points in a square, for yada.
#pragma once

#include <workload/plane.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

/// Points at random places: one in each cell of a grid, and of finer and finer grids. Whoever adds them to a
/// triangulation in this order finds each one near the last one, and never far more points in one place than in
/// another, which would make long and thin triangles for a while. Coordinates are multiples of `spacing`, so that
/// rounding of what lies between them is small beside their distances; two points may be equal.
class planar_points {
public:
    static constexpr std::int64_t spacing = std::int64_t{1} << 14;

    /// About as many as `count`.
    constexpr planar_points(std::uint64_t seed, std::uint64_t count) noexcept : seed_(seed) {
        // Each grid has a quarter of the next one's cells: together they are a third of the finest.
        while ((finest_ + 1) * (finest_ + 1) * 4 <= count * 3) ++finest_;
    }

    /// Calls f(point) for each.
    template <class F>
    constexpr void each(F&& f) const {
        random numbers(seed_);
        std::uint64_t halvings = 0;
        while (finest_ >> halvings != 0) ++halvings;
        while (halvings-- != 0) {
            const std::uint64_t cells = finest_ >> halvings;
            for (std::uint64_t row = 0; row < cells; ++row)
                for (std::uint64_t i = 0; i < cells; ++i) {
                    const std::uint64_t column = row % 2 == 0 ? i : cells - 1 - i;
                    f(plane_point{within(column, cells, numbers), within(row, cells, numbers)});
                }
        }
    }

private:
    /// Strictly inside the square.
    static constexpr std::int64_t within(std::uint64_t cell, std::uint64_t cells, random& numbers) noexcept {
        constexpr std::uint64_t places = static_cast<std::uint64_t>(plane_side / spacing);
        const std::uint64_t first = cell * places / cells, last = (cell + 1) * places / cells;
        return static_cast<std::int64_t>(first + 1 + numbers.below(last - first)) * spacing;
    }

    std::uint64_t seed_;
    std::uint64_t finest_ = 1;  ///< cells in a row
};

}  // namespace holdfast::workload
