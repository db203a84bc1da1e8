// The system calls that guests may use, by Linux's numbers and rules for RISC-V, so that the same program runs under
// Linux, too: write, exit, exit_group, set_tid_address, futex (wait and wake), gettid, clone (of threads), and mmap (of
// nothing).
#pragma once

#include <sim/front/harts.hpp>
#include <sim/front/address_space.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace holdfast::sim {

/// The guest's memory as system calls see it. Each returns false with hart::stop set, as memory policies do.
class kernel_memory {
public:
    virtual ~kernel_memory() = default;
    virtual bool read(hart& on, std::uint64_t address, std::span<std::byte> bytes) = 0;
    virtual bool load_int(hart& on, std::uint64_t address, std::uint64_t& value) = 0;
    virtual bool store_int(hart& on, std::uint64_t address, std::uint32_t value) = 0;
};

class kernel {
public:
    /// Gets what the guest writes: the file, 1 or 2, and the text.
    using output = std::function<void(int file, std::string_view text)>;

    /// Requires: both outlive it.
    kernel(harts& threads, address_space& space, output write)
        : harts_(&threads), space_(&space), write_(std::move(write)) {}

    /// Does what a hart with hart_stop::system_call asks for, and lets it go on unless it waits or has exited. A call
    /// that does not exist is a fault.
    void serve(hart& caller, kernel_memory& memory);

    /// What the guest passed to exit_group, once it has.
    std::optional<int> exit_status() const noexcept { return exit_status_; }

private:
    std::int64_t write(hart& caller, kernel_memory& memory);
    std::int64_t futex(hart& caller, kernel_memory& memory);
    std::int64_t clone(hart& caller, kernel_memory& memory);
    std::int64_t map(hart& caller);
    void exit(hart& caller, kernel_memory& memory);

    harts* harts_;
    address_space* space_;
    output write_;
    std::optional<int> exit_status_{};
    std::uint64_t next_mapping_ = 0x5'0000'0000;  ///< where mmap looks first, if the guest does not mind
};

}  // namespace holdfast::sim
