// The guest program for STAMP's vacation as a program with a beginning and an end; vacation.cpp has its tasks alone.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/vacation.hpp>

namespace {

using namespace holdfast::guest;

struct vacation {
    static constexpr const char* name = "stamp-vacation";

    /// As many tasks for each relation as the largest set has: less of a run is its beginning and end.
    static holdfast::workload::vacation_program_parameters of(std::uint64_t bytes) noexcept {
        // Three relations and a customer, each with its node of a tree.
        constexpr std::uint64_t bytes_per_id = 3 * (48 + 48) + 16 + 48;
        holdfast::workload::vacation_program_parameters made{holdfast::workload::vacation_low};
        made.tasks.relations = within(16, bytes / bytes_per_id, bytes);
        made.tasks.tasks = made.tasks.relations * 4;
        return made;
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<vacation>(count, arguments); }
