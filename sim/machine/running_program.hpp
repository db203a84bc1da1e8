// A guest program on its way through the phases of a run.
#pragma once

#include <sim/front/functional_memory.hpp>
#include <sim/front/process.hpp>
#include <sim/machine/simulation.hpp>

namespace holdfast::sim {

/// Instructions by which a hart may run ahead where there is no time: changing harts costs the host as much as dozens
/// of instructions.
constexpr std::uint64_t untimed_quantum = 1000;

/// A program with its address space and what it has written.
class running_program {
public:
    /// Loads the design's program and tells it to do `operations` in all.
    static result<std::unique_ptr<running_program>> start(const machine_config& config,
                                                          const simulation_options& options, std::uint64_t operations);

    /// To the beginning of the region of interest, without caches and time.
    std::optional<problem> fill();

    /// What the program did with its log in the phase without time that came last, and the transaction registers at its
    /// end, for the machine that goes on.
    void announce(port::control_registers& registers) const;
    /// The other way round.
    void take_over(const transaction_registers& others) { transactions_ = others; }

    /// Times of the phases have units of their own.
    void restart_clocks(std::uint64_t quantum);

    /// The last phase, without caches and time; what the program says then is its result.
    result<std::string> finish();

    const address_space& space() const { return *space_; }
    sim::process& process() { return *process_; }

private:
    result<std::optional<int>> run_functionally(bool to_region_of_interest);

    std::string name_{};
    std::optional<address_space> space_{};
    program loaded_{};
    std::optional<sim::process> process_{};
    std::string said_{};
    std::vector<functional_memory::log_operation> log_operations_{};
    transaction_registers transactions_{harts_max};
};

}  // namespace holdfast::sim
