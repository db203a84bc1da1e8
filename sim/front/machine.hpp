// A program, its memory and its harts, run to the end.
#pragma once

#include <sim/front/elf.hpp>
#include <sim/front/interpreter.hpp>
#include <sim/front/kernel.hpp>

#include <limits>
#include <string>
#include <vector>

namespace holdfast::sim {

struct machine_options {
    std::uint32_t most_harts = 8;
    std::uint64_t quantum = 64;  ///< in units of local time; see harts
};

/// Puts the arguments where a program finds them when it starts, and returns its stack pointer.
result<std::uint64_t> make_first_stack(memory_image& memory, const std::vector<std::string>& arguments);

/// What a hart that stopped at a fault, or harts that all wait, mean for the run.
problem fault_of(const hart& at);
problem deadlock_of(const harts& all);

/// Thread safety: none; several machines may run side by side. Memory is a memory_policy over the same image.
template <memory_policy Memory, class Observer = no_observer>
class machine {
public:
    /// Requires: `loaded` has been loaded into `image`, and all of them outlive the machine.
    machine(const program& loaded, memory_image& image, Memory& memory, Observer& observer, kernel::output write,
            machine_options options = {})
        : program_(&loaded), image_(&image), port_(memory), harts_(options.most_harts, options.quantum),
          kernel_(harts_, image, port_, std::move(write)), interpreter_(loaded.instructions, memory, observer) {}

    /// Begins the program: one hart at its entry. `arguments` has the program's name first.
    result<bool> start(const std::vector<std::string>& arguments) {
        const result<std::uint64_t> stack = make_first_stack(*image_, arguments);
        if (!stack) return stack.problem();
        hart* const first = harts_.add(hart{});
        first->pc = program_->entry;
        first->registers[2] = *stack;
        return true;
    }

    /// Runs until the program exits, and returns its exit status. Requires: started.
    result<int> run() {
        while (!kernel_.exit_status()) {
            const harts::turn turn = harts_.next();
            if (turn.who == nullptr) return deadlock_of(harts_);
            interpreter_.run(*turn.who, turn.until);
            if (turn.who->stop == hart_stop::system_call) kernel_.serve(*turn.who);
            if (turn.who->stop == hart_stop::fault) return fault_of(*turn.who);
        }
        return *kernel_.exit_status();
    }

    const sim::harts& harts() const noexcept { return harts_; }

private:
    /// The memory, for system calls.
    class port final : public kernel_memory {
    public:
        explicit port(Memory& memory) noexcept : memory_(&memory) {}
        bool read(hart& on, std::uint64_t address, std::span<std::byte> bytes) override {
            return memory_->read(on, address, bytes);
        }
        bool load_int(hart& on, std::uint64_t address, std::uint64_t& value) override {
            return memory_->template load<4>(on, address, value);
        }
        bool store_int(hart& on, std::uint64_t address, std::uint32_t value) override {
            return memory_->template store<4>(on, address, value);
        }

    private:
        Memory* memory_;
    };

    const program* program_;
    memory_image* image_;
    port port_;
    sim::harts harts_;
    kernel kernel_;
    interpreter<Memory, Observer> interpreter_;
};

}  // namespace holdfast::sim
