// The guest program for STAMP's intruder.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/intruder.hpp>

namespace {

using namespace holdfast::guest;

struct intruder {
    static constexpr const char* name = "stamp-intruder";

    /// At most so many streams that the queue of packets grows in a transaction that logs have room for.
    static holdfast::workload::intruder_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t bytes_per_stream = 256;
        return {.streams = within(16, bytes / bytes_per_stream, 4000)};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<intruder>(count, arguments); }
