// The guest program for STAMP's bayes, with the small set's variables and more or fewer records.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/bayes.hpp>

namespace {

using namespace holdfast::guest;

struct bayes {
    static constexpr const char* name = "stamp-bayes";

    /// At most as many records as the largest set has.
    static holdfast::workload::bayes_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t bytes_per_record = 256;  // most of it in the tree of what is counted
        return {.records = within(64, bytes / bytes_per_record, 4096)};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<bayes>(count, arguments); }
