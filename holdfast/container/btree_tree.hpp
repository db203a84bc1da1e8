// The tree of btree_map: searching, splitting, joining. The map's face is btree_map.hpp.
#pragma once

#include <holdfast/container/btree_node.hpp>

#include <utility>

namespace holdfast::detail {

/// Zero bytes are an empty tree. Modifying members run inside a transaction.
///
/// Invariants: all leaves are equally deep and linked in order; none is empty; an inner node has a
/// separator at least. A removal that leaves 7 or fewer joins the node with a neighbour if both fit in
/// one; so at the end of removals two neighbours hold at least 9 of 30.
template <class Key, class T, class Engine, class Less>
class btree_tree {
public:
    using leaf = btree_leaf<Key, T, Engine>;
    using inner = btree_inner<Key, Engine>;
    using branch = typename inner::branch;
    using entry = typename leaf::entry;
    using argument = typename key_form<Key>::argument;
    using owned = typename key_form<Key>::owned;
    using held_key = held_element<Key, Engine>;

    /// Inner nodes are never emptier than two children, so more levels than this need more nodes
    /// than a pool can hold.
    static constexpr unsigned deepest = 40;

    struct position {
        leaf* node = nullptr;
        unsigned index = 0;
    };
    struct step {
        inner* node;
        unsigned child;
    };
    /// The inner nodes from the top down to a leaf.
    struct path {
        step steps[deepest];
        unsigned length = 0;
    };

    std::uint64_t size() const { return size_.get(); }

    leaf* edge(bool last) const {
        void* at = top_.get();
        for (std::uint64_t level = height_.get(); at != nullptr && level > 0; --level) {
            auto* const node = static_cast<inner*>(at);
            at = node->child(last ? node->order().count() : 0);
        }
        return static_cast<leaf*>(at);
    }

    /// The leaf where `key` is or belongs, nullptr in an empty tree; notes the way in `way`.
    leaf* descend(const argument& key, path* way) const {
        void* at = top_.get();
        for (std::uint64_t level = height_.get(); level > 0; --level) {
            auto* const node = static_cast<inner*>(at);
            const unsigned child = children_up_to(*node, key);
            if (way != nullptr) {
                if (way->length == deepest) fail(errc::corrupt, "a btree map is deeper than it can be");
                way->steps[way->length++] = {node, child};
            }
            at = node->child(child);
        }
        return static_cast<leaf*>(at);
    }
    /// The first index of the leaf whose key is not below `key`.
    static unsigned lower(const leaf& node, const argument& key) {
        return partition(node.order(), [&](unsigned slot) { return is_less(node.entries[slot].first, key); });
    }
    static unsigned upper(const leaf& node, const argument& key) {
        return partition(node.order(), [&](unsigned slot) { return !is_greater(node.entries[slot].first, key); });
    }
    static bool is_at(const leaf& node, unsigned index, const argument& key) {
        return index < node.order().count() && !is_greater(node.at(index).first, key);
    }

    class addition;
    /// Adds an entry that is not there, and returns its place.
    position add(addition& by);

    /// Removes the entry at `place`, to which `way` leads.
    void remove(position place, path& way) {
        slot_order order = place.node->order();
        entry& gone = place.node->at(place.index);
        Engine::will_write(&place.node->order_word, sizeof place.node->order_word);
        Engine::will_write(&size_, sizeof size_);
        destroy_element(const_cast<held_key*>(&gone.first));
        destroy_element(&gone.second);
        order.erase(place.index);
        place.node->order_word = order.word();
        size_ = size() - 1;
        if (order.count() <= few) refill_leaf(place.node, way);
    }

    void free_all() {
        if (top_.get() != nullptr) free_below(top_.get(), height_.get());
    }
    void clear() {
        if (top_.get() == nullptr) return;
        free_all();
        top_ = nullptr;
        size_ = 0;
        height_ = 0;
    }

    /// What entries in order become; see btree_load.hpp.
    class loaded;
    /// Replaces all entries.
    void adopt(loaded& by);

    /// Takes over the nodes of `other`, and frees its own behind them.
    void take(btree_tree& other, bool frees_own) {
        void* const top = other.top_;
        const std::uint64_t size = other.size_;
        const std::uint64_t height = other.height_;
        other.top_ = nullptr;
        other.size_ = 0;
        other.height_ = 0;
        if (frees_own) free_all();
        top_ = top;
        size_ = size;
        height_ = height;
    }
    void exchange(btree_tree& other) {
        swap(top_, other.top_);
        swap(size_, other.size_);
        swap(height_, other.height_);
    }

    template <class F>
    void visit_blocks(F& f) const {
        if (top_.get() != nullptr) visit_below(top_.get(), height_.get(), f);
    }

    result<void> check() const;

private:
    static constexpr unsigned few = slot_order::slots / 2;
    struct check_state;

