// For tests of the cores: a small machine without a program, to whose harts instructions are told one by one.
#pragma once

#include <sim/core/scoreboard.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim::test {

inline constexpr std::uint64_t volatile_data = 0x10'0000;
inline constexpr std::uint64_t persistent_data = arena_begin.value;

/// Warm enough for laws of the core: its code is in the instruction cache, and nothing is in the data caches.
class small_cores {
public:
    explicit small_cores(const core_config& config = {}, std::uint32_t harts_wanted = 1)
        : placement{harts_wanted, 1},
          core(config),
          memory(memory_config{}, attached),
          caches(hierarchy(), memory, attached),
          registers(harts_wanted, attached),
          below(core, hierarchy(), placement, space, caches, registers),
          board(core, placement, below, all, [this](time now) { memory.settle(now); }) {
        constexpr auto allowed = static_cast<permission>(readable | writable);
        EXPECT_TRUE(space.map(volatile_data, 1 << 20, allowed));
        EXPECT_TRUE(space.map(persistent_data, 1 << 20, allowed));
        for (std::uint32_t i = 0; i < harts_wanted; ++i) all.add(hart{});
        for (hart& each : all.all()) each.local_time = 1000;  // after the line of code has arrived
        caches.fetch(0, {code_line}, time{});
    }

    hart& hart_at(std::uint32_t number) { return all.all()[number]; }

    retired_instruction instruction(operation_class group, unsigned to, unsigned from1 = 0, unsigned from2 = 0) const {
        retired_instruction made{};
        made.pc = code_line;
        made.next_pc = code_line + 4;
        made.group = group;
        made.code = operation_code::add;
        made.destination = static_cast<std::uint8_t>(to);
        made.source1 = static_cast<std::uint8_t>(from1);
        made.source2 = static_cast<std::uint8_t>(from2);
        made.length = 4;
        return made;
    }
    /// Executes an instruction without memory; returns when it committed.
    cycle execute(const retired_instruction& what, std::uint32_t number = 0) {
        board.retired(hart_at(number), what);
        return board.last_commit({number});
    }
    cycle execute(operation_class group, unsigned to, unsigned from1 = 0, unsigned from2 = 0) {
        return execute(instruction(group, to, from1, from2));
    }

    /// A load, tried again as often as it is refused.
    std::uint64_t load(std::uint64_t where, std::uint32_t number = 0, unsigned to = 10, unsigned from = 0) {
        std::uint64_t value = 0;
        again(number, [&] { return below.load<8>(hart_at(number), where, value); });
        retired_instruction what = instruction(operation_class::load, to, from);
        what.code = operation_code::ld;
        what.address = where;
        what.memory_bytes = 8;
        execute(what, number);
        return value;
    }
    template <unsigned Bytes = 8>
    void store(std::uint64_t where, std::uint64_t value, std::uint32_t number = 0) {
        again(number, [&] { return below.store<Bytes>(hart_at(number), where, value); });
        retired_instruction what = instruction(operation_class::store, sink_register);
        what.code = operation_code::sd;
        what.address = where;
        what.memory_bytes = Bytes;
        execute(what, number);
    }
    std::uint64_t add_atomically(std::uint64_t where, std::uint64_t operand, std::uint32_t number = 0) {
        std::uint64_t old = 0;
        again(number, [&] { return below.update<8>(hart_at(number), where, atomic_update::add, operand, old); });
        retired_instruction what = instruction(operation_class::atomic, 10);
        what.code = operation_code::amoadd_d;
        what.address = where;
        what.memory_bytes = 8;
        execute(what, number);
        return old;
    }
    void operate(custom_operation what, std::uint64_t first = 0, std::uint64_t second = 0, std::uint32_t number = 0) {
        again(number, [&] { return below.custom(hart_at(number), what, first, second); });
        execute(instruction(operation_class::custom, sink_register), number);
    }

    std::uint64_t in_caches(std::uint64_t where) const {
        std::uint64_t value = 0;
        caches.peek({where}, std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

    template <class Try>
    void again(std::uint32_t number, Try&& attempt) {
        while (!attempt()) {
            ASSERT_EQ(hart_at(number).stop, hart_stop::refused) << hart_at(number).reason.text();
            hart_at(number).stop = hart_stop::none;
            ++refusals;
        }
    }

    static hierarchy_config hierarchy() {
        hierarchy_config config;
        config.cores = 1;
        return config;
    }

    static constexpr std::uint64_t code_line = 0x2'0000;

    hart_placement placement;
    core_config core;
    port::ports attached{};
    address_space space = *address_space::create();
    harts all{8, 25};
    memory_system memory;
    sim::hierarchy caches;
    port::control_registers registers;
    core_memory below;
    scoreboard board;
    std::uint64_t refusals = 0;
};

}  // namespace holdfast::sim::test
