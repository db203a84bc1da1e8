// Keeps values alive that a function has when a block begins: until the block's last end, if they are used in the
// block or after it. A new attempt or a cancel comes back to the begin, which g++ 12's register allocator does not see,
// so it gave the place of a value on the stack to another one in the middle of the block.
#pragma once

#include "code.hpp"

namespace {

constexpr pass_data about_values = {GIMPLE_PASS, "holdfast_tm_values", OPTGROUP_NONE, TV_NONE,
                                     PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa};

class keep_values : public gimple_opt_pass {
public:
    explicit keep_values(gcc::context* context) : gimple_opt_pass(about_values, context) {}

    unsigned int execute(function* changed) override {
        // Without optimization each variable has a place of its own.
        if (!optimize) return 0;
        auto_vec<basic_block> begins;
        auto_vec<gimple*> ends;
        find_blocks(changed, begins, ends);
        if (begins.is_empty()) return 0;
        free_dominance_info(CDI_DOMINATORS);
        calculate_dominance_info(CDI_DOMINATORS);
        for (const basic_block begin : begins) {
            auto_vec<tree> kept;
            find_values(changed, begin, kept);
            for (gimple* const end : ends)
                if (dominated_by_p(CDI_DOMINATORS, gimple_bb(end), begin))
                    for (const tree value : kept) use_before(end, value);
        }
        mark_virtual_operands_for_renaming(changed);
        return 0;
    }

private:
    static void find_blocks(function* in, auto_vec<basic_block>& begins, auto_vec<gimple*>& ends) {
        basic_block block;
        FOR_EACH_BB_FN(block, in) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                gimple* const statement = gsi_stmt(at);
                if (is_call_of(statement, BUILT_IN_TM_START)) begins.safe_push(block);
                if (is_end(statement) || is_call_of(statement, BUILT_IN_TM_ABORT)) ends.safe_push(statement);
            }
        }
    }
    /// Values that are there at the begin and used later.
    static void find_values(function* in, basic_block begin, auto_vec<tree>& kept) {
        unsigned number;
        tree value;
        FOR_EACH_SSA_NAME(number, value, in) {
            if (!virtual_operand_p(value) && is_there_at(value, begin) && is_used_after(value, begin))
                kept.safe_push(value);
        }
    }
    static bool is_there_at(tree value, basic_block begin) {
        const gimple* const made = SSA_NAME_DEF_STMT(value);
        const basic_block in = gimple_bb(made);
        // A parameter has no block. Nor has a variable that nothing was stored to.
        if (in == nullptr)
            return SSA_NAME_IS_DEFAULT_DEF(value) && SSA_NAME_VAR(value) != NULL_TREE &&
                   TREE_CODE(SSA_NAME_VAR(value)) == PARM_DECL;
        return !is_call_of(made, BUILT_IN_TM_START) && dominated_by_p(CDI_DOMINATORS, begin, in);
    }
    static bool is_used_after(tree value, basic_block begin) {
        use_operand_p use;
        imm_use_iterator each;
        FOR_EACH_IMM_USE_FAST(use, each, value) {
            const basic_block in = gimple_bb(USE_STMT(use));
            if (!is_gimple_debug(USE_STMT(use)) && in != nullptr && in != begin &&
                dominated_by_p(CDI_DOMINATORS, in, begin))
                return true;
        }
        return false;
    }
    /// By an instruction that is none, and takes the value wherever it is.
    static void use_before(gimple* end, tree value) {
        vec<tree, va_gc>* inputs = nullptr;
        // A register of the 387's stack cannot be "anywhere".
        const tree type = TREE_CODE(TREE_TYPE(value)) == COMPLEX_TYPE ? TREE_TYPE(TREE_TYPE(value)) : TREE_TYPE(value);
        const bool is_stacked = TREE_CODE(type) == REAL_TYPE && TYPE_PRECISION(type) == 80;
        const tree anywhere =
            build_tree_list(NULL_TREE, is_stacked ? build_string(3, "rm") : build_string(2, "X"));
        vec_safe_push(inputs, build_tree_list(anywhere, value));
        gasm* const none = gimple_build_asm_vec("", inputs, nullptr, nullptr, nullptr);
        gimple_asm_set_volatile(none, true);
        gimple_stmt_iterator at = gsi_for_stmt(end);
        gsi_insert_before(&at, none, GSI_SAME_STMT);
    }
};

}  // namespace
