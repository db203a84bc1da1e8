// The families of operations, for interpreter.hpp.
#pragma once

#include <sim/front/interpreter.hpp>

namespace holdfast::sim {

template <memory_policy Memory, class Observer>
template <operation_code Code>
const operation* interpreter<Memory, Observer>::execute(hart& at, const operation* now, allowance& instructions) {
    auto& registers = at.registers;
    if constexpr (is_register_arithmetic(Code)) {
        registers[now->destination] = compute<Code>(registers[now->source1], registers[now->source2]);
        return after(now);
    } else if constexpr (is_immediate_arithmetic(Code)) {
        registers[now->destination] =
            compute<Code>(registers[now->source1], static_cast<std::uint64_t>(now->immediate));
        return after(now);
    } else if constexpr (is_branch(Code) || Code == operation_code::jal || Code == operation_code::jalr) {
        return execute_jump<Code>(at, now);
    } else if constexpr (is_load(Code) || is_store(Code)) {
        return execute_memory<Code>(at, now);
    } else if constexpr (is_load_reserved(Code) || is_store_conditional(Code) || is_atomic_update(Code)) {
        return execute_atomic<Code>(at, now);
    } else if constexpr (is_floating(Code)) {
        if (execute_floating(at, *now)) [[likely]] return after(now);
        stopped(at, now);
        stop_at_bad_instruction(at, *now);
        return nullptr;
    } else {
        settle(at, instructions);
        const operation* const next = execute_rare<Code>(at, now);
        // It retired, and yet the hart stops behind it.
        if (at.stop == hart_stop::system_call || at.stop == hart_stop::paused) --instructions.left;
        return next;
    }
}

template <memory_policy Memory, class Observer>
template <operation_code Code>
const operation* interpreter<Memory, Observer>::execute_jump(hart& at, const operation* now) {
    auto& registers = at.registers;
    if constexpr (is_branch(Code)) {
        if (!is_taken<Code>(registers[now->source1], registers[now->source2])) return after(now);
    }
    if constexpr (Code == operation_code::jalr) {
        const std::uint64_t target =
            (registers[now->source1] + static_cast<std::uint64_t>(now->immediate)) & ~std::uint64_t{1};
        const operation* const next = go(at, now, code_->at(target), target);
        if (next != nullptr) [[likely]] registers[now->destination] = code_->pc_of(after(now));
        return next;
    } else {
        if constexpr (Code == operation_code::jal) registers[now->destination] = code_->pc_of(after(now));
        const operation* const target = code_->at_distance(now, now->immediate);
        if (target != nullptr) [[likely]] return target;
        return go(at, now, nullptr, code_->pc_of(now) + static_cast<std::uint64_t>(now->immediate));
    }
}

template <memory_policy Memory, class Observer>
template <operation_code Code>
const operation* interpreter<Memory, Observer>::execute_memory(hart& at, const operation* now) {
    constexpr unsigned bytes = memory_bytes(Code);
    auto& registers = at.registers;
    const std::uint64_t address = registers[now->source1] + static_cast<std::uint64_t>(now->immediate);
    if constexpr (is_observed) address_ = address;
    if constexpr (is_load(Code)) {
        std::uint64_t value = 0;
        if (!memory_->template load<bytes>(at, address, value)) [[unlikely]] return stopped(at, now);
        registers[now->destination] = extended<Code>(value);
    } else {
        if (!memory_->template store<bytes>(at, address, registers[now->source2])) [[unlikely]] {
            return stopped(at, now);
        }
    }
    return after(now);
}

template <memory_policy Memory, class Observer>
template <operation_code Code>
const operation* interpreter<Memory, Observer>::execute_atomic(hart& at, const operation* now) {
    constexpr unsigned bytes = memory_bytes(Code);
    auto& registers = at.registers;
    const std::uint64_t address = registers[now->source1];
    const std::uint64_t operand = registers[now->source2];
    if constexpr (is_observed) address_ = address;
    if constexpr (is_store_conditional(Code)) {
        bool done = false;
        if (!memory_->template store_conditional<bytes>(at, address, operand, done)) return stopped(at, now);
        registers[now->destination] = done ? 0 : 1;
    } else if constexpr (is_load_reserved(Code)) {
        std::uint64_t old = 0;
        if (!memory_->template load_reserved<bytes>(at, address, old)) return stopped(at, now);
        registers[now->destination] = extended<Code>(old);
    } else {
        constexpr auto first = bytes == 4 ? operation_code::amoswap_w : operation_code::amoswap_d;
        constexpr auto how = static_cast<atomic_update>(static_cast<unsigned>(Code) - static_cast<unsigned>(first));
        std::uint64_t old = 0;
        if (!memory_->template update<bytes>(at, address, how, operand, old)) return stopped(at, now);
        registers[now->destination] = extended<Code>(old);
    }
    return after(now);
}

template <memory_policy Memory, class Observer>
template <operation_code Code>
const operation* interpreter<Memory, Observer>::execute_rare(hart& at, const operation* now) {
    at.pc = code_->pc_of(now);
    if constexpr (Code == operation_code::fence) {
        return memory_->fence(at, order_of_fence(now->immediate)) ? after(now) : nullptr;
    } else if constexpr (Code == operation_code::fence_i) {
        return after(now);  // code does not change
    } else if constexpr (Code == operation_code::custom) {
        const auto what = static_cast<custom_operation>(now->immediate);
        note_spinning(at, what);
        if (!memory_->custom(at, what, at.registers[now->source1], at.registers[now->source2])) return nullptr;
        if (at.stop != hart_stop::paused) return after(now);
        at.pc = code_->pc_of(after(now));
        return nullptr;
    } else if constexpr (Code == operation_code::ecall) {
        if (memory_->synchronize(at)) {
            at.stop = hart_stop::system_call;
            at.pc = code_->pc_of(after(now));
        }
        return nullptr;
    } else {
        if constexpr (is_csr(Code)) {
            if (execute_csr(at, *now)) return after(now);
        }
        stop_at_bad_instruction(at, *now);
        return nullptr;
    }
}

}  // namespace holdfast::sim
