// Executes operations: one function for each family, and the loop that goes from one to the next.
#pragma once

#include <sim/front/code.hpp>
#include <sim/front/execute_floating.hpp>
#include <sim/front/execute_integer.hpp>
#include <sim/front/execute_system.hpp>
#include <sim/front/memory_policy.hpp>
#include <sim/front/observer.hpp>

#include <type_traits>

namespace holdfast::sim {

/// Bytes that an operation loads or stores; 0 if it does not.
constexpr unsigned memory_bytes(operation_code code) noexcept {
    using enum operation_code;
    switch (code) {
    case lb: case lbu: case sb: return 1;
    case lh: case lhu: case sh: return 2;
    case lw: case lwu: case flw: case sw: case fsw: case lr_w: case sc_w: return 4;
    case ld: case fld: case sd: case fsd: case lr_d: case sc_d: return 8;
    default: return !is_atomic_update(code) ? 0 : code < amoswap_d ? 4 : 8;
    }
}

/// What a fence orders, by the upper 12 bits of the instruction.
constexpr fence_order order_of_fence(std::int64_t bits) noexcept {
    constexpr std::int64_t store_before = 0x10;
    constexpr std::int64_t load_behind = 0x02;
    const bool is_tso = bits >> 8 == 8;
    const bool orders_all = !is_tso && (bits & store_before) != 0 && (bits & load_behind) != 0;
    return orders_all ? fence_order::all : fence_order::all_but_load_after_store;
}

/// What a register gets of loaded bytes, which come extended with zeros.
template <operation_code Code>
constexpr std::uint64_t extended(std::uint64_t value) noexcept {
    using enum operation_code;
    if constexpr (Code == lb) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(value)});
    else if constexpr (Code == lh) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(value)});
    else if constexpr (Code == lwu || Code == flw) return Code == flw ? boxed(value) : value;
    else return memory_bytes(Code) == 4 ? extended_word(value) : value;
}

/// One thread. Requires: code, memory and observer outlive it.
template <memory_policy Memory, class Observer = no_observer>
class interpreter {
public:
    static constexpr bool is_observed = !std::is_same_v<Observer, no_observer>;

    interpreter(const code& instructions, Memory& memory, Observer& observer) noexcept
        : code_(&instructions), memory_(&memory), observer_(&observer) {}

    /// Executes until hart::local_time reaches `until`, or the hart stops: see hart::stop.
    void run(hart& at, std::uint64_t until);

private:
    /// How many instructions may still be executed, and how many of those granted the hart has not been told of. Never
    /// passed to a function that is not inlined, so that it stays in registers of the host; the hart is in memory.
    struct allowance {
        std::uint64_t left;
        std::uint64_t granted;
    };

    static const operation* after(const operation* now) noexcept { return now + now->parcels; }

    static void settle(hart& at, allowance& instructions) noexcept {
        const std::uint64_t executed = instructions.granted - instructions.left;
        instructions.granted = instructions.left;
        at.retired += executed;
        if constexpr (!is_observed) at.local_time += executed;
    }

    const operation* stopped(hart& at, const operation* now) const noexcept {
        at.pc = code_->pc_of(now);
        return nullptr;
    }

    /// Each of these executes one operation and returns the next one, or nullptr if the hart stops.
    template <operation_code Code>
    [[gnu::always_inline]] inline const operation* execute(hart& at, const operation* now, allowance& instructions);
    template <operation_code Code>
    [[gnu::always_inline]] inline const operation* execute_jump(hart& at, const operation* now);
    template <operation_code Code>
    [[gnu::always_inline]] inline const operation* execute_memory(hart& at, const operation* now);
    template <operation_code Code>
    [[gnu::always_inline]] inline const operation* execute_atomic(hart& at, const operation* now);
    template <operation_code Code>
    [[gnu::noinline]] const operation* execute_rare(hart& at, const operation* now);

    const operation* go(hart& at, const operation* now, const operation* target, std::uint64_t address) const {
        if (target != nullptr) [[likely]] return target;
        stopped(at, now);
        stop_at_bad_jump(at, address);
        return nullptr;
    }
    /// Tells the observer, if there is one, of an operation that has been executed.
    template <operation_code Code>
    [[gnu::always_inline]] inline void tell(hart& at, const operation* now, const operation* next);

    const code* code_;
    Memory* memory_;
    Observer* observer_;
    std::uint64_t address_ = 0;  ///< that the last operation accessed; kept only for the observer
};

}  // namespace holdfast::sim

#include <sim/front/interpreter_execute.hpp>
#include <sim/front/interpreter_run.hpp>
