// A B+ tree for main memory in the style of the STX collection: nodes of about 256 bytes that are searched linearly,
// values in the leaves, leaves linked both ways.
#pragma once

#include <workload/access.hpp>
#include <workload/prefill.hpp>

namespace holdfast::workload {

/// What the keys and links of a node are to take; its header comes on top.
inline constexpr std::size_t stx_node_bytes = 256;

constexpr std::uint16_t stx_slots(std::size_t slot_bytes) noexcept {
    constexpr std::size_t fewest = 8;
    const std::size_t fitting = stx_node_bytes / slot_bytes;
    return static_cast<std::uint16_t>(fitting < fewest ? fewest : fitting);
}

inline constexpr std::uint16_t stx_leaf_slots = stx_slots(sizeof(std::int64_t) + sizeof(std::int64_t));
inline constexpr std::uint16_t stx_inner_slots = stx_slots(sizeof(std::int64_t) + sizeof(void*));

/// What leaves and inner nodes begin with.
struct stx_node {
    std::uint16_t level;  ///< 0 in leaves
    std::uint16_t used;   ///< keys
};

/// keys[i] is the largest key below children[i]; what is below children[used] is larger than all keys.
struct stx_inner : stx_node {
    std::int64_t keys[stx_inner_slots];
    stx_node* children[stx_inner_slots + 1];
};

struct stx_leaf : stx_node {
    stx_leaf* previous;
    stx_leaf* next;
    std::int64_t keys[stx_leaf_slots];
    std::int64_t values[stx_leaf_slots];
};

/// The persistent part. All zero is a valid empty tree.
struct stx_root {
    stx_node* top;
    stx_leaf* first;
    stx_leaf* last;
    std::uint64_t count;  ///< of keys
    std::uint64_t leaves;
    std::uint64_t inners;
};

/// A map from 64-bit keys to 64-bit values that grows only.
///
/// insert adds a key that is absent, update changes the value of one that is present; each returns whether it did, and
/// does nothing otherwise. get looks. Each node is announced with will_write before it is first stored to, so that an
/// engine that logs what is announced writes one record for each node.
/// All but get, check and prefill: inside a transaction. Thread safety: none.
template <access Access>
class stx_btree {
public:
    stx_btree(Access memory, stx_root* root) noexcept : memory_(memory), root_(root) {}

    /// Fills it as prefill_map does.
    bool prefill(std::uint64_t first, std::uint64_t count, std::uint64_t batch = 64) const {
        return prefill_map(memory_, *this, first, count, batch);
    }

    bool insert(std::int64_t key, std::int64_t value) const {
        if (memory_.load(&root_->top) == nullptr) plant();
        node* const top = memory_.load(&root_->top);
        split made;
        if (!insert_below(top, key, value, made)) return false;
        if (made.right != nullptr) {
            auto* const above = make_inner(static_cast<std::uint16_t>(level_of(top) + 1));
            memory_.store(&above->keys[0], made.key);
            memory_.store(&above->children[0], top);
            memory_.store(&above->children[1], made.right);
            memory_.store(&above->used, 1);
            memory_.store(&root_->top, above);
        }
        memory_.store(&root_->count, count() + 1);
        return true;
    }

    bool update(std::int64_t key, std::int64_t value) const {
        std::uint16_t slot = 0;
        const leaf* const found = find(key, slot);
        if (found == nullptr) return false;
        auto* const changed = const_cast<leaf*>(found);
        memory_.will_write(&changed->values[slot]);
        memory_.store(&changed->values[slot], value);
        return true;
    }

    bool get(std::int64_t key, std::int64_t& value) const {
        std::uint16_t slot = 0;
        const leaf* const found = find(key, slot);
        if (found == nullptr) return false;
        value = memory_.load(&found->values[slot]);
        return true;
    }

    std::uint64_t count() const { return memory_.load(&root_->count); }

    /// Levels, order, bounds, fill, links of the leaves, and all three counts.
    check_report check() const {
        check_report report;
        const node* const top = memory_.load(&root_->top);
        survey seen;
        seen.next = memory_.load(&root_->first);
        if (top != nullptr) report.problem = check_node(top, level_of(top), nullptr, nullptr, seen);
        report.count = seen.keys;
        if (report.problem != nullptr) return report;
        if (seen.next != nullptr) report.problem = "a leaf is not in the tree";
        if (memory_.load(&root_->last) != seen.previous) report.problem = "the last leaf is another one";
        if (seen.keys != count()) report.problem = "another number of keys than counted";
        if (seen.leaves != memory_.load(&root_->leaves)) report.problem = "another number of leaves than counted";
        if (seen.inners != memory_.load(&root_->inners)) report.problem = "another number of inner nodes than counted";
        return report;
    }

private:
    using node = stx_node;
    using inner = stx_inner;
    using leaf = stx_leaf;
    static constexpr std::uint16_t deepest = 20;

    /// A new right neighbour of the node that was split, and the largest key left of it; or none.
    struct split {
        std::int64_t key = 0;
        node* right = nullptr;
    };

