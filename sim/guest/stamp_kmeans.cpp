// The guest program for STAMP's kmeans, with the usual number of centers and more or fewer points.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/kmeans.hpp>

namespace {

using namespace holdfast::guest;

struct kmeans {
    static constexpr const char* name = "stamp-kmeans";

    /// At most as many points as the set kmeans-low+ has: the check does everything again, in double precision.
    static holdfast::workload::kmeans_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t dimensions = 16;
        constexpr std::uint64_t bytes_per_point = dimensions * sizeof(float) + sizeof(std::uint64_t);
        return {.clusters = 40, .points = within(128, bytes / bytes_per_point, 16'384), .dimensions = dimensions};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<kmeans>(count, arguments); }
