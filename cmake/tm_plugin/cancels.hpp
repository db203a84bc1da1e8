// Refuses a cancel that is in no block's own text, but in a function or lambda that a block calls. g++ 12 takes it
// there, and makes no way out of the block for it: the block begins again, for ever.
#pragma once

#include "code.hpp"

#include <attribs.h>
#include <gimple-walk.h>

namespace {

constexpr pass_data about_cancels = {GIMPLE_PASS, "holdfast_tm_cancels", OPTGROUP_NONE, TV_NONE,
                                     PROP_gimple_any, 0, 0, 0, 0};

/// Where blocks are statements that contain others: before code is put in order.
class refuse_cancels : public gimple_opt_pass {
public:
    explicit refuse_cancels(gcc::context* context) : gimple_opt_pass(about_cancels, context) {}

    unsigned int execute(function* checked) override {
        // A function that hides a cancel says that the compiler need not look into it.
        if (has_attribute(checked, "transaction_pure") || has_attribute(checked, "transaction_may_cancel_outer"))
            return 0;
        walk_stmt_info where = {};
        walk_gimple_seq(gimple_body(checked->decl), &look, nullptr, &where);
        return 0;
    }

private:
    static bool has_attribute(const function* checked, const char* name) {
        return lookup_attribute(name, TYPE_ATTRIBUTES(TREE_TYPE(checked->decl))) != NULL_TREE;
    }

    static tree look(gimple_stmt_iterator* at, bool* is_done, walk_stmt_info*) {
        gimple* const statement = gsi_stmt(*at);
        // What is inside of a block has its way out.
        *is_done = gimple_code(statement) == GIMPLE_TRANSACTION;
        if (!*is_done && is_call_of(statement, BUILT_IN_TM_ABORT))
            error_at(gimple_location(statement),
                     "holdfast: a cancel outside of an atomic block's own text; expected one in the text of the block "
                     "that it cancels, not in a function or lambda that the block calls");
        return NULL_TREE;
    }
};

}  // namespace
