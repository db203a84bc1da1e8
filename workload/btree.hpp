// A B+ tree: 16 sorted keys a node, values in the leaves, leaves linked in order.
#pragma once

#include <workload/access.hpp>
#include <workload/prefill.hpp>

namespace holdfast::workload {

inline constexpr std::uint64_t btree_slots = 16;

/// An inner node with n keys has n + 1 children; all keys of child i are < keys[i] <= those of child
/// i + 1. A leaf has the value of keys[i] in links[i] and the next leaf in links[btree_slots].
struct btree_node {
    std::uint64_t count;
    std::uint64_t leaf;
    std::int64_t keys[btree_slots];
    std::uint64_t links[btree_slots + 1];
};

/// The persistent part. All zero is a valid empty tree.
struct btree_root {
    btree_node* top;
    std::uint64_t count;
};

/// A map from 64-bit keys to 64-bit values.
///
/// insert adds a key that is absent, update changes the value of one that is present, remove takes
/// one away; each returns whether it did, and does nothing otherwise. get looks.
/// All but get, check and prefill: inside a transaction. Thread safety: none.
template <access Access>
class btree {
public:
    btree(Access memory, btree_root* root) noexcept : memory_(memory), root_(root) {}

    /// Fills it as prefill_map does.
    bool prefill(std::uint64_t first, std::uint64_t count, std::uint64_t batch = 64) const {
        return prefill_map(memory_, *this, first, count, batch);
    }

    bool insert(std::int64_t key, std::int64_t value) const {
        path way;
        node* const leaf = descend(key, way);
        if (leaf == nullptr) {
            node* const made = make_node(true);
            memory_.store(&made->links[btree_slots], 0);
            put_first(made, key, static_cast<std::uint64_t>(value));
            memory_.store(&root_->top, made);
        } else {
            const std::uint64_t at = lower(leaf, key);
            if (at < size(leaf) && key_at(leaf, at) == key) return false;
            if (size(leaf) < btree_slots) {
                insert_in_leaf(leaf, at, key, static_cast<std::uint64_t>(value));
            } else {
                split_leaf(leaf, at, key, static_cast<std::uint64_t>(value), way);
            }
        }
        memory_.store(&root_->count, count() + 1);
        return true;
    }

    bool update(std::int64_t key, std::int64_t value) const {
        path way;
        node* const leaf = descend(key, way);
        if (leaf == nullptr) return false;
        const std::uint64_t at = lower(leaf, key);
        if (at == size(leaf) || key_at(leaf, at) != key) return false;
        memory_.store(&leaf->links[at], static_cast<std::uint64_t>(value));
        return true;
    }

    bool remove(std::int64_t key) const {
        path way;
        node* const leaf = descend(key, way);
        if (leaf == nullptr) return false;
        const std::uint64_t at = lower(leaf, key);
        if (at == size(leaf) || key_at(leaf, at) != key) return false;
        memory_.will_write(&root_->count);
        hint(leaf, at, size(leaf) - 1, at, size(leaf) - 1);
        move_keys(leaf, at, leaf, at + 1, size(leaf) - at - 1);
        move_links(leaf, at, leaf, at + 1, size(leaf) - at - 1);
        memory_.store(&leaf->count, size(leaf) - 1);
        memory_.store(&root_->count, count() - 1);
        refill(leaf, way);
        return true;
    }

    bool get(std::int64_t key, std::int64_t& value) const {
        const node* at = memory_.load(&root_->top);
        if (at == nullptr) return false;
        while (!is_leaf(at)) at = child(at, upper(at, key));
        const std::uint64_t slot = lower(at, key);
        if (slot == size(at) || key_at(at, slot) != key) return false;
        value = static_cast<std::int64_t>(memory_.load(&at->links[slot]));
        return true;
    }

    std::uint64_t count() const { return memory_.load(&root_->count); }

    /// Depth, order, bounds, fill, leaf links, and the count.
    check_report check() const {
        check_report report;
        const node* const top = memory_.load(&root_->top);
        const node* expected_leaf = leftmost(top);
        if (top != nullptr) report.problem = check_node(top, 0, nullptr, nullptr, report.count, expected_leaf);
        if (report.problem == nullptr && expected_leaf != nullptr) report.problem = "a leaf is not in the tree";
        if (report.problem == nullptr && report.count != count())
            report.problem = "another number of keys than counted";
        return report;
    }

private:
    using node = btree_node;
    static constexpr std::uint64_t half = btree_slots / 2;
    static constexpr std::uint64_t deepest = 24;

