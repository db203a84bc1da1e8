// The memory without time: every access happens at once, in the order in which harts are run.
#pragma once

#include <sim/base/line.hpp>
#include <sim/base/transaction_registers.hpp>
#include <sim/front/address_space.hpp>
#include <sim/front/memory_policy.hpp>

#include <cstring>
#include <vector>

namespace holdfast::sim {

/// Custom operations do nothing here, but that the harts may be told to pause behind one of them: that is how a program
/// gets to its region of interest; those of the log are remembered for the machine that the program goes on with; and
/// the transaction registers are kept, which that machine takes over.
/// Requires: the address space and the harts outlive it; a little-endian host.
class functional_memory {
public:
    explicit functional_memory(const address_space& space) noexcept : space_(&space) {}

    void pause_behind(custom_operation what) noexcept { pause_behind_ = what; }

    template <unsigned Bytes>
    bool load(hart& at, std::uint64_t address, std::uint64_t& value) {
        const std::byte* const from = space_->find<Bytes>(address, readable);
        if (from == nullptr) [[unlikely]] return refuse(at, "load", address);
        value = 0;
        std::memcpy(&value, from, Bytes);
        return true;
    }

    template <unsigned Bytes>
    bool store(hart& at, std::uint64_t address, std::uint64_t value) {
        std::byte* const to = space_->find<Bytes>(address, writable);
        if (to == nullptr) [[unlikely]] return refuse(at, "store", address);
        if (!reservations_.empty()) [[unlikely]] end_reservations(at, address, Bytes);
        std::memcpy(to, &value, Bytes);
        return true;
    }

    template <unsigned Bytes>
    bool load_reserved(hart& at, std::uint64_t address, std::uint64_t& value) {
        if (!is_aligned(at, address, Bytes) || !load<Bytes>(at, address, value)) return false;
        reserve(at, address);
        return true;
    }

    template <unsigned Bytes>
    bool store_conditional(hart& at, std::uint64_t address, std::uint64_t value, bool& done) {
        if (!is_aligned(at, address, Bytes)) return false;
        done = at.reserved_line == sim::address{address}.line().value;
        if (done && !store<Bytes>(at, address, value)) return false;
        give_up_reservation(at);
        return true;
    }

    template <unsigned Bytes>
    bool update(hart& at, std::uint64_t address, atomic_update how, std::uint64_t operand, std::uint64_t& old) {
        // Checked as a store first, so that what may only be read is left alone.
        if (!is_aligned(at, address, Bytes)) return false;
        if (space_->find<Bytes>(address, writable) == nullptr) return refuse(at, "atomic operation", address);
        return load<Bytes>(at, address, old) && store<Bytes>(at, address, updated(how, old, operand, Bytes));
    }

    bool fence(hart&, fence_order) noexcept { return true; }
    bool synchronize(hart&) noexcept { return true; }
    bool custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second) {
        if (what == pause_behind_) at.stop = hart_stop::paused;
        if (is_log_operation(what)) log_operations_.push_back({at.id, what, first, second});
        return change_transaction(at, what, first);
    }
    struct log_operation {
        hart_id by{};
        custom_operation what{};
        std::uint64_t first = 0, second = 0;
    };
    const std::vector<log_operation>& log_operations() const noexcept { return log_operations_; }
    const transaction_registers& transactions() const noexcept { return transactions_; }
    /// As the machine had them that the program comes from.
    void take_over(const transaction_registers& others) { transactions_.take_over(others); }

    bool read(hart& at, std::uint64_t address, std::span<std::byte> bytes);

private:
    bool is_aligned(hart& at, std::uint64_t address, unsigned bytes);
    void reserve(hart& at, std::uint64_t address);
    void give_up_reservation(hart& at);
    void end_reservations(const hart& storing, std::uint64_t address, unsigned bytes);
    bool change_transaction(hart& at, custom_operation what, std::uint64_t first);
    [[gnu::cold, gnu::noinline]] bool refuse(hart& at, const char* what, std::uint64_t address);

    const address_space* space_;
    std::vector<hart*> reservations_{};  ///< harts that have one
    custom_operation pause_behind_{};
    std::vector<log_operation> log_operations_{};
    transaction_registers transactions_{harts_max};
};

}  // namespace holdfast::sim
