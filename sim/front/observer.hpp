// What a model of time is told of each instruction.
#pragma once

#include <sim/front/hart.hpp>

#include <cstdint>

namespace holdfast::sim {

/// An instruction that has been executed. Registers are numbered as in operation.hpp; a source that the instruction
/// does not have is 0, which is always ready, and a destination that it does not have is sink_register.
struct retired_instruction {
    std::uint64_t pc;
    std::uint64_t next_pc;  ///< of a branch or jump where it went
    std::uint64_t address;  ///< of a load, store or atomic operation
    operation_class group;
    operation_code code;
    std::uint8_t destination;
    std::uint8_t source1;
    std::uint8_t source2;
    std::uint8_t source3;
    std::uint8_t memory_bytes;  ///< 0 if it touched no memory
    std::uint8_t length;        ///< 2 or 4 bytes
    bool taken;                 ///< a branch that went elsewhere than on, or a jump
};

/// An observer that is not there: hart::local_time then counts instructions. One that is there has
///     void retired(hart&, const retired_instruction&)
/// and advances hart::local_time in it, or in the memory that the interpreter uses, or in both. It is told after the
/// registers have changed; hart::pc and hart::retired are up to date only when the hart stops. It may pause the hart.
struct no_observer {};

}  // namespace holdfast::sim
