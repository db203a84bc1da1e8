// A program that runs: all of its state but that of memory and of time, so that one model of these can take over from
// another.
#pragma once

#include <sim/front/elf.hpp>
#include <sim/front/kernel.hpp>

#include <string>
#include <vector>

namespace holdfast::sim {

struct process_options {
    std::uint32_t most_harts = 8;
    std::uint64_t quantum = 64;  ///< in units of local time; see harts
};

class process {
public:
    /// Requires: `loaded` has been loaded into `space`, and both outlive the process.
    process(const program& loaded, address_space& space, kernel::output write, process_options options = {})
        : program_(&loaded), space_(&space), harts_(options.most_harts, options.quantum),
          kernel_(harts_, space, std::move(write)) {}

    /// Begins the program: one hart at its entry. `arguments` has the program's name first. Requires: once.
    result<bool> start(const std::vector<std::string>& arguments);

    const program& loaded() const noexcept { return *program_; }
    sim::harts& harts() noexcept { return harts_; }
    const sim::harts& harts() const noexcept { return harts_; }
    sim::kernel& kernel() noexcept { return kernel_; }

private:
    const program* program_;
    address_space* space_;
    sim::harts harts_;
    sim::kernel kernel_;
};

}  // namespace holdfast::sim
