// What the paper on steal but no force says of its Figures 6 to 10, beside what the runs say.
#pragma once

#include <bench/figures/steal_runs.hpp>

#include <functional>

namespace holdfast::bench::steal {

class statements {
public:
    /// `runs` outlives it.
    statements(const simulated_runs& runs, std::vector<std::string> workloads)
        : runs_(runs), workloads_(std::move(workloads)) {}

    std::vector<statement> of_throughput() const;
    std::vector<statement> of_instructions() const;
    std::vector<statement> of_energy() const;
    std::vector<statement> of_writes() const;
    std::vector<statement> of_kernels() const;

private:
    using values = std::vector<std::optional<double>>;
    using of_run = std::function<std::optional<double>(const simulated_run&)>;

    /// One value for each workload and kind of element; threads 0: for each number of threads, too.
    values of_all(std::string_view design, const machine_settings* machine, unsigned threads, const of_run& what) const;
    /// The same for the two machines.
    statement on_both(std::string_view design, unsigned threads, const of_run& what,
                      std::optional<double> (*summary)(const values&)) const;
    values of_software(const of_run& what) const;

    std::optional<double> times_ideal(const simulated_run& one, measure what) const;
    std::optional<double> times_fencing(const simulated_run& one, measure what) const;
    /// What a run spends on something.
    std::optional<double> percent_of_run(const simulated_run& one, const char* metric, bool of_each_hart) const;
    /// Mean over the runs of fwb. Times of all harts are added up, those of scans are not.
    double percent_of_time(unsigned threads, const machine_settings& machine, const char* metric,
                           bool of_each_hart) const;
    /// What the time of fwb goes to.
    std::string log_waits(unsigned threads) const;
    enum class extreme : bool { least, most };
    /// The same of the runs that have the least of something, or the most.
    std::string waits_at(extreme which, const of_run& what) const;
    std::string writes_of_each() const;
    std::string instructions_of_a_word() const;

    const simulated_runs& runs_;
    std::vector<std::string> workloads_;
};

}  // namespace holdfast::bench::steal