    std::uint16_t level_of(const node* at) const { return memory_.load(&at->level); }
    std::uint16_t used_of(const node* at) const { return memory_.load(&at->used); }

    /// The first slot whose key is >= key, of `used` slots.
    template <class Node>
    std::uint16_t lower(const Node* at, std::uint16_t used, std::int64_t key) const {
        std::uint16_t slot = 0;
        while (slot < used && memory_.load(&at->keys[slot]) < key) ++slot;
        return slot;
    }

    const leaf* find(std::int64_t key, std::uint16_t& slot) const {
        const node* at = memory_.load(&root_->top);
        if (at == nullptr) return nullptr;
        while (level_of(at) != 0) {
            const auto* const here = static_cast<const inner*>(at);
            at = memory_.load(&here->children[lower(here, used_of(here), key)]);
        }
        const auto* const found = static_cast<const leaf*>(at);
        const std::uint16_t used = used_of(found);
        slot = lower(found, used, key);
        return slot < used && memory_.load(&found->keys[slot]) == key ? found : nullptr;
    }

    leaf* make_leaf() const {
        auto* const made = static_cast<leaf*>(memory_.allocate(sizeof(leaf)));
        memory_.will_write(made);
        memory_.store(&made->level, 0);
        memory_.store(&root_->leaves, memory_.load(&root_->leaves) + 1);
        return made;
    }
    inner* make_inner(std::uint16_t level) const {
        auto* const made = static_cast<inner*>(memory_.allocate(sizeof(inner)));
        memory_.will_write(made);
        memory_.store(&made->level, level);
        memory_.store(&root_->inners, memory_.load(&root_->inners) + 1);
        return made;
    }

    /// The first leaf, still without keys.
    void plant() const {
        memory_.will_write(root_);
        leaf* const made = make_leaf();
        memory_.store(&made->used, 0);
        memory_.store(&made->previous, nullptr);
        memory_.store(&made->next, nullptr);
        memory_.store(&root_->first, made);
        memory_.store(&root_->last, made);
        memory_.store(&root_->top, made);
    }

    /// Moves `count` slots, the last one first, so that they may move up within one node.
    template <class T>
    void move(T* to, const T* from, std::uint16_t count) const {
        for (std::uint16_t i = count; i-- > 0;) memory_.store(&to[i], memory_.load(&from[i]));
    }

    /// Inserts below `at` and says how that was split. False: the key is there.
    bool insert_below(node* at, std::int64_t key, std::int64_t value, split& made) const {
        if (level_of(at) == 0) return insert_in_leaf(static_cast<leaf*>(at), key, value, made);
        auto* const here = static_cast<inner*>(at);
        const std::uint16_t slot = lower(here, used_of(here), key);
        split below;
        if (!insert_below(memory_.load(&here->children[slot]), key, value, below)) return false;
        if (below.right != nullptr) insert_in_inner(here, slot, below, made);
        return true;
    }

    bool insert_in_leaf(leaf* at, std::int64_t key, std::int64_t value, split& made) const {
        std::uint16_t used = used_of(at);
        std::uint16_t slot = lower(at, used, key);
        if (slot < used && memory_.load(&at->keys[slot]) == key) return false;
        memory_.will_write(root_);
        memory_.will_write(at);
        if (used == stx_leaf_slots) {
            leaf* const right = split_leaf(at, made);
            used = stx_leaf_slots / 2;
            if (slot >= used) {
                slot = static_cast<std::uint16_t>(slot - used);
                used = stx_leaf_slots - stx_leaf_slots / 2;
                at = right;
            }
        }
        const auto above = static_cast<std::uint16_t>(used - slot);
        move(&at->keys[slot + 1], &at->keys[slot], above);
        move(&at->values[slot + 1], &at->values[slot], above);
        memory_.store(&at->keys[slot], key);
        memory_.store(&at->values[slot], value);
        memory_.store(&at->used, static_cast<std::uint16_t>(used + 1));
        return true;
    }

    /// The upper half goes to a new leaf. Requires: `at` is full and announced.
    leaf* split_leaf(leaf* at, split& made) const {
        constexpr std::uint16_t kept = stx_leaf_slots / 2, moved = stx_leaf_slots - kept;
        leaf* const after = memory_.load(&at->next);
        if (after != nullptr) memory_.will_write(&after->previous);
        leaf* const right = make_leaf();
        memory_.store(&right->used, moved);
        memory_.store(&right->previous, at);
        memory_.store(&right->next, after);
        if (after != nullptr) {
            memory_.store(&after->previous, right);
        } else {
            memory_.store(&root_->last, right);
        }
        move(right->keys, &at->keys[kept], moved);
        move(right->values, &at->values[kept], moved);
        memory_.store(&at->used, kept);
        memory_.store(&at->next, right);
        made = {memory_.load(&at->keys[kept - 1]), right};
        return right;
    }

