// Refuses calls in atomic blocks whose result is an object with a destructor or a copy constructor. The callee
// makes it in place with barriers, in a frame that was there before the block began, so a runtime that holds stores
// back until commit has not stored it yet; and g++ may read it there without a barrier. In the instrumented form of a
// function all frames are the transaction's own.
#pragma once

#include "code.hpp"

namespace {

constexpr pass_data about_results = {GIMPLE_PASS, "holdfast_tm_results", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

class refuse_results : public gimple_opt_pass {
public:
    explicit refuse_results(gcc::context* context) : gimple_opt_pass(about_results, context) {}

    unsigned int execute(function* checked) override {
        if (decl_is_tm_clone(checked->decl)) return 0;
        for (const gimple* const each : instrumented_code(checked).statements)
            if (has_object_as_result(each)) refuse(each);
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

}  // namespace
