// Instrumented clones of the functions of libstdc++ that vector, map, set and deque call and that are not templates:
// the red-black tree behind map and set, by Cormen, Leiserson, Rivest and Stein ("Introduction to Algorithms",
// chapter 13), over the standard library's node and header, and the throwing helpers.
#pragma once

#include <holdfast/itm/barriers.hpp>
#include <holdfast/itm/memory.hpp>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <utility>

#include <bits/stl_tree.h>

namespace holdfast::itm {

/// The tree through barriers. The header is a node, too: its parent is the root, which has it for a parent; its left
/// and right are the first and the last node. It is red, the root is black.
template <class Algorithm>
class tree {
    using node = std::_Rb_tree_node_base;
    using field = node* node::*;
    static constexpr field parent = &node::_M_parent, left = &node::_M_left, right = &node::_M_right;
    static constexpr auto red = std::_S_red, black = std::_S_black;

    static node* get(const node* of, field which) { return itm::load<Algorithm, hint::none>(&(of->*which)); }
    static void set(node* of, field which, node* to) { itm::store<Algorithm, hint::none>(&(of->*which), to); }
    static std::_Rb_tree_color color(const node* of) { return itm::load<Algorithm, hint::none>(&of->_M_color); }
    static void paint(node* of, std::_Rb_tree_color to) { itm::store<Algorithm, hint::none>(&of->_M_color, to); }
    static bool is_red(const node* of) { return of != nullptr && color(of) == red; }

    /// Puts `now` where `before` hangs under its parent.
    static void replace(node* before, node* now, node* header) {
        node* const above = get(before, parent);
        if (above == header) {
            set(header, parent, now);
        } else {
            set(above, get(above, left) == before ? left : right, now);
        }
        if (now != nullptr) set(now, parent, above);
    }

    /// Moves the child on `side` up, `top` down to the other side.
    static void rotate(node* top, field side, node* header) {
        const field other = side == left ? right : left;
        node* const child = get(top, side);
        node* const between = get(child, other);
        replace(top, child, header);
        set(top, side, between);
        if (between != nullptr) set(between, parent, top);
        set(child, other, top);
        set(top, parent, child);
    }

    /// The end of the tree under `from` on `side`.
    static node* outermost(node* from, field side) {
        for (node* next = from; next != nullptr; next = get(next, side)) from = next;
        return from;
    }

public:
    static void insert(bool goes_left, node* fresh, node* below, node& header) {
        set(fresh, left, nullptr);
        set(fresh, right, nullptr);
        set(fresh, parent, below);
        paint(fresh, red);
        if (below == &header) {
            set(&header, parent, fresh);
            set(&header, left, fresh);
            set(&header, right, fresh);
        } else {
            const field side = goes_left ? left : right;
            set(below, side, fresh);
            if (get(&header, side) == below) set(&header, side, fresh);
        }
        for (node* at = fresh; get(&header, parent) != at && color(get(at, parent)) == red;) at = mend_red(at, &header);
        paint(get(&header, parent), black);
    }

    /// Takes `gone` out and returns it.
    static node* erase(node* gone, node& header) {
        for (const field side : {left, right})
            if (get(&header, side) == gone) set(&header, side, side == left ? next(gone) : previous(gone));
        node* hole;        // what stands where a black node is missing, perhaps nothing
        node* hole_above;  // its parent
        auto lost = color(gone);
        if (get(gone, left) == nullptr || get(gone, right) == nullptr) {
            hole = get(gone, get(gone, left) == nullptr ? right : left);
            hole_above = get(gone, parent);
            replace(gone, hole, &header);
        } else {
            node* const heir = outermost(get(gone, right), left);
            lost = color(heir);
            hole = get(heir, right);
            hole_above = heir;
            if (get(heir, parent) != gone) {
                hole_above = get(heir, parent);
                replace(heir, hole, &header);
                set(heir, right, get(gone, right));
                set(get(heir, right), parent, heir);
            }
            replace(gone, heir, &header);
            set(heir, left, get(gone, left));
            set(get(heir, left), parent, heir);
            paint(heir, color(gone));
        }
        if (lost == black) mend_black(hole, hole_above, &header);
        if (get(&header, parent) == nullptr) {
            set(&header, left, &header);
            set(&header, right, &header);
        }
        return gone;
    }

    static node* next(node* from) { return step(from, right, left); }

    static node* previous(node* from) {
        // The header comes after the last node. Only it is red and its parent's parent.
        if (color(from) == red && get(from, parent) != nullptr && get(get(from, parent), parent) == from)
            return get(from, right);
        return step(from, left, right);
    }

private:
    /// The neighbour on `side`, which is the header beyond the end.
    static node* step(node* from, field side, field back) {
        if (node* const child = get(from, side)) return outermost(child, back);
        node* above = get(from, parent);
        while (get(above, side) == from) {
            from = above;
            above = get(above, parent);
        }
        // Past the root: `from` is the header then, and one of its ends is the root, which was taken for its parent.
        return get(from, side) == above ? from : above;
    }

