// A plugin of g++ that refuses or mends what g++ 12 makes wrong in atomic blocks.
//
// It refuses bit-fields. There g++ 12 loads and stores the whole bytes at the
// address of a bit-field, unshifted: neighbours are lost, within the object and behind it. Its optimizers make no such
// address, so behind the pass that makes barriers each address of a bit-field is a barrier's.
//
// It refuses calls in atomic blocks whose result is an object with a destructor or a copy constructor. The callee
// makes it in place with barriers, in a frame that was there before the block began, so a runtime that holds stores
// back until commit has not stored it yet; and g++ may read it there without a barrier. In the instrumented form of a
// function all frames are the transaction's own.
//
// It mends structures that calls in atomic blocks take or return by value. g++ copies such an argument without
// barriers, although it may be shared, or a variable of the function that a runtime has not stored to yet. The result
// of a function that is pure, or that g++ finds to be, it stores without barriers, to shared memory too; and behind
// any other result that it stores with a barrier it passes over the next statement. So each of them has a variable of
// its own, and statements that copy from it or to it. And a variable that one statement of a block reaches with
// barriers, as vectorized stores and copies do, is reached with barriers by all of them.
//
// It keeps values alive that a function has when a block begins: until the block's last end, if they are used in the
// block or after it. A new attempt or a cancel comes back to the begin, which g++ 12's register allocator does not see,
// so it gave the place of a value on the stack to another one in the middle of the block.
//
// It also gives each static variable of a dnv pool a section of its own, with the variable's name, so that a linker
// script can put it at its old place (holdfast/dnv/holdfast_dnv.ld).
//
// Compiled by holdfast_target_tm, with the compiler that will load it: the interface differs between versions.
#include <gcc-plugin.h>
#include <plugin-version.h>

#include <context.h>
#include <tree.h>
#include <basic-block.h>
#include <gimple.h>
#include <gimple-iterator.h>
#include <gimple-expr.h>
#include <gimplify.h>
#include <gimple-ssa.h>
#include <tree-phinodes.h>
#include <ssa-iterators.h>
#include <tree-pass.h>
#include <dominance.h>
#include <tree-cfg.h>
#include <tree-into-ssa.h>
#include <cgraph.h>
#include <diagnostic-core.h>
#include <trans-mem.h>
#include <stringpool.h>
#include <value-range.h>
#include <tree-ssanames.h>
#include <tree-ssa.h>

#include <string>

int plugin_is_GPL_compatible;

namespace {

constexpr pass_data about_check = {GIMPLE_PASS, "holdfast_tm_check", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

bool is_whole_bytes(tree bits) { return tree_fits_uhwi_p(bits) && tree_to_uhwi(bits) % BITS_PER_UNIT == 0; }

/// What `address` is the address of, if it is some bits of an object: a member or an expression. NULL_TREE: it is not.
tree bits_at(tree address) {
    if (address == NULL_TREE || TREE_CODE(address) != ADDR_EXPR) return NULL_TREE;
    const tree object = TREE_OPERAND(address, 0);
    if (TREE_CODE(object) == COMPONENT_REF) {
        const tree member = TREE_OPERAND(object, 1);
        return DECL_BIT_FIELD(member) ? member : NULL_TREE;
    }
    // Comparisons of bit-fields become comparisons of the bytes that they are in, which are loaded as they should be.
    if (TREE_CODE(object) != BIT_FIELD_REF) return NULL_TREE;
    const bool good = is_whole_bytes(TREE_OPERAND(object, 1)) && is_whole_bytes(TREE_OPERAND(object, 2));
    return good ? NULL_TREE : object;
}

class check : public gimple_opt_pass {
public:
    explicit check(gcc::context* context) : gimple_opt_pass(about_check, context) {}

    unsigned int execute(function* checked) override {
        basic_block block;
        FOR_EACH_BB_FN(block, checked) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                const gimple* const statement = gsi_stmt(at);
                for (unsigned i = 0; i < gimple_num_ops(statement); ++i)
                    if (const tree bits = bits_at(gimple_op(statement, i))) refuse(bits, place_of(at, checked));
            }
        }
        return 0;
    }

private:
    /// An address that the compiler computes has no place in the source; the barrier that it is for has.
    static location_t place_of(gimple_stmt_iterator at, const function* checked) {
        for (; !gsi_end_p(at); gsi_next(&at))
            if (gimple_has_location(gsi_stmt(at))) return gimple_location(gsi_stmt(at));
        return DECL_SOURCE_LOCATION(checked->decl);
    }

    static void refuse(tree bits, location_t place) {
        if (place == last_refused_) return;
        last_refused_ = place;
        error_at(place,
                 "holdfast: %qE is a bit-field, which this compiler loads and stores wrongly in an atomic block; "
                 "expected a whole member, or a copy of the object that a function changes which is transaction_pure "
                 "and noinline",
                 bits);
    }

    static location_t last_refused_;
};

location_t check::last_refused_ = UNKNOWN_LOCATION;

