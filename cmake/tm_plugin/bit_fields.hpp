// Refuses bit-fields. There g++ 12 loads and stores the whole bytes at the address of a bit-field, unshifted:
// neighbours are lost, within the object and behind it. Its optimizers make no such address, so behind the pass that
// makes barriers each address of a bit-field is a barrier's.
#pragma once

#include "gcc.hpp"

namespace {

constexpr pass_data about_bit_fields = {GIMPLE_PASS, "holdfast_tm_bit_fields", OPTGROUP_NONE, TV_NONE,
                                        PROP_cfg, 0, 0, 0, 0};

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

class refuse_bit_fields : public gimple_opt_pass {
public:
    explicit refuse_bit_fields(gcc::context* context) : gimple_opt_pass(about_bit_fields, context) {}

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

location_t refuse_bit_fields::last_refused_ = UNKNOWN_LOCATION;

}  // namespace
