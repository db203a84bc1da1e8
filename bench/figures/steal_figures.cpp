// Figures 6 to 11 and Table I of the paper on steal but no force, from runs of `holdfast sim`.
#include <bench/figures/steal_runs.hpp>

#include <holdfast/base/result.hpp>

#include <utility>

namespace holdfast::bench {

paper_section draw_steal_but_no_force(const std::vector<record>& records, const std::filesystem::path& directory) {
    const simulated_runs runs(records);
    paper_section made{
        "Steal but No Force: Efficient Hardware Undo+Redo Logging for Persistent Memory Systems",
        "Section VI, measured again by <code>holdfast sim</code>, a machine with the settings of the paper's Table II "
        "and a structure of 32 MiB; a record of the log has 64 bytes, as in the paper, where nothing else is said. "
        "<i>Instant</i> and <i>faithful</i> is the paper's machine: a commit waits for nothing, and only timing "
        "keeps a line after its records, so a crash may lose what was acknowledged and leave wrong data. "
        "<i>Durable</i> and <i>safe</i> promises what software that fences promises. The paper's text does not give "
        "the values of its bars: the tables compare its sentences with ours.",
        steal::draw_comparisons(runs, directory),
        "Table I: what the hardware adds",
        steal::overhead_table()};
    if (made.figures.empty()) fail(errc::invalid_argument, "these records are not of runs that repeat this paper");
    for (auto& one : steal::draw_sensitivities(runs, directory)) made.figures.push_back(std::move(one));
    return made;
}

}  // namespace holdfast::bench