    /// The inner nodes from the top down, and which child was taken in each.
    struct path {
        node* nodes[deepest];
        std::uint64_t slots[deepest];
        std::uint64_t length = 0;
    };

    static std::uint64_t word_of(const node* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }
    std::uint64_t size(const node* at) const { return memory_.load(&at->count); }
    bool is_leaf(const node* at) const { return memory_.load(&at->leaf) != 0; }
    std::int64_t key_at(const node* at, std::uint64_t slot) const { return memory_.load(&at->keys[slot]); }
    node* child(const node* at, std::uint64_t slot) const {
        return reinterpret_cast<node*>(static_cast<std::uintptr_t>(memory_.load(&at->links[slot])));
    }

    /// The first slot whose key is >= key.
    std::uint64_t lower(const node* at, std::int64_t key) const {
        const std::uint64_t total = size(at);
        std::uint64_t slot = 0;
        while (slot < total && key_at(at, slot) < key) ++slot;
        return slot;
    }
    /// The first slot whose key is > key: the child that holds it.
    std::uint64_t upper(const node* at, std::int64_t key) const {
        const std::uint64_t total = size(at);
        std::uint64_t slot = 0;
        while (slot < total && key_at(at, slot) <= key) ++slot;
        return slot;
    }

    node* descend(std::int64_t key, path& way) const {
        node* at = memory_.load(&root_->top);
        while (at != nullptr && !is_leaf(at)) {
            way.nodes[way.length] = at;
            way.slots[way.length] = upper(at, key);
            at = child(at, way.slots[way.length++]);
        }
        return at;
    }

    node* make_node(bool leaf) const {
        auto* made = static_cast<node*>(memory_.allocate(sizeof(node)));
        memory_.will_write(made);
        memory_.store(&made->leaf, leaf ? 1 : 0);
        return made;
    }

    /// Says that the count and these slots are about to be written.
    void hint(node* at, std::uint64_t key, std::uint64_t end_key, std::uint64_t link, std::uint64_t end_link) const {
        memory_.will_write(&at->count);
        for (; key < end_key; ++key) memory_.will_write(&at->keys[key]);
        for (; link < end_link; ++link) memory_.will_write(&at->links[link]);
    }

    void put_first(node* leaf, std::int64_t key, std::uint64_t link) const {
        memory_.store(&leaf->count, 1);
        memory_.store(&leaf->keys[0], key);
        memory_.store(&leaf->links[0], link);
    }

    /// Copies n keys; the ranges may overlap in one node.
    void move_keys(node* to, std::uint64_t to_slot, const node* from, std::uint64_t from_slot, std::uint64_t n) const {
        const bool upwards = to == from && to_slot > from_slot;
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint64_t each = upwards ? n - 1 - i : i;
            memory_.store(&to->keys[to_slot + each], key_at(from, from_slot + each));
        }
    }
    void move_links(node* to, std::uint64_t to_slot, const node* from, std::uint64_t from_slot, std::uint64_t n) const {
        const bool upwards = to == from && to_slot > from_slot;
        for (std::uint64_t i = 0; i < n; ++i) {
            const std::uint64_t each = upwards ? n - 1 - i : i;
            memory_.store(&to->links[to_slot + each], memory_.load(&from->links[from_slot + each]));
        }
    }

    void insert_in_leaf(node* leaf, std::uint64_t slot, std::int64_t key, std::uint64_t value) const {
        const std::uint64_t total = size(leaf);
        memory_.will_write(&root_->count);
        hint(leaf, slot, total + 1, slot, total + 1);
        move_keys(leaf, slot + 1, leaf, slot, total - slot);
        move_links(leaf, slot + 1, leaf, slot, total - slot);
        memory_.store(&leaf->keys[slot], key);
        memory_.store(&leaf->links[slot], value);
        memory_.store(&leaf->count, total + 1);
    }

