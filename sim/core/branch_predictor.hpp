// Predicts where branches and jumps go: gshare for the directions, a return stack, and a table of the last targets for
// other indirect jumps. Where a direct branch or jump goes to is taken for known when it is fetched.
//
// Source: S. McFarling, Combining Branch Predictors, WRL Technical Note 36, 1993.
#pragma once

#include <sim/core/core_config.hpp>
#include <sim/front/observer.hpp>

#include <vector>

namespace holdfast::sim {

/// What of it belongs to a hart; the tables belong to the core.
struct branch_history {
    explicit branch_history(std::uint32_t return_stack) : returns(return_stack) {}

    std::uint64_t outcomes = 0;
    std::vector<std::uint64_t> returns;  ///< a ring: too deep calls lose the oldest
    std::size_t top = 0;
};

class branch_predictor {
public:
    explicit branch_predictor(std::uint32_t history_bits)
        : mask_((std::uint64_t{1} << history_bits) - 1),
          counters_(mask_ + 1, weakly_taken),
          targets_(indirect_targets) {}

    /// Whether a branch or jump was predicted right; learns from it.
    bool predicts(const retired_instruction& what, branch_history& of) noexcept {
        return what.group == operation_class::branch ? predicts_branch(what, of) : predicts_jump(what, of);
    }

private:
    static constexpr std::uint8_t weakly_taken = 2;
    static constexpr std::size_t indirect_targets = 512;
    static constexpr std::uint8_t return_address = 1;     // by the calling convention
    static constexpr std::uint8_t alternate_link = 5;

    static bool links(std::uint8_t reg) noexcept { return reg == return_address || reg == alternate_link; }

    bool predicts_branch(const retired_instruction& what, branch_history& of) noexcept {
        std::uint8_t& counter = counters_[(what.pc >> 1 ^ of.outcomes) & mask_];
        const bool right = (counter >= weakly_taken) == what.taken;
        if (what.taken && counter < 3) ++counter;
        if (!what.taken && counter > 0) --counter;
        of.outcomes = of.outcomes << 1 | (what.taken ? 1 : 0);
        return right;
    }

    bool predicts_jump(const retired_instruction& what, branch_history& of) noexcept {
        bool right = true;
        if (what.code == operation_code::jalr) {
            if (links(what.source1) && what.source1 != what.destination) {
                right = of.returns[of.top] == what.next_pc;
                of.top = (of.top == 0 ? of.returns.size() : of.top) - 1;
            } else {
                std::uint64_t& target = targets_[what.pc >> 1 & (indirect_targets - 1)];
                right = target == what.next_pc;
                target = what.next_pc;
            }
        }
        if (links(what.destination)) {
            of.top = of.top + 1 == of.returns.size() ? 0 : of.top + 1;
            of.returns[of.top] = what.pc + what.length;
        }
        return right;
    }

    std::uint64_t mask_;
    std::vector<std::uint8_t> counters_;
    std::vector<std::uint64_t> targets_;
};

}  // namespace holdfast::sim
