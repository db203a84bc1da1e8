// An entry on its way into btree_map's tree, with all that may fail behind it. Included by btree_tree.hpp.
#pragma once

#include <holdfast/container/btree_tree.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace holdfast::detail {

/// What an insertion prepares: the entry, and where its leaf is full, the nodes and the separator of the split.
/// Nothing names any of it, and nothing in the tree has changed. Inside a transaction.
template <class Key, class T, class Engine, class Less>
class btree_tree<Key, T, Engine, Less>::addition {
public:
    /// `place` is where the key belongs, `way` how one gets there.
    template <class... Arguments>
    addition(btree_tree& in, const argument& key, position place, const path& way, Arguments&&... arguments)
        : place_(place) {
        if (place.node == nullptr) {
            leaf_block_ = new_block<Engine>(sizeof(leaf), block_alignment<leaf>);
        } else if (place.node->order().count() == slot_order::slots) {
            prepare_split(key, way);
        }
        entry* const at = building_place(in);
        first_.emplace(const_cast<held_key*>(&at->first), key);
        second_.emplace(&at->second, std::forward<Arguments>(arguments)...);
    }

private:
    friend btree_tree;
    /// Whether the entry is stored when it is entered, and not built before.
    static constexpr bool is_value = detail::is_plain_value<Key> && detail::is_plain_value<T>;

    bool appends() const { return place_.node->next.get() == nullptr && place_.index == slot_order::slots; }
    /// How many of a full leaf's entries stay in it.
    unsigned kept() const { return place_.index <= few ? few : few + 1; }

    void prepare_split(const argument& key, const path& way) {
        for (; way_.length < way.length; ++way_.length) way_.steps[way_.length] = way.steps[way_.length];
        leaf_block_ = new_block<Engine>(sizeof(leaf), block_alignment<leaf>);
        const auto is_full = [](const step& each) { return each.node->order().count() == slot_order::slots; };
        unsigned level = way.length;
        for (; level > 0 && is_full(way.steps[level - 1]); --level) add_inner();
        if (level == 0) add_inner();
        if (appends()) {
            separator_.emplace(separator_place(), key);
        } else {
            const owned middle = copy_of(place_.node->at(kept()).first);
            separator_.emplace(separator_place(), argument(middle));
        }
    }
    void add_inner() { inner_blocks_.push_back(new_block<Engine>(sizeof(inner), block_alignment<inner>)); }

    /// A key in a branch that no node counts.
    held_key* separator_place() const {
        constexpr unsigned unused = slot_order::slots - 1;
        if (way_.length == 0) return &inner_blocks_.front().template as<inner>()->branches[0].key;
        const step above = way_.steps[way_.length - 1];
        slot_order order = above.node->order();
        if (order.count() == slot_order::slots)
            return &inner_blocks_.front().template as<inner>()->branches[unused].key;
        branch& made = above.node->branches[order.insert(above.child)];
        if constexpr (!detail::is_plain_value<Key>) hint_entering(*above.node, made);
        return &made.key;
    }
    /// An entry that no leaf counts; the one it will be, but where a split leaves its place in use until then.
    entry* building_place(btree_tree& tree) const {
        if (!leaf_block_) {
            slot_order order = place_.node->order();
            entry* const at = &place_.node->entries[order.insert(place_.index)];
            if constexpr (!is_value) tree.hint_adding(*place_.node, *at);
            return at;
        }
        entry* const in = leaf_block_.template as<leaf>()->entries;
        if (place_.node == nullptr || appends()) return in;
        return in + (place_.index <= kept() ? slot_order::slots - 1 : slot_order::slots - kept());
    }

    position place_;
    path way_;
    new_block<Engine> leaf_block_{};
    std::vector<new_block<Engine>> inner_blocks_{};  ///< lowest first
    std::optional<new_element<Key, Engine>> first_{};
    std::optional<new_element<T, Engine>> second_{};
    std::optional<new_element<Key, Engine>> separator_{};
};

template <class Key, class T, class Engine, class Less>
auto btree_tree<Key, T, Engine, Less>::add(addition& by) -> position {
    return all_or_doom(current_transaction<Engine>(), [&] {
        position place = by.place_;
        if (place.node == nullptr) {
            place.node = adopt<leaf>(by.leaf_block_);
            place.node->previous = nullptr;
            place.node->next = nullptr;
            top_ = place.node;
        } else if (by.leaf_block_) {
            place = split(by);
        }
        slot_order order = place.node->order();
        entry& made = place.node->entries[order.insert(place.index)];
        hint_adding(*place.node, made);
        by.first_->put(const_cast<held_key*>(&made.first));
        by.second_->put(&made.second);
        place.node->order_word = order.word();
        size_ = size() + 1;
        return place;
    });
}

/// Makes room in the full leaf and returns where the key now belongs.
template <class Key, class T, class Engine, class Less>
auto btree_tree<Key, T, Engine, Less>::split(addition& by) -> position {
    const position place = by.place_;
    const bool appends = by.appends();
    const unsigned kept = by.kept();
    leaf* const left = place.node;
    leaf* const right = adopt<leaf>(by.leaf_block_);
    leaf* const behind = left->next.get();
    Engine::will_write(&left->order_word, sizeof left->order_word);
    Engine::will_write(&left->next, sizeof left->next);
    if (behind != nullptr) Engine::will_write(&behind->previous, sizeof behind->previous);
    right->previous = left;
    right->next = behind;
    left->next = right;
    if (behind != nullptr) behind->previous = right;
    if (appends) {
        // Keys that come in order leave full leaves behind.
        enter_above(by, right);
        return {right, 0};
    }
    slot_order left_order = left->order();
    slot_order right_order = slot_order::first(0);
    append_slots(right->entries, right_order, left->entries, left_order, kept);
    left_order.cut(kept);
    set_order(*right, right_order);
    set_order(*left, left_order);
    enter_above(by, right);
    if (place.index <= kept) return place;
    return {right, place.index - kept};
}

/// Enters `right`, whose keys are not below the separator, behind the child that the way leads to.
template <class Key, class T, class Engine, class Less>
void btree_tree<Key, T, Engine, Less>::enter_above(addition& by, void* right) {
    path& way = by.way_;
    carried_key risen[2];
    // The first key is built; what rises from a node that splits is carried to the next.
    std::size_t level = 0;
    const auto put = [&](held_key* to) { level == 0 ? by.separator_->put(to) : risen[level % 2].put(to); };
    for (; way.length > 0; ++level) {
        const step above = way.steps[--way.length];
        if (above.node->order().count() < slot_order::slots) return enter(*above.node, above.child, right, put);
        right = split_inner(above, by.inner_blocks_[level], right, put, risen[(level + 1) % 2]);
    }
    auto* const top = adopt<inner>(by.inner_blocks_[level]);
    top->first_child = top_.get();
    enter(*top, 0, right, put);
    top_ = top;
    height_ = height_.get() + 1;
}

}  // namespace holdfast::detail
