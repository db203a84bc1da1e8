// A whole tree out of entries that come in order: full leaves, and the levels above them. Included by btree_tree.hpp.
#pragma once

#include <holdfast/container/btree_tree.hpp>

#include <utility>
#include <vector>

namespace holdfast::detail {

/// Nodes that nothing names, and what is built in them; destroyed again unless a tree adopts them. Inside a
/// transaction.
template <class Key, class T, class Engine, class Less>
class btree_tree<Key, T, Engine, Less>::loaded {
public:
    loaded() = default;
    loaded(loaded&&) noexcept = default;
    ~loaded() {
        for (made_leaf& each : leaves_) {
            auto* const node = each.block.template as<leaf>();
            for (; each.count != 0; --each.count) {
                destroy_element(const_cast<held_key*>(&node->entries[each.count - 1].first));
                destroy_element(&node->entries[each.count - 1].second);
            }
        }
        for (made_inner& each : inners_)
            for (auto* const node = each.block.template as<inner>(); each.keys != 0; --each.keys)
                destroy_element(&node->branches[each.keys - 1].key);
    }

    /// Throws failure: misuse, where the key is not above the last one.
    template <class... Arguments>
    void add(const argument& key, Arguments&&... arguments) {
        if (leaves_.empty() || leaves_.back().count == slot_order::slots) add_leaf(key);
        made_leaf& in = leaves_.back();
        auto* const node = in.block.template as<leaf>();
        if (in.count != 0) require_above(node->entries[in.count - 1].first, key);
        entry& made = node->entries[in.count];
        new_element<Key, Engine> first(const_cast<held_key*>(&made.first), key);
        new_element<T, Engine> second(&made.second, std::forward<Arguments>(arguments)...);
        first.put(const_cast<held_key*>(&made.first));
        second.put(&made.second);
        ++in.count;
        ++size_;
    }
    /// Builds what is above the leaves.
    void finish() {
        for (made_leaf& each : leaves_)
            set_order(*each.block.template as<leaf>(), slot_order::first(each.count));
        std::vector<subtree> level;
        for (made_leaf& each : leaves_) {
            auto* const node = each.block.template as<leaf>();
            level.push_back({node, node});
        }
        for (; level.size() > 1; ++height_) level = level_above(level);
        if (!level.empty()) top_ = level.front().node;
    }

private:
    friend btree_tree;
    struct made_leaf {
        new_block<Engine> block;
        unsigned count = 0;
    };
    struct made_inner {
        new_block<Engine> block;
        unsigned keys = 0;
    };
    /// A node, and the leaf whose first key is the least below it.
    struct subtree {
        void* node;
        leaf* first;
    };

    static void require_above(const held_key& last, const argument& key) {
        if (!is_less(last, key)) fail(errc::misuse, "the keys are not in ascending order");
    }
    void add_leaf(const argument& key) {
        leaf* before = nullptr;
        if (!leaves_.empty()) {
            before = leaves_.back().block.template as<leaf>();
            require_above(before->entries[slot_order::slots - 1].first, key);
        }
        leaves_.push_back({new_block<Engine>(sizeof(leaf), block_alignment<leaf>), 0});
        auto* const node = leaves_.back().block.template as<leaf>();
        Engine::will_write(node, sizeof *node);
        node->previous = before;
        node->next = nullptr;
        if (before != nullptr) before->next = node;
    }
    /// Evenly, so that none has one child only.
    std::vector<subtree> level_above(const std::vector<subtree>& below) {
        constexpr std::size_t most = slot_order::slots + 1;
        const std::size_t count = (below.size() + most - 1) / most;
        std::vector<subtree> level;
        level.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            level.push_back(parent_of(below, below.size() * i / count, below.size() * (i + 1) / count));
        return level;
    }
    subtree parent_of(const std::vector<subtree>& below, std::size_t first, std::size_t last) {
        inners_.push_back({new_block<Engine>(sizeof(inner), block_alignment<inner>), 0});
        made_inner& in = inners_.back();
        auto* const node = in.block.template as<inner>();
        Engine::will_write(node, sizeof *node);
        node->first_child = below[first].node;
        for (std::size_t i = first + 1; i < last; ++i) {
            branch& made = node->branches[in.keys];
            const owned key = copy_of(below[i].first->entries[0].first);
            new_element<Key, Engine> separator(&made.key, argument(key));
            separator.put(&made.key);
            ++in.keys;
            made.child = below[i].node;
        }
        set_order(*node, slot_order::first(in.keys));
        return {node, below[first].first};
    }
    void keep() noexcept {
        for (made_leaf& each : leaves_) each.block.keep(), each.count = 0;
        for (made_inner& each : inners_) each.block.keep(), each.keys = 0;
    }

    std::vector<made_leaf> leaves_{};
    std::vector<made_inner> inners_{};
    void* top_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint64_t height_ = 0;
};

template <class Key, class T, class Engine, class Less>
void btree_tree<Key, T, Engine, Less>::adopt(loaded& by) {
    free_all();
    top_ = by.top_;
    size_ = by.size_;
    height_ = by.height_;
    by.keep();
}

}  // namespace holdfast::detail
