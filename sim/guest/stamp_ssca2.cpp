// The guest program for STAMP's ssca2, which is kernel 1 with adjacency arrays; ssca2.cpp has the other graph.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/ssca2.hpp>

namespace {

using namespace holdfast::guest;

struct ssca2 {
    static constexpr const char* name = "stamp-ssca2";

    static holdfast::workload::ssca2_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t edges = holdfast::workload::rmat_generator::edges_per_vertex;
        constexpr std::uint64_t bytes_per_vertex =
            edges * (sizeof(holdfast::workload::weighted_edge) + sizeof(holdfast::workload::ssca2_target)) +
            sizeof(holdfast::workload::ssca2_row) + sizeof(std::uint64_t);
        std::uint64_t scale = 3;
        while (bytes_per_vertex << (scale + 1) <= bytes) ++scale;
        return {.scale = scale};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<ssca2>(count, arguments); }