    static bool is_less(const held_key& held, const argument& key) {
        return key_form<Key>::read(held, [&](const argument& other) { return Less()(other, key); });
    }
    static bool is_greater(const held_key& held, const argument& key) {
        return key_form<Key>::read(held, [&](const argument& other) { return Less()(key, other); });
    }
    static owned copy_of(const held_key& held) {
        return key_form<Key>::read(held, [](const argument& key) { return owned(key); });
    }
    /// The number of positions, all in front, whose slot satisfies `in_front`.
    template <class F>
    static unsigned partition(slot_order order, F&& in_front) {
        unsigned low = 0;
        for (unsigned high = order.count(); low < high;) {
            const unsigned middle = (low + high) / 2;
            if (in_front(order.slot(middle))) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    static unsigned children_up_to(const inner& node, const argument& key) {
        return partition(node.order(), [&](unsigned slot) { return !is_greater(node.branches[slot].key, key); });
    }

    using carried_key = carried_bytes<held_key, Engine>;

    /// An empty node in a block that somebody will name.
    template <class Node>
    static Node* adopt(new_block<Engine>& block) {
        auto* const made = block.template as<Node>();
        made->order_word = slot_order::first(0).word();
        block.keep();
        return made;
    }
    static void set_order(auto& node, slot_order order) { node.order_word = order.word(); }

    /// Copies all slots of `from` behind those of `into`.
    template <class Slot>
    static void append_slots(Slot* into, slot_order& into_order, const Slot* from, slot_order from_order,
                             unsigned first = 0) {
        for (unsigned i = first; i < from_order.count(); ++i)
            move_range<Engine>(into + into_order.insert(into_order.count()), from + from_order.slot(i), sizeof(Slot));
    }

    void hint_adding(leaf& node, entry& made) {
        Engine::will_write(&made, sizeof made);
        Engine::will_write(&node.order_word, sizeof node.order_word);
        Engine::will_write(&size_, sizeof size_);
    }
    position split(addition& by);
    void enter_above(addition& by, void* right);

    static void hint_entering(inner& node, branch& made) {
        Engine::will_write(&made, sizeof made);
        Engine::will_write(&node.order_word, sizeof node.order_word);
    }
    /// Enters a child and the key before it, which `put` stores.
    template <class Put>
    static void enter(inner& node, unsigned index, void* child, Put&& put) {
        slot_order order = node.order();
        branch& made = node.branches[order.insert(index)];
        hint_entering(node, made);
        put(&made.key);
        made.child = child;
        set_order(node, order);
    }
    /// Splits a full node and enters the child there. Returns the node behind the key that moves up.
    template <class Put>
    static void* split_inner(step above, new_block<Engine>& block, void* child, Put&& put, carried_key& risen_key) {
        inner& left = *above.node;
        auto* const right = adopt<inner>(block);
        const unsigned middle = above.child == slot_order::slots ? slot_order::slots - 1 : few;
        slot_order left_order = left.order();
        slot_order right_order = slot_order::first(0);
        const branch& risen = left.at(middle);
        risen_key.take(&risen.key);
        right->first_child = risen.child.get();
        append_slots(right->branches, right_order, left.branches, left_order, middle + 1);
        left_order.cut(middle);
        set_order(*right, right_order);
        set_order(left, left_order);
        if (above.child <= middle) {
            enter(left, above.child, child, put);
        } else {
            enter(*right, above.child - middle - 1, child, put);
        }
        return right;
    }

    void refill_leaf(leaf* node, path& way) {
        if (way.length == 0) {
            if (node->order().count() != 0) return;
            Engine::deallocate(node);
            top_ = nullptr;
            return;
        }
        const step above = way.steps[--way.length];
        if (try_join_leaves(*above.node, above.child, node->order().count())) refill_inner(above.node, way);
    }
    /// Joins child `at` of `above` with a neighbour if both fit in one.
    bool try_join_leaves(inner& above, unsigned at, unsigned count) {
        const auto count_of = [&](unsigned child) { return static_cast<leaf*>(above.child(child))->order().count(); };
        if (at < above.order().count() && count + count_of(at + 1) <= slot_order::slots) {
            join_leaves(above, at);
        } else if (at > 0 && count + count_of(at - 1) <= slot_order::slots) {
            join_leaves(above, at - 1);
        } else {
            return false;
        }
        return true;
    }
    /// Joins the leaves that are children `at` and `at + 1`; the fuller one stays.
    void join_leaves(inner& above, unsigned at) {
        auto* const left = static_cast<leaf*>(above.child(at));
        auto* const right = static_cast<leaf*>(above.child(at + 1));
        const slot_order left_order = left->order();
        const slot_order right_order = right->order();
        const bool left_stays = left_order.count() >= right_order.count();
        slot_order order = left_stays ? left_order : right_order;
        leaf* const stays = left_stays ? left : right;
        leaf* const goes = left_stays ? right : left;
        const slot_order gone = goes->order();
        for (unsigned i = 0; i < gone.count(); ++i)
            move_range<Engine>(stays->entries + order.insert(left_stays ? order.count() : i),
                               goes->entries + gone.slot(i), sizeof(entry));
        leaf* const before = goes->previous.get();
        leaf* const behind = goes->next.get();
        if (before != nullptr) before->next = behind;
        if (behind != nullptr) behind->previous = before;
        if (gone.count() != 0) set_order(*stays, order);
        drop_separator(above, at, stays, true);
        Engine::deallocate(goes);
    }
    /// Takes separator `at` and the child behind it out; `survivor` is what children at and at + 1 become.
    void drop_separator(inner& above, unsigned at, void* survivor, bool destroy) {
        if (above.child(at) != survivor) above.set_child(at, survivor);
        if (destroy) destroy_element(&above.at(at).key);
        slot_order order = above.order();
        order.erase(at);
        set_order(above, order);
    }

    void refill_inner(inner* node, path& way) {
        while (node->order().count() <= few) {
            const unsigned count = node->order().count();
            if (way.length == 0) {
                if (count != 0) return;
                top_ = node->first_child.get();
                height_ = height_.get() - 1;
                Engine::deallocate(node);
                return;
            }
            const step above = way.steps[--way.length];
            const auto count_of = [&](unsigned child) {
                return static_cast<inner*>(above.node->child(child))->order().count();
            };
            const bool is_last = above.child == above.node->order().count();
            if (!is_last && count + 1 + count_of(above.child + 1) <= slot_order::slots) {
                join_inners(*above.node, above.child);
            } else if (above.child > 0 && count + 1 + count_of(above.child - 1) <= slot_order::slots) {
                join_inners(*above.node, above.child - 1);
            } else {
                if (count == 0) borrow(*above.node, above.child);
                return;
            }
            node = above.node;
        }
    }
    void join_inners(inner& above, unsigned at) {
        auto* const left = static_cast<inner*>(above.child(at));
        auto* const right = static_cast<inner*>(above.child(at + 1));
        slot_order order = left->order();
        branch& joint = left->branches[order.insert(order.count())];
        move_range<Engine>(&joint.key, &above.at(at).key, sizeof(held_key));
        joint.child = right->first_child.get();
        append_slots(left->branches, order, right->branches, right->order());
        set_order(*left, order);
        drop_separator(above, at, left, false);
        Engine::deallocate(right);
    }
    /// Gives the inner node at child `at`, which has one child left, another from a full neighbour.
    void borrow(inner& above, unsigned at) {
        auto* const node = static_cast<inner*>(above.child(at));
        const bool from_right = at < above.order().count();
        auto* const other = static_cast<inner*>(above.child(from_right ? at + 1 : at - 1));
        branch& separator = above.at(from_right ? at : at - 1);
        slot_order order = slot_order::first(0);
        branch& made = node->branches[order.insert(0)];
        slot_order other_order = other->order();
        branch& moved = other->at(from_right ? 0 : other_order.count() - 1);
        move_range<Engine>(&made.key, &separator.key, sizeof(held_key));
        move_range<Engine>(&separator.key, &moved.key, sizeof(held_key));
        if (from_right) {
            made.child = other->first_child.get();
            other->first_child = moved.child.get();
        } else {
            made.child = node->first_child.get();
            node->first_child = moved.child.get();
        }
        other_order.erase(from_right ? 0 : other_order.count() - 1);
        set_order(*other, other_order);
        set_order(*node, order);
    }

    void free_below(void* at, std::uint64_t level) {
        if (level == 0) {
            auto* const node = static_cast<leaf*>(at);
            const slot_order order = node->order();
            constexpr bool owns = owns_blocks<held_key> || owns_blocks<held_element<T, Engine>>;
            for (unsigned i = 0; owns && i < order.count(); ++i) {
                destroy_element(const_cast<held_key*>(&node->at(i).first));
                destroy_element(&node->at(i).second);
            }
        } else {
            auto* const node = static_cast<inner*>(at);
            const unsigned count = node->order().count();
            for (unsigned i = 0; i <= count; ++i) free_below(node->child(i), level - 1);
            for (unsigned i = 0; owns_blocks<held_key> && i < count; ++i) destroy_element(&node->at(i).key);
        }
        Engine::deallocate(at);
    }
    template <class F>
    void visit_below(const void* at, std::uint64_t level, F& f) const {
        f(at);
        if (level == 0) {
            const auto* const node = static_cast<const leaf*>(at);
            for (unsigned i = 0; i < node->order().count(); ++i) {
                visit_element(node->at(i).first, f);
                visit_element(node->at(i).second, f);
            }
            return;
        }
        const auto* const node = static_cast<const inner*>(at);
        for (unsigned i = 0; i <= node->order().count(); ++i) visit_below(node->child(i), level - 1, f);
        for (unsigned i = 0; i < node->order().count(); ++i) visit_element(node->at(i).key, f);
    }

    result<void> check_below(const void* at, std::uint64_t level, check_state& state, const held_key* low,
                             const held_key* high) const;
    template <class Node>
    result<void> check_keys(const Node& node, const check_state& state, const held_key* low,
                            const held_key* high) const;

    basic_field<Engine, void*> top_;
    basic_field<Engine, std::uint64_t> size_;
    basic_field<Engine, std::uint64_t> height_;  ///< levels of inner nodes
};

}  // namespace holdfast::detail

#include <holdfast/container/btree_addition.hpp>
#include <holdfast/container/btree_check.hpp>
#include <holdfast/container/btree_load.hpp>
