// The invariants of btree_map's tree. Included by btree_tree.hpp.
#pragma once

#include <holdfast/container/btree_tree.hpp>

namespace holdfast::detail {

template <class Key, class T, class Engine, class Less>
struct btree_tree<Key, T, Engine, Less>::check_state {
    bounds pool;
    std::uint64_t found = 0;
    const leaf* last = nullptr;  ///< the leaf before
};

template <class Key, class T, class Engine, class Less>
result<void> btree_tree<Key, T, Engine, Less>::check() const {
    check_state state{bounds(this)};
    if (!state.pool.known()) return bounds::unknown();
    if (top_.get() == nullptr) {
        if (size() != 0) return state.pool.broken(this, "a btree map without nodes counts entries", 0, size());
        return {};
    }
    if (height_.get() >= deepest)
        return state.pool.broken(this, "a btree map is deeper than it can be", deepest, height_.get());
    if (auto checked = check_below(top_.get(), height_.get(), state, nullptr, nullptr); !checked) return checked;
    if (state.last != nullptr && state.last->next.get() != nullptr)
        return state.pool.broken(state.last, "a btree map's last leaf has a successor", 0, 1);
    if (state.found != size())
        return state.pool.broken(this, "a btree map counts another number of entries", state.found, size());
    return {};
}

template <class Key, class T, class Engine, class Less>
template <class Node>
result<void> btree_tree<Key, T, Engine, Less>::check_keys(const Node& node, const check_state& state,
                                                          const held_key* low, const held_key* high) const {
    const slot_order order = node.order();
    if (!order.valid()) return state.pool.broken(&node, "a btree node's slots are out of order", 1, 0);
    if (order.count() == 0) return state.pool.broken(&node, "a btree node is empty", 1, 0);
    const auto key = [&](unsigned i) -> const held_key& {
        if constexpr (std::is_same_v<Node, leaf>) {
            return node.at(i).first;
        } else {
            return node.at(i).key;
        }
    };
    const auto below = [](const held_key& a, const held_key& b) {
        return key_form<Key>::read(b, [&](const argument& other) { return is_less(a, other); });
    };
    for (unsigned i = 0; i < order.count(); ++i)
        if (auto checked = check_element(key(i)); !checked) return checked;
    for (unsigned i = 1; i < order.count(); ++i)
        if (!below(key(i - 1), key(i)))
            return state.pool.broken(&node, "a btree node's keys are out of order", i, i - 1);
    if (low != nullptr && below(key(0), *low))
        return state.pool.broken(&node, "a btree node holds a key below its separator", 0, 1);
    if (high != nullptr && !below(key(order.count() - 1), *high))
        return state.pool.broken(&node, "a btree node holds a key above its separator", 0, 1);
    return {};
}

template <class Key, class T, class Engine, class Less>
result<void> btree_tree<Key, T, Engine, Less>::check_below(const void* at, std::uint64_t level, check_state& state,
                                                           const held_key* low, const held_key* high) const {
    if (!state.pool.hold(at, level == 0 ? sizeof(leaf) : sizeof(inner)))
        return state.pool.broken_pointer(this, "a btree map's node is out of bounds");
    if (level > 0) {
        const inner& node = *static_cast<const inner*>(at);
        if (auto checked = check_keys(node, state, low, high); !checked) return checked;
        const unsigned count = node.order().count();
        for (unsigned i = 0; i <= count; ++i) {
            auto checked = check_below(node.child(i), level - 1, state, i == 0 ? low : &node.at(i - 1).key,
                                       i == count ? high : &node.at(i).key);
            if (!checked) return checked;
        }
        return {};
    }
    const leaf& node = *static_cast<const leaf*>(at);
    if (auto checked = check_keys(node, state, low, high); !checked) return checked;
    if (node.previous.get() != state.last || (state.last != nullptr && state.last->next.get() != &node))
        return state.pool.broken(&node, "a btree map's leaf links differ from its tree", 1, 0);
    state.last = &node;
    state.found += node.order().count();
    if (state.found > size())
        return state.pool.broken(this, "a btree map holds more entries than it counts", size(), state.found);
    for (unsigned i = 0; i < node.order().count(); ++i)
        if (auto checked = check_element(node.at(i).second); !checked) return checked;
    return {};
}

}  // namespace holdfast::detail
