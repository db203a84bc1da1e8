// The harts of a machine: which one runs next, and who waits for whom. The order depends on nothing but local times.
#pragma once

#include <sim/front/hart.hpp>

#include <cstdint>
#include <deque>
#include <vector>

namespace holdfast::sim {

class harts {
public:
    /// `quantum`: by how much local time a hart may run ahead of the others before one of them has its turn.
    harts(std::uint32_t most, std::uint64_t quantum) noexcept : most_(most), quantum_(quantum) {}
    harts(const harts&) = delete;
    harts& operator=(const harts&) = delete;

    /// A hart like `creator`, at its local time, or nullptr if there are as many as the machine has. One that exited
    /// comes back to life and goes on counting.
    hart* add(const hart& creator);

    /// A model of another unit of time has another quantum.
    void set_quantum(std::uint64_t quantum) noexcept { quantum_ = quantum; }

    struct turn {
        hart* who = nullptr;  ///< nullptr: none can run
        std::uint64_t until = 0;
    };
    /// The hart that is furthest behind; of several the one with the lowest number.
    turn next();

    /// Lets a hart sleep until somebody wakes it at `address`.
    void wait(hart& who, std::uint64_t address);
    /// Wakes up to `most` of those who wait there, the longest waiting first; returns how many. They go on no earlier
    /// than the waker is now.
    std::uint64_t wake(const hart& waker, std::uint64_t address, std::uint64_t most);

    std::deque<hart>& all() noexcept { return harts_; }
    const std::deque<hart>& all() const noexcept { return harts_; }

private:
    std::uint32_t most_;
    std::uint64_t quantum_;
    std::deque<hart> harts_{};  ///< in the order of their numbers; they do not move
    std::vector<hart*> sleepers_{};
};

}  // namespace holdfast::sim
