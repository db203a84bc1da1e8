// Makes what follows a block code without barriers. Behind two ends in a row, and where an inner block has a copy
// without barriers, g++ takes it for a part of the block: it gets barriers, calls instrumented forms of functions,
// which are wrong outside of transactions, and may not call what is unsafe.
#pragma once

#include "code.hpp"

namespace {

constexpr pass_data about_copies = {GIMPLE_PASS, "holdfast_tm_copies", OPTGROUP_NONE, TV_NONE,
                                    PROP_cfg, 0, 0, 0, TODO_cleanup_cfg};

/// The copy without barriers of a block inside code with barriers: nothing runs it, and g++ takes its end for that of
/// the outer block.
class drop_copies : public gimple_opt_pass {
public:
    explicit drop_copies(gcc::context* context) : gimple_opt_pass(about_copies, context) {}

    unsigned int execute(function* changed) override {
        const instrumented_code inside(changed);
        if (!inside.begins.empty()) free_dominance_info(CDI_DOMINATORS);
        for (gtransaction* const each : inside.begins) drop_copy(each);
        return 0;
    }

private:
    static void drop_copy(gtransaction* begin) {
        edge each;
        edge_iterator at;
        FOR_EACH_EDGE(each, at, gimple_bb(begin)->succs) {
            if ((each->flags & EDGE_TM_UNINSTRUMENTED) == 0 || (each->flags & EDGE_FALLTHRU) != 0) continue;
            gimple_transaction_set_label_uninst(begin, NULL_TREE);
            remove_edge(each);
            return;
        }
    }
};

/// Each end of a block is the last statement of a basic block, as g++ believes, and forgets when it joins them.
void split_behind_ends(function* changed) {
    std::vector<gimple*> ends;
    basic_block block;
    FOR_EACH_BB_FN(block, changed) {
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
            if (is_end(gsi_stmt(at)) && !gsi_one_before_end_p(at)) ends.push_back(gsi_stmt(at));
    }
    for (gimple* const each : ends) split_block(gimple_bb(each), each);
}

constexpr pass_data about_early_ends = {SIMPLE_IPA_PASS, "holdfast_tm_early_ends", OPTGROUP_NONE, TV_NONE,
                                        0, 0, 0, 0, 0};

/// Before the pass that has blocks call instrumented forms of functions.
class split_early_ends : public simple_ipa_opt_pass {
public:
    explicit split_early_ends(gcc::context* context) : simple_ipa_opt_pass(about_early_ends, context) {}

    unsigned int execute(function*) override {
        cgraph_node* node;
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
            function* const changed = DECL_STRUCT_FUNCTION(node->decl);
            if (changed == nullptr || changed->cfg == nullptr) continue;
            push_cfun(changed);
            split_behind_ends(changed);
            pop_cfun();
        }
        return 0;
    }
};

constexpr pass_data about_ends = {GIMPLE_PASS, "holdfast_tm_ends", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

/// Nothing may come between this pass and those that make barriers.
class split_ends : public gimple_opt_pass {
public:
    explicit split_ends(gcc::context* context) : gimple_opt_pass(about_ends, context) {}

    unsigned int execute(function* changed) override {
        split_behind_ends(changed);
        return 0;
    }
};

}  // namespace
