// Mends structures that calls in atomic blocks take or return by value. g++ copies such an argument without
// barriers, although it may be shared, or a variable of the function that a runtime has not stored to yet. The result
// of a function that is pure, or that g++ finds to be, it stores without barriers, to shared memory too; and behind
// any other result that it stores with a barrier it passes over the next statement. So each of them has a variable of
// its own, and statements that copy from it or to it. And a variable that one statement of a block reaches with
// barriers, as vectorized stores and copies do, is reached with barriers by all of them.
#pragma once

#include "code.hpp"

namespace {

constexpr pass_data about_structures = {GIMPLE_PASS, "holdfast_tm_structures", OPTGROUP_NONE, TV_NONE,
                                        PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa};

class mend_structures : public gimple_opt_pass {
public:
    explicit mend_structures(gcc::context* context) : gimple_opt_pass(about_structures, context) {}

    unsigned int execute(function* changed) override {
        const bool is_clone = decl_is_tm_clone(changed->decl);
        const instrumented_code code(changed);
        const std::vector<gimple*>& inside = code.statements;
        // The frames of an instrumented form are the transaction's own, and stored to at once. A cancel of a block
        // inside puts them back.
        if (!is_clone || !code.begins.empty())
            for (gimple* const each : inside) give_barriers(each);
        bool is_changed = false;
        for (gimple* const each : inside) zero_bytes(each);
        for (gimple* const each : inside)
            if (is_gimple_call(each) && !gimple_call_internal_p(each) && !gimple_call_builtin_p(each)) {
                is_changed |= copy_arguments(each, is_clone);
                is_changed |= copy_result(each);
            }
        if (is_changed) mark_virtual_operands_for_renaming(changed);
        return 0;
    }

private:
    static tree base_of(tree operand) {
        while (operand != NULL_TREE && handled_component_p(operand)) operand = TREE_OPERAND(operand, 0);
        return operand;
    }
    static bool is_variable(tree base) {
        return base != NULL_TREE && (VAR_P(base) || TREE_CODE(base) == PARM_DECL) && !is_global_var(base);
    }
    /// A variable that is reached through its address, as any memory is.
    static tree variable_behind(tree base) {
        if (base == NULL_TREE || (TREE_CODE(base) != MEM_REF && TREE_CODE(base) != TARGET_MEM_REF)) return NULL_TREE;
        const tree address = TREE_OPERAND(base, 0);
        if (TREE_CODE(address) != ADDR_EXPR) return NULL_TREE;
        const tree variable = base_of(TREE_OPERAND(address, 0));
        return is_variable(variable) ? variable : NULL_TREE;
    }
    static bool is_structure(tree operand) { return !is_gimple_reg_type(TREE_TYPE(operand)); }

