// Standard containers in atomic blocks: std::vector, map, multimap, set, multiset, deque, queue, stack, forward_list,
// priority_queue and unique_ptr compile and work unchanged, on libstdc++ 12. Include this before any header of the
// standard library. docs/guide/atomic-blocks.md says which others do not, and what to take instead.
//
// What these containers call and is no template is declared safe here, before libstdc++ declares it; the runtime has
// the instrumented clones (std_clones.hpp).
#pragma once

#if defined(_FUNCTEXCEPT_H) || defined(_STL_TREE_H)
#error "holdfast: include <holdfast/itm/std.hpp> before every header of the standard library: it declares its functions"
#endif

#include <bits/c++config.h>
#if !defined(__GLIBCXX__) || _GLIBCXX_RELEASE != 12
#warning "holdfast: <holdfast/itm/std.hpp> was tested with libstdc++ 12"
#endif

namespace std _GLIBCXX_VISIBILITY(default) {

struct _Rb_tree_node_base;

#define HOLDFAST_ITM_SAFE __attribute__((transaction_safe))
HOLDFAST_ITM_SAFE _Rb_tree_node_base* _Rb_tree_increment(_Rb_tree_node_base*) noexcept;
HOLDFAST_ITM_SAFE const _Rb_tree_node_base* _Rb_tree_increment(const _Rb_tree_node_base*) noexcept;
HOLDFAST_ITM_SAFE _Rb_tree_node_base* _Rb_tree_decrement(_Rb_tree_node_base*) noexcept;
HOLDFAST_ITM_SAFE const _Rb_tree_node_base* _Rb_tree_decrement(const _Rb_tree_node_base*) noexcept;
HOLDFAST_ITM_SAFE void _Rb_tree_insert_and_rebalance(bool, _Rb_tree_node_base*, _Rb_tree_node_base*,
                                                     _Rb_tree_node_base&) noexcept;
HOLDFAST_ITM_SAFE _Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base*, _Rb_tree_node_base&) noexcept;

HOLDFAST_ITM_SAFE void __throw_length_error(const char*) __attribute__((__noreturn__));
HOLDFAST_ITM_SAFE void __throw_logic_error(const char*) __attribute__((__noreturn__));
HOLDFAST_ITM_SAFE void __throw_out_of_range(const char*) __attribute__((__noreturn__));
HOLDFAST_ITM_SAFE void __throw_bad_alloc() __attribute__((__noreturn__));
HOLDFAST_ITM_SAFE void __throw_bad_array_new_length() __attribute__((__noreturn__));
#undef HOLDFAST_ITM_SAFE

}  // namespace std

#include <holdfast/itm/itm.hpp>

#include <deque>
#include <forward_list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <stack>
#include <vector>