    /// Requires: fewer than btree_slots keys. The new child goes behind the new key.
    void insert_in_inner(node* inner, std::uint64_t slot, std::int64_t key, const node* right) const {
        const std::uint64_t total = size(inner);
        hint(inner, slot, total + 1, slot + 1, total + 2);
        move_keys(inner, slot + 1, inner, slot, total - slot);
        move_links(inner, slot + 2, inner, slot + 1, total - slot);
        memory_.store(&inner->keys[slot], key);
        memory_.store(&inner->links[slot + 1], word_of(right));
        memory_.store(&inner->count, total + 1);
    }

    void split_leaf(node* leaf, std::uint64_t slot, std::int64_t key, std::uint64_t value, path& way) const {
        node* const right = make_node(true);
        hint(leaf, 0, 0, btree_slots, btree_slots + 1);
        move_keys(right, 0, leaf, half, half);
        move_links(right, 0, leaf, half, half);
        memory_.store(&right->count, half);
        memory_.store(&right->links[btree_slots], memory_.load(&leaf->links[btree_slots]));
        memory_.store(&leaf->links[btree_slots], word_of(right));
        memory_.store(&leaf->count, half);
        if (slot <= half) {
            insert_in_leaf(leaf, slot, key, value);
        } else {
            insert_in_leaf(right, slot - half, key, value);
        }
        insert_above(leaf, key_at(right, 0), right, way);
    }

    /// Enters `right`, split off `left`, in the node above; splits that if it is full, and so on.
    void insert_above(node* left, std::int64_t key, node* right, path& way) const {
        while (way.length > 0) {
            node* const inner = way.nodes[--way.length];
            const std::uint64_t slot = way.slots[way.length];
            if (size(inner) < btree_slots) return insert_in_inner(inner, slot, key, right);
            // The middle key goes up; half stay on each side, one fewer on the right.
            node* const split = make_node(false);
            memory_.will_write(&inner->count);
            const std::int64_t middle = key_at(inner, half);
            move_keys(split, 0, inner, half + 1, half - 1);
            move_links(split, 0, inner, half + 1, half);
            memory_.store(&split->count, half - 1);
            memory_.store(&inner->count, half);
            if (slot <= half) {
                insert_in_inner(inner, slot, key, right);
            } else {
                insert_in_inner(split, slot - half - 1, key, right);
            }
            left = inner;
            key = middle;
            right = split;
        }
        node* const top = make_node(false);
        memory_.store(&top->keys[0], key);
        memory_.store(&top->links[0], word_of(left));
        memory_.store(&top->links[1], word_of(right));
        memory_.store(&top->count, 1);
        memory_.store(&root_->top, top);
    }

    static constexpr std::uint64_t fewest(bool leaf) noexcept { return leaf ? half : half - 1; }

    /// Restores the fill of `at` and of the nodes above it after a removal.
    void refill(node* at, path& way) const {
        while (way.length > 0) {
            const bool leaf = is_leaf(at);
            if (size(at) >= fewest(leaf)) return;
            node* const above = way.nodes[--way.length];
            const std::uint64_t slot = way.slots[way.length];
            node* const left = slot > 0 ? child(above, slot - 1) : nullptr;
            node* const right = slot < size(above) ? child(above, slot + 1) : nullptr;
            if (left != nullptr && size(left) > fewest(leaf)) return borrow_from_left(above, slot, left, at);
            if (right != nullptr && size(right) > fewest(leaf)) return borrow_from_right(above, slot, at, right);
            if (left != nullptr) {
                merge(above, slot - 1, left, at);
            } else {
                merge(above, slot, at, right);
            }
            at = above;
        }
        if (size(at) > 0) return;
        memory_.store(&root_->top, is_leaf(at) ? nullptr : child(at, 0));
        memory_.free(at);
    }

