// Which statements of a function are in transactions.
#pragma once

#include "gcc.hpp"

namespace {

bool is_call_of(const gimple* statement, built_in_function what) {
    return is_gimple_call(statement) && gimple_call_builtin_p(statement, what);
}

bool is_end(const gimple* statement) {
    return is_call_of(statement, BUILT_IN_TM_COMMIT) || is_call_of(statement, BUILT_IN_TM_COMMIT_EH);
}

/// What of a function runs in a transaction, with barriers. g++'s own answer is of whole basic blocks.
class instrumented_code {
public:
    std::vector<gimple*> statements;
    std::vector<gtransaction*> begins;  ///< of inner blocks

    /// An instrumented form of a function is a transaction's, all of it.
    explicit instrumented_code(function* of) : visited_(last_basic_block_for_fn(of)) {
        waiting_.push_back({single_succ(ENTRY_BLOCK_PTR_FOR_FN(of)),
                            decl_is_tm_clone(of->decl) ? make(nullptr, true) : nullptr});
        // What an irrevocable path and another one share has barriers, so those paths come last.
        while (!waiting_.empty() || !irrevocable_.empty()) {
            auto& from = waiting_.empty() ? irrevocable_ : waiting_;
            const auto [next, in] = from.back();
            from.pop_back();
            if (visited_[next->index]) continue;
            visited_[next->index] = true;
            walk(next, in);
        }
    }

private:
    struct atomic_block {
        const atomic_block* outer;
        bool has_barriers;
        bool is_irrevocable;
    };
    using place = std::pair<basic_block, const atomic_block*>;

    const atomic_block* make(const atomic_block* outer, bool has_barriers, bool is_irrevocable = false) {
        return &blocks_.emplace_back(atomic_block{outer, has_barriers, is_irrevocable});
    }
    static bool has_barriers(const atomic_block* in) { return in != nullptr && in->has_barriers; }
    /// A relaxed block that is certain to be irrevocable from its begin on.
    static bool begins_irrevocable(const gtransaction* begin) {
        constexpr unsigned certain = GTMA_DOES_GO_IRREVOCABLE | GTMA_MAY_ENTER_IRREVOCABLE;
        return (gimple_transaction_subcode(begin) & certain) == certain;
    }

    void walk(basic_block where, const atomic_block* in) {
        gtransaction* begun = nullptr;
        for (gimple_stmt_iterator at = gsi_start_bb(where); !gsi_end_p(at); gsi_next(&at)) {
            gimple* const statement = gsi_stmt(at);
            if (has_barriers(in) && !gimple_clobber_p(statement) && !is_gimple_debug(statement))
                statements.push_back(statement);
            begun = dyn_cast<gtransaction*>(statement);
            if (begun != nullptr && has_barriers(in)) begins.push_back(begun);
            if (in == nullptr) continue;
            if (is_end(statement))
                in = in->outer;
            else if (is_call_of(statement, BUILT_IN_TM_IRREVOCABLE))
                in = make(in->outer, false, true);
        }
        edge each;
        edge_iterator at;
        FOR_EACH_EDGE(each, at, where->succs) {
            const atomic_block* then = in;
            // The only copy of an inner block that g++ keeps in code without barriers has some all the same.
            if (begun != nullptr && (each->flags & EDGE_TM_ABORT) == 0) {
                const bool is_first = (each->flags & EDGE_FALLTHRU) != 0 && !begins_irrevocable(begun);
                then = make(in, has_barriers(in) || is_first);
            }
            (then != nullptr && then->is_irrevocable ? irrevocable_ : waiting_).push_back({each->dest, then});
        }
    }

    std::vector<bool> visited_;
    std::deque<atomic_block> blocks_;
    std::vector<place> waiting_;
    std::vector<place> irrevocable_;
};

}  // namespace
