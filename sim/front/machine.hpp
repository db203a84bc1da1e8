// Runs a process on a memory, under the eyes of an observer.
#pragma once

#include <sim/front/interpreter.hpp>
#include <sim/front/process.hpp>

#include <optional>

namespace holdfast::sim {

/// What a hart that stopped at a fault, or harts that all wait, mean for the run.
problem fault_of(const hart& at);
problem deadlock_of(const harts& all);

/// Thread safety: none; several machines with processes of their own may run side by side. A process may go from one
/// machine to another whenever run has returned; the unit of hart::local_time is then for the new one to set.
template <memory_policy Memory, class Observer = no_observer>
class machine {
public:
    /// Requires: `memory` has the bytes of the process's address space; all three outlive the machine.
    machine(process& running, Memory& memory, Observer& observer)
        : process_(&running), port_(memory), interpreter_(running.loaded().instructions, memory, observer) {
        // Whoever had them before does not keep them any more.
        for (hart& each : running.harts().all()) each.reserved_line = hart::no_reservation;
    }

    /// Runs until the program exits, and returns its exit status, or until a hart pauses, and returns nothing.
    /// Requires: the process has been started.
    result<std::optional<int>> run() {
        kernel& system = process_->kernel();
        while (!system.exit_status()) {
            const harts::turn turn = process_->harts().next();
            if (turn.who == nullptr) return deadlock_of(process_->harts());
            interpreter_.run(*turn.who, turn.until);
            if (turn.who->stop == hart_stop::system_call) system.serve(*turn.who, port_);
            if (turn.who->stop == hart_stop::fault) return fault_of(*turn.who);
            if (turn.who->stop == hart_stop::paused) return std::optional<int>{};
        }
        return system.exit_status();
    }

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

    process* process_;
    port port_;
    interpreter<Memory, Observer> interpreter_;
};

}  // namespace holdfast::sim
