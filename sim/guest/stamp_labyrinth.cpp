// The guest program for STAMP's labyrinth.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/labyrinth.hpp>

namespace {

using namespace holdfast::guest;

struct labyrinth {
    static constexpr const char* name = "stamp-labyrinth";

    /// The small set's depth, and paths as dense, but at most as many as the largest set has, since each of them copies
    /// the whole grid.
    static holdfast::workload::labyrinth_parameters of(std::uint64_t bytes) noexcept {
        // One shared, and three of the search.
        constexpr std::uint64_t bytes_per_cell = 4 * sizeof(std::uint64_t);
        constexpr std::uint64_t depth = 3, cells_per_path = 32;
        std::uint64_t side = 8;
        while ((side + 1) * (side + 1) * depth * bytes_per_cell <= bytes) ++side;
        return {.size = {side, side, depth}, .paths = within(1, side * side * depth / cells_per_path, 512)};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<labyrinth>(count, arguments); }
