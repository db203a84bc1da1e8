// The guest program for STAMP's yada.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/yada.hpp>

namespace {

using namespace holdfast::guest;

struct yada {
    static constexpr const char* name = "stamp-yada";

    /// At most so many points that the queue of triangles grows in a transaction that logs have room for.
    static holdfast::workload::yada_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t bytes_per_point = 400;  // triangles that are made of it, and the input's
        return {.points = within(16, bytes / bytes_per_point, 4000)};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<yada>(count, arguments); }