constexpr pass_data about_results = {GIMPLE_PASS, "holdfast_tm_results", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

/// Before the passes that make barriers: those compute the blocks anew.
class check_results : public gimple_opt_pass {
public:
    explicit check_results(gcc::context* context) : gimple_opt_pass(about_results, context) {}

    unsigned int execute(function* checked) override {
        if (decl_is_tm_clone(checked->decl)) return 0;
        compute_transaction_bits();
        basic_block block;
        FOR_EACH_BB_FN(block, checked) {
            if (!bb_in_transaction(block)) continue;
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
                if (has_object_as_result(gsi_stmt(at))) refuse(gsi_stmt(at));
        }
        return 0;
    }

private:
    static bool has_object_as_result(const gimple* statement) {
        if (!is_gimple_call(statement) || gimple_call_internal_p(statement)) return false;
        const tree result = gimple_call_lhs(statement);
        const tree declared = gimple_call_fndecl(statement);
        // What is pure stores without barriers.
        if (is_tm_pure(declared != NULL_TREE ? declared : gimple_call_fntype(statement))) return false;
        return result != NULL_TREE && TREE_ADDRESSABLE(TREE_TYPE(result));
    }
    static void refuse(const gimple* call) {
        error_at(gimple_location(call),
                 "holdfast: the result of this call is an object with a destructor or a copy constructor, which this "
                 "compiler reads in an atomic block before it is there; expected a result that the function stores "
                 "through a reference, or the call in a noinline function that the block calls");
    }
};

constexpr pass_data about_structures = {GIMPLE_PASS, "holdfast_tm_structures", OPTGROUP_NONE, TV_NONE,
                                        PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa};

/// Before the passes that make barriers, too.
class mend_structures : public gimple_opt_pass {
public:
    explicit mend_structures(gcc::context* context) : gimple_opt_pass(about_structures, context) {}

    unsigned int execute(function* changed) override {
        const bool is_clone = decl_is_tm_clone(changed->decl);
        if (!is_clone) compute_transaction_bits();
        auto_vec<gimple*> inside;
        find_statements(changed, is_clone, inside);
        // The frames of an instrumented form are the transaction's own, and stored to at once.
        if (!is_clone)
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
    static void find_statements(function* in, bool is_clone, auto_vec<gimple*>& found) {
        basic_block block;
        FOR_EACH_BB_FN(block, in) {
            if (!is_clone && !bb_in_transaction(block)) continue;
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
                if (!gimple_clobber_p(gsi_stmt(at)) && !is_gimple_debug(gsi_stmt(at))) found.safe_push(gsi_stmt(at));
        }
    }
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

constexpr pass_data about_values = {GIMPLE_PASS, "holdfast_tm_values", OPTGROUP_NONE, TV_NONE,
                                     PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa};

/// After the passes that make barriers, begins and ends.
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
    static bool is_call_of(const gimple* statement, built_in_function what) {
        return is_gimple_call(statement) && gimple_call_builtin_p(statement, what);
    }
    static void find_blocks(function* in, auto_vec<basic_block>& begins, auto_vec<gimple*>& ends) {
        basic_block block;
        FOR_EACH_BB_FN(block, in) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                gimple* const statement = gsi_stmt(at);
                if (is_call_of(statement, BUILT_IN_TM_START)) begins.safe_push(block);
                if (is_call_of(statement, BUILT_IN_TM_COMMIT) || is_call_of(statement, BUILT_IN_TM_COMMIT_EH) ||
                    is_call_of(statement, BUILT_IN_TM_ABORT))
                    ends.safe_push(statement);
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

/// Behind the frontend, which has decided what there is.
void name_sections(void*, void*) {
    static const char shared[] = "holdfast_dnv_statics";
    varpool_node* node;
    FOR_EACH_VARIABLE(node) {
        const char* const section = node->get_section();
        if (section == nullptr || std::string(section) != shared) continue;
        const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(node->decl));
        if (*name == '*') ++name;
        node->set_section((std::string(shared) + "." + name).c_str());
    }
}

}  // namespace

int plugin_init(plugin_name_args* name, plugin_gcc_version* compiler) {
    if (!plugin_default_version_check(compiler, &gcc_version)) return 1;
    register_pass_info before = {new check_results(g), "*tminit", 1, PASS_POS_INSERT_BEFORE};
    register_callback(name->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &before);
    register_pass_info arguments = {new mend_structures(g), "*tminit", 1, PASS_POS_INSERT_BEFORE};
    register_callback(name->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &arguments);
    register_pass_info behind = {new check(g), "tmmark", 1, PASS_POS_INSERT_AFTER};
    register_callback(name->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &behind);
    register_pass_info last = {new keep_values(g), "tmedge", 1, PASS_POS_INSERT_AFTER};
    register_callback(name->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &last);
    register_callback(name->base_name, PLUGIN_ALL_IPA_PASSES_START, &name_sections, nullptr);
    return 0;
}
