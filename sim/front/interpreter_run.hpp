// The loop, for interpreter.hpp.
#pragma once

#include <sim/front/interpreter.hpp>

#include <limits>

namespace holdfast::sim {

template <memory_policy Memory, class Observer>
void interpreter<Memory, Observer>::run(hart& at, std::uint64_t until) {
    if (at.local_time >= until || at.stop != hart_stop::none) return;
    const operation* now = code_->at(at.pc);
    if (now == nullptr) return stop_at_bad_jump(at, at.pc);
    allowance instructions{};
    instructions.left = is_observed ? std::numeric_limits<std::uint64_t>::max() : until - at.local_time;
    instructions.granted = instructions.left;
    while (true) {
        const operation* next = nullptr;
        switch (now->code) {
#define HOLDFAST_SIM_CASE(name, group) \
    case operation_code::name: \
        next = execute<operation_code::name>(at, now, instructions); \
        tell<operation_code::name>(at, now, next); \
        break;
            HOLDFAST_SIM_FOR_EACH_OPERATION(HOLDFAST_SIM_CASE)
#undef HOLDFAST_SIM_CASE
        default: __builtin_unreachable();  // saves a comparison for each instruction
        }
        if (next == nullptr) [[unlikely]] break;
        --instructions.left;
        now = next;
        if (is_observed ? at.local_time >= until || at.stop != hart_stop::none : instructions.left == 0) {
            stopped(at, now);
            break;
        }
    }
    settle(at, instructions);
}

template <memory_policy Memory, class Observer>
template <operation_code Code>
void interpreter<Memory, Observer>::tell(hart& at, const operation* now, const operation* next) {
    if constexpr (is_observed) {
        if (Code == operation_code::ecall && at.stop == hart_stop::system_call) next = after(now);
        if (Code == operation_code::custom && at.stop == hart_stop::paused) next = after(now);
        if (next == nullptr) [[unlikely]] return;
        constexpr unsigned bytes = memory_bytes(Code);
        retired_instruction record{};
        record.pc = code_->pc_of(now);
        record.next_pc = code_->pc_of(next);
        record.address = bytes != 0 ? address_ : 0;
        record.group = class_of(Code);
        record.code = Code;
        record.destination = now->destination;
        record.source1 = now->source1;
        record.source2 = now->source2;
        record.source3 = now->source3;
        record.memory_bytes = static_cast<std::uint8_t>(bytes);
        record.length = static_cast<std::uint8_t>(2 * now->parcels);
        record.taken = class_of(Code) == operation_class::jump || (is_branch(Code) && next != after(now));
        observer_->retired(at, record);
    }
}

}  // namespace holdfast::sim