    /// To the variables that the statement reaches through their addresses, copies whole, or stores a result to.
    static void give_barriers(gimple* statement) {
        const bool copies = gimple_assign_single_p(statement) && is_structure(gimple_assign_lhs(statement));
        for (unsigned i = 0; i < gimple_num_ops(statement); ++i) {
            const tree base = base_of(gimple_op(statement, i));
            if (const tree variable = variable_behind(base)) mark_addressable(variable);
            if (copies && is_variable(base)) mark_addressable(base);
        }
        // What the result of a pure function, or of one called by pointer, is stored to would not be restored.
        const tree result = is_gimple_call(statement) ? gimple_call_lhs(statement) : NULL_TREE;
        if (result != NULL_TREE && is_structure(result) && is_variable(base_of(result)))
            mark_addressable(base_of(result));
    }
    /// g++ 12 crashes on an object with a destructor or a copy constructor that is set to zeros.
    static void zero_bytes(gimple* statement) {
        if (!gimple_assign_single_p(statement) || TREE_CODE(gimple_assign_rhs1(statement)) != CONSTRUCTOR) return;
        if (CONSTRUCTOR_NELTS(gimple_assign_rhs1(statement)) != 0) return;
        const tree object = gimple_assign_lhs(statement);
        const tree size = TYPE_SIZE_UNIT(TREE_TYPE(object));
        if (!TREE_ADDRESSABLE(TREE_TYPE(object)) || !tree_fits_uhwi_p(size)) return;
        const tree bytes = build_array_type_nelts(unsigned_char_type_node, tree_to_uhwi(size));
        gimple_assign_set_lhs(statement, build1(VIEW_CONVERT_EXPR, bytes, object));
        gimple_assign_set_rhs1(statement, build_constructor(bytes, nullptr));
        update_stmt(statement);
    }
    static bool has_barriers(tree argument, bool is_clone) {
        const tree base = base_of(argument);
        if (is_variable(base)) return !is_clone && TREE_ADDRESSABLE(base);
        return !(is_clone && variable_behind(base) != NULL_TREE) && TREE_CODE(base) != CONSTRUCTOR;
    }
    /// Returns whether there were some.
    static bool copy_arguments(gimple* call, bool is_clone) {
        bool copied = false;
        for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
            const tree argument = gimple_call_arg(call, i);
            if (!is_structure(argument) || is_empty_type(TREE_TYPE(argument)) || !has_barriers(argument, is_clone))
                continue;
            const tree copy = create_tmp_var(TREE_TYPE(argument), "argument");
            gimple* const made = gimple_build_assign(copy, unshare_expr(argument));
            gimple_set_location(made, gimple_location(call));
            gimple_stmt_iterator at = gsi_for_stmt(call);
            gsi_insert_before(&at, made, GSI_SAME_STMT);
            gimple_call_set_arg(call, i, copy);
            copied = true;
        }
        if (copied) update_stmt(call);
        return copied;
    }
    /// By the callee, which returns it in memory.
    static bool is_stored_with_barriers(gimple* call, tree result) {
        const tree declared = gimple_call_fndecl(call);
        return aggregate_value_p(TREE_TYPE(result), gimple_call_fntype(call)) &&
               !is_tm_pure(declared != NULL_TREE ? declared : gimple_call_fntype(call));
    }
    /// The variable through its address: with barriers, although it has none where the call stores to it.
    static tree memory_of(tree variable) {
        const tree address = build_fold_addr_expr(variable);
        return build2(MEM_REF, TREE_TYPE(variable), address, build_int_cst(TREE_TYPE(address), 0));
    }
    static bool copy_result(gimple* call) {
        const tree result = gimple_call_lhs(call);
        // An object with a destructor is made where it is to be, through its address.
        if (result == NULL_TREE || !is_structure(result) || TREE_ADDRESSABLE(TREE_TYPE(result))) return false;
        // In an instrumented form, too: behind a result in its own frame that it stores with a barrier g++ passes over
        // the next statement.
        if (is_variable(base_of(result)) && !TREE_ADDRESSABLE(base_of(result))) return false;
        const tree copy = create_tmp_var(TREE_TYPE(result), "result");
        gimple* const stored = gimple_build_assign(result, copy);
        if (is_stored_with_barriers(call, result)) {
            gimple_assign_set_rhs1(stored, memory_of(copy));
            // Not by way of another place, from where it would be copied without barriers.
            gimple_call_set_return_slot_opt(as_a<gcall*>(call), true);
        }
        gimple_set_location(stored, gimple_location(call));
        gimple_call_set_lhs(call, copy);
        update_stmt(call);
        if (stmt_ends_bb_p(call)) {
            gsi_insert_on_edge(find_fallthru_edge(gimple_bb(call)->succs), stored);
            gsi_commit_edge_inserts();
        } else {
            gimple_stmt_iterator at = gsi_for_stmt(call);
            gsi_insert_after(&at, stored, GSI_SAME_STMT);
        }
        return true;
    }
};

}  // namespace