    /// Enters what child `slot` was split into.
    void insert_in_inner(inner* at, std::uint16_t slot, const split& below, split& made) const {
        std::uint16_t used = used_of(at);
        memory_.will_write(at);
        if (used == stx_inner_slots) {
            inner* const right = split_inner(at, slot, made);
            used = used_of(at);
            if (slot == used + 1 && used < used_of(right)) return insert_between(at, right, below, made);
            if (slot > used) {
                slot = static_cast<std::uint16_t>(slot - used - 1);
                used = used_of(right);
                at = right;
            }
        }
        const auto above = static_cast<std::uint16_t>(used - slot);
        move(&at->keys[slot + 1], &at->keys[slot], above);
        move(&at->children[slot + 2], &at->children[slot + 1], above);
        memory_.store(&at->keys[slot], below.key);
        memory_.store(&at->children[slot + 1], below.right);
        memory_.store(&at->used, static_cast<std::uint16_t>(used + 1));
    }

    /// The keys above the middle one go to a new inner node, the middle one to the node above. An even number of keys
    /// leaves one more on one side: on the right, if `slot`, where a child is to be entered, is on the left.
    inner* split_inner(inner* at, std::uint16_t slot, split& made) const {
        std::uint16_t middle = stx_inner_slots / 2;
        if (slot <= middle && middle > stx_inner_slots - (middle + 1)) --middle;
        const auto moved = static_cast<std::uint16_t>(stx_inner_slots - (middle + 1));
        inner* const right = make_inner(level_of(at));
        memory_.store(&right->used, moved);
        move(right->keys, &at->keys[middle + 1], moved);
        move(right->children, &at->children[middle + 1], static_cast<std::uint16_t>(moved + 1));
        memory_.store(&at->used, middle);
        made = {memory_.load(&at->keys[middle]), right};
        return right;
    }

    /// The child that was split is the first of `right`: it goes to the end of `left`, what was split off it stays, and
    /// the key between the two is the one between `left` and `right`.
    void insert_between(inner* left, inner* right, const split& below, split& made) const {
        const std::uint16_t used = used_of(left);
        memory_.store(&left->keys[used], made.key);
        memory_.store(&left->children[used + 1], memory_.load(&right->children[0]));
        memory_.store(&left->used, static_cast<std::uint16_t>(used + 1));
        memory_.store(&right->children[0], below.right);
        made.key = below.key;
    }

    /// What check has walked over.
    struct survey {
        std::uint64_t keys = 0;
        std::uint64_t leaves = 0;
        std::uint64_t inners = 0;
        const leaf* previous = nullptr;  ///< the leaf before
        const leaf* next = nullptr;      ///< the one that has to come now
    };

    /// `low`: all keys are larger. `high`: the largest key.
    const char* check_node(const node* at, std::uint16_t level, const std::int64_t* low, const std::int64_t* high,
                           survey& seen) const {
        if (level_of(at) != level || level > deepest) return "a node is on another level than its place";
        if (level == 0) return check_leaf(static_cast<const leaf*>(at), low, high, seen);
        const auto* const here = static_cast<const inner*>(at);
        const std::uint16_t used = used_of(here);
        if (used > stx_inner_slots || used < (memory_.load(&root_->top) == at ? 1 : stx_inner_slots / 2))
            return "an inner node is too full or too empty";
        ++seen.inners;
        for (std::uint16_t i = 0; i <= used; ++i) {
            const std::int64_t below = i > 0 ? memory_.load(&here->keys[i - 1]) : 0;
            const std::int64_t largest = i < used ? memory_.load(&here->keys[i]) : 0;
            const node* const child = memory_.load(&here->children[i]);
            if (child == nullptr) return "a child is missing";
            const char* const problem = check_node(child, static_cast<std::uint16_t>(level - 1), i > 0 ? &below : low,
                                                   i < used ? &largest : high, seen);
            if (problem != nullptr) return problem;
        }
        return nullptr;
    }

    const char* check_leaf(const leaf* at, const std::int64_t* low, const std::int64_t* high, survey& seen) const {
        if (at != seen.next) return "the leaf links differ from the tree";
        if (memory_.load(&at->previous) != seen.previous) return "a leaf does not link back to the one before";
        const std::uint16_t used = used_of(at);
        if (used > stx_leaf_slots || used < (memory_.load(&root_->top) == at ? 1 : stx_leaf_slots / 2))
            return "a leaf is too full or too empty";
        for (std::uint16_t i = 0; i < used; ++i) {
            const std::int64_t key = memory_.load(&at->keys[i]);
            if (low != nullptr && key <= *low) return "a key is below its node's bound";
            if (i > 0 && key <= memory_.load(&at->keys[i - 1])) return "keys out of order";
        }
        if (high != nullptr && memory_.load(&at->keys[used - 1]) != *high)
            return "an inner key is not the largest of its child";
        seen.keys += used;
        ++seen.leaves;
        seen.previous = at;
        seen.next = memory_.load(&at->next);
        return nullptr;
    }

    Access memory_;
    stx_root* root_;
};

}  // namespace holdfast::workload
