// The guest program for STAMP's genome.
#include <sim/guest/stamp_program.hpp>
#include <workload/stamp/genome.hpp>

namespace {

using namespace holdfast::guest;

struct genome {
    static constexpr const char* name = "stamp-genome";

    /// As many segments for each letter as the small set has. Longer genes need longer segments: the same letters must
    /// not come twice.
    static holdfast::workload::genome_parameters of(std::uint64_t bytes) noexcept {
        constexpr std::uint64_t segments_per_letter = 64;
        // A letter has its segments, and is where a piece begins, which has a node in the table.
        constexpr std::uint64_t bytes_per_letter = segments_per_letter * sizeof(std::uint64_t) + 112;
        const std::uint64_t letters = within(32, bytes / bytes_per_letter, bytes);
        return {.gene_length = letters,
                .segment_length = letters <= 256 ? 16u : 32u,
                .segments = letters * segments_per_letter};
    }
};

}  // namespace

int main(int count, char** arguments) { return run_stamp_program<genome>(count, arguments); }
