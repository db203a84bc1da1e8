// Pairs of places in a grid that are to be connected, for labyrinth.
#pragma once

#include <workload/random.hpp>

#include <cstdint>

namespace holdfast::workload {

/// A grid of width * height * depth cells, of which each has a number: that of x + width * (y + height * z).
struct maze_size {
    std::uint64_t width;
    std::uint64_t height;
    std::uint64_t depth;

    constexpr std::uint64_t cells() const noexcept { return width * height * depth; }

    /// Calls f(cell) for those that touch `cell` with a side.
    template <class F>
    constexpr void each_neighbour(std::uint64_t cell, F&& f) const {
        const std::uint64_t x = cell % width, y = cell / width % height, z = cell / (width * height);
        if (x > 0) f(cell - 1);
        if (x + 1 < width) f(cell + 1);
        if (y > 0) f(cell - width);
        if (y + 1 < height) f(cell + width);
        if (z > 0) f(cell - width * height);
        if (z + 1 < depth) f(cell + width * height);
    }
};

/// The cells that a path has to connect.
struct maze_ends {
    std::uint64_t from;
    std::uint64_t to;
};

/// Stores `count` pairs of which no two share a cell. `taken` has a 0 for each cell at first, and a 1 for each end
/// afterwards. Requires: 2 * count is at most half of the cells.
constexpr void make_maze(std::uint64_t seed, const maze_size& size, maze_ends* ends, std::uint64_t count,
                         std::uint8_t* taken) noexcept {
    random numbers(seed);
    const auto draw = [&] {
        for (;;) {
            const std::uint64_t cell = numbers.below(size.cells());
            if (taken[cell] != 0) continue;
            taken[cell] = 1;
            return cell;
        }
    };
    for (std::uint64_t i = 0; i < count; ++i) {
        ends[i].from = draw();
        ends[i].to = draw();
    }
}

}  // namespace holdfast::workload