    void borrow_from_left(node* above, std::uint64_t slot, node* left, node* at) const {
        memory_.will_write(above);
        memory_.will_write(left);
        memory_.will_write(at);
        const std::uint64_t total = size(at);
        const std::uint64_t last = size(left) - 1;
        move_keys(at, 1, at, 0, total);
        if (is_leaf(at)) {
            move_links(at, 1, at, 0, total);
            memory_.store(&at->keys[0], key_at(left, last));
            memory_.store(&at->links[0], memory_.load(&left->links[last]));
        } else {
            move_links(at, 1, at, 0, total + 1);
            memory_.store(&at->keys[0], key_at(above, slot - 1));
            memory_.store(&at->links[0], memory_.load(&left->links[last + 1]));
        }
        memory_.store(&above->keys[slot - 1], key_at(left, last));
        memory_.store(&left->count, last);
        memory_.store(&at->count, total + 1);
    }

    void borrow_from_right(node* above, std::uint64_t slot, node* at, node* right) const {
        memory_.will_write(above);
        memory_.will_write(right);
        memory_.will_write(at);
        const std::uint64_t total = size(at);
        const std::uint64_t rest = size(right) - 1;
        if (is_leaf(at)) {
            move_keys(at, total, right, 0, 1);
            move_links(at, total, right, 0, 1);
            memory_.store(&above->keys[slot], key_at(right, 1));
            move_links(right, 0, right, 1, rest);
        } else {
            move_links(at, total + 1, right, 0, 1);
            memory_.store(&at->keys[total], key_at(above, slot));
            memory_.store(&above->keys[slot], key_at(right, 0));
            move_links(right, 0, right, 1, rest + 1);
        }
        move_keys(right, 0, right, 1, rest);
        memory_.store(&right->count, rest);
        memory_.store(&at->count, total + 1);
    }

    /// Takes `right`, child slot + 1 of `above`, into `left`, child slot.
    void merge(node* above, std::uint64_t slot, node* left, node* right) const {
        memory_.will_write(above);
        memory_.will_write(left);
        const std::uint64_t total = size(left);
        const std::uint64_t more = size(right);
        if (is_leaf(left)) {
            move_keys(left, total, right, 0, more);
            move_links(left, total, right, 0, more);
            memory_.store(&left->links[btree_slots], memory_.load(&right->links[btree_slots]));
            memory_.store(&left->count, total + more);
        } else {
            memory_.store(&left->keys[total], key_at(above, slot));
            move_keys(left, total + 1, right, 0, more);
            move_links(left, total + 1, right, 0, more + 1);
            memory_.store(&left->count, total + more + 1);
        }
        const std::uint64_t rest = size(above) - slot - 1;
        move_keys(above, slot, above, slot + 1, rest);
        move_links(above, slot + 1, above, slot + 2, rest);
        memory_.store(&above->count, size(above) - 1);
        memory_.free(right);
    }

    const node* leftmost(const node* at) const {
        for (std::uint64_t depth = 0; at != nullptr && depth < deepest && !is_leaf(at); ++depth) at = child(at, 0);
        return at;
    }

    const char* check_node(const node* at, std::uint64_t depth, const std::int64_t* low, const std::int64_t* high,
                           std::uint64_t& total, const node*& expected_leaf) const {
        const std::uint64_t keys = size(at);
        const bool leaf = is_leaf(at);
        if (depth >= deepest) return "the tree is too deep, or has a cycle";
        if (keys > btree_slots || keys < (depth == 0 ? 1 : fewest(leaf))) return "a node is too full or too empty";
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::int64_t key = key_at(at, i);
            if (low != nullptr && key < *low) return "a key is below its node's bound";
            if (high != nullptr && key >= *high) return "a key is above its node's bound";
            if (i > 0 && key <= key_at(at, i - 1)) return "keys out of order";
        }
        if (leaf) {
            if (at != expected_leaf) return "the leaf links differ from the tree";
            expected_leaf = child(at, btree_slots);
            total += keys;
            return nullptr;
        }
        for (std::uint64_t i = 0; i <= keys; ++i) {
            const std::int64_t below = i > 0 ? key_at(at, i - 1) : 0;
            const std::int64_t above = i < keys ? key_at(at, i) : 0;
            if (child(at, i) == nullptr) return "a child is missing";
            const char* const problem = check_node(child(at, i), depth + 1, i > 0 ? &below : low,
                                                   i < keys ? &above : high, total, expected_leaf);
            if (problem != nullptr) return problem;
        }
        return nullptr;
    }

    Access memory_;
    btree_root* root_;
};

}  // namespace holdfast::workload