    /// One step of the repair after an insertion; returns where to look next. Requires: the parent is red.
    static node* mend_red(node* at, node* header) {
        node* above = get(at, parent);
        node* const top = get(above, parent);
        const field side = get(top, left) == above ? left : right;
        const field other = side == left ? right : left;
        node* const uncle = get(top, other);
        if (is_red(uncle)) {
            paint(above, black);
            paint(uncle, black);
            paint(top, red);
            return top;
        }
        if (get(above, other) == at) {
            rotate(above, other, header);
            std::swap(at, above);
        }
        paint(above, black);
        paint(top, red);
        rotate(top, side, header);
        return at;
    }

    /// Repairs a tree whose paths through `at`, which may be nullptr, have one black node too few.
    static void mend_black(node* at, node* above, node* header) {
        while (above != header && !is_red(at)) {
            const field side = get(above, left) == at ? left : right;
            const field other = side == left ? right : left;
            node* sibling = get(above, other);
            if (is_red(sibling)) {
                paint(sibling, black);
                paint(above, red);
                rotate(above, other, header);
                sibling = get(above, other);
            }
            if (!is_red(get(sibling, left)) && !is_red(get(sibling, right))) {
                paint(sibling, red);
                at = above;
                above = get(at, parent);
                continue;
            }
            if (!is_red(get(sibling, other))) {
                paint(get(sibling, side), black);
                paint(sibling, red);
                rotate(sibling, side, header);
                sibling = get(above, other);
            }
            paint(sibling, color(above));
            paint(above, black);
            paint(get(sibling, other), black);
            rotate(above, other, header);
            return;
        }
        if (at != nullptr) paint(at, black);
    }
};

}  // namespace holdfast::itm

// The names are those of <holdfast/itm/std.hpp>'s declarations with the mark of a clone.
#define HOLDFAST_ITM_STD_CLONES(A)                                                                                  \
    void _ZGTtSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(                                      \
        bool goes_left, std::_Rb_tree_node_base* fresh, std::_Rb_tree_node_base* below,                             \
        std::_Rb_tree_node_base& header) {                                                                          \
        holdfast::itm::tree<A>::insert(goes_left, fresh, below, header);                                            \
    }                                                                                                               \
    std::_Rb_tree_node_base* _ZGTtSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(                       \
        std::_Rb_tree_node_base* gone, std::_Rb_tree_node_base& header) {                                           \
        return holdfast::itm::tree<A>::erase(gone, header);                                                         \
    }                                                                                                               \
    std::_Rb_tree_node_base* _ZGTtSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(std::_Rb_tree_node_base* from) {    \
        return holdfast::itm::tree<A>::next(from);                                                                  \
    }                                                                                                               \
    const std::_Rb_tree_node_base* _ZGTtSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(                             \
        const std::_Rb_tree_node_base* from) {                                                                      \
        return holdfast::itm::tree<A>::next(const_cast<std::_Rb_tree_node_base*>(from));                            \
    }                                                                                                               \
    std::_Rb_tree_node_base* _ZGTtSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(std::_Rb_tree_node_base* from) {    \
        return holdfast::itm::tree<A>::previous(from);                                                              \
    }                                                                                                               \
    const std::_Rb_tree_node_base* _ZGTtSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(                             \
        const std::_Rb_tree_node_base* from) {                                                                      \
        return holdfast::itm::tree<A>::previous(const_cast<std::_Rb_tree_node_base*>(from));                        \
    }                                                                                                               \
    [[noreturn]] void _ZGTtSt20__throw_length_errorPKc(const char* what) {                                          \
        holdfast::itm::memory<A>::throw_new<std::length_error>(what);                                               \
    }                                                                                                               \
    [[noreturn]] void _ZGTtSt20__throw_out_of_rangePKc(const char* what) {                                          \
        holdfast::itm::memory<A>::throw_new<std::out_of_range>(what);                                               \
    }                                                                                                               \
    [[noreturn]] void _ZGTtSt19__throw_logic_errorPKc(const char* what) {                                           \
        holdfast::itm::memory<A>::throw_new<std::logic_error>(what);                                                \
    }                                                                                                               \
    [[noreturn]] void _ZGTtSt17__throw_bad_allocv() { holdfast::itm::memory<A>::throw_new<std::bad_alloc>(); }      \
    [[noreturn]] void _ZGTtSt28__throw_bad_array_new_lengthv() {                                                    \
        holdfast::itm::memory<A>::throw_new<std::bad_array_new_length>();                                           \
    }
