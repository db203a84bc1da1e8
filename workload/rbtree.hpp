// A red-black tree with parent links: few stores spread over many nodes.
// Algorithm: Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, chapter 13, without a
// sentinel: a shared sentinel would be stored to by every removal.
#pragma once

#include <workload/access.hpp>
#include <workload/prefill.hpp>

namespace holdfast::workload {

struct rbtree_node {
    std::int64_t key;
    std::int64_t value;
    rbtree_node* child[2];  ///< left, right
    rbtree_node* parent;
    std::uint64_t red;
};

/// The persistent part. All zero is a valid empty tree.
struct rbtree_root {
    rbtree_node* top;
    std::uint64_t count;
};

/// The same without the count, in which all changes would meet: for threads that share a tree.
struct rbtree_uncounted_root {
    rbtree_node* top;
};

/// A map from 64-bit keys to 64-bit values.
///
/// insert adds a key that is absent, update changes the value of one that is present, remove takes
/// one away; each returns whether it did, and does nothing otherwise. get looks.
/// All but get, first, each, check and prefill: inside a transaction. Thread safety: none.
template <access Access, class Root = rbtree_root>
class rbtree {
    static constexpr bool counted = requires(Root* root) { root->count; };

public:
    rbtree(Access memory, Root* root) noexcept : memory_(memory), root_(root) {}

    /// Fills it as prefill_map does.
    bool prefill(std::uint64_t first, std::uint64_t count, std::uint64_t batch = 64) const {
        return prefill_map(memory_, *this, first, count, batch);
    }

    bool insert(std::int64_t key, std::int64_t value) const {
        node* parent = nullptr;
        unsigned side = 0;
        for (node* at = top(); at != nullptr; at = child(at, side)) {
            const std::int64_t here = memory_.load(&at->key);
            if (here == key) return false;
            parent = at;
            side = key > here ? 1 : 0;
        }
        auto* made = static_cast<node*>(memory_.allocate(sizeof(node)));
        memory_.will_write(made);
        will_count();
        if (parent != nullptr) memory_.will_write(parent);
        memory_.store(&made->key, key);
        memory_.store(&made->value, value);
        memory_.store(&made->child[0], nullptr);
        memory_.store(&made->child[1], nullptr);
        memory_.store(&made->parent, parent);
        memory_.store(&made->red, parent != nullptr ? 1 : 0);  // the top is black
        if (parent == nullptr) {
            memory_.store(&root_->top, made);
        } else {
            memory_.store(&parent->child[side], made);
        }
        if constexpr (counted) memory_.store(&root_->count, count() + 1);
        settle_insertion(made);
        return true;
    }

    bool update(std::int64_t key, std::int64_t value) const {
        node* const found = find(key);
        if (found == nullptr) return false;
        memory_.store(&found->value, value);
        return true;
    }

    bool remove(std::int64_t key) const {
        node* const found = find(key);
        if (found == nullptr) return false;
        // The node that leaves its place has at most one child.
        node* leaving = found;
        if (child(found, 0) != nullptr && child(found, 1) != nullptr) {
            leaving = child(found, 1);
            while (child(leaving, 0) != nullptr) leaving = child(leaving, 0);
        }
        node* const heir = child(leaving, child(leaving, 0) != nullptr ? 0 : 1);
        node* const above = parent(leaving);
        const bool was_red = red(leaving);
        if (heir != nullptr) memory_.will_write(&heir->parent);
        will_count();
        if (above != nullptr) memory_.will_write(above);
        if (leaving != found) {
            memory_.will_write(found);
            memory_.store(&found->key, memory_.load(&leaving->key));
            memory_.store(&found->value, memory_.load(&leaving->value));
        }
        replace_child(above, leaving, heir);
        if (heir != nullptr) memory_.store(&heir->parent, above);
        if (!was_red) settle_removal(heir, above);
        if constexpr (counted) memory_.store(&root_->count, count() - 1);
        memory_.free(leaving);
        return true;
    }

    bool get(std::int64_t key, std::int64_t& value) const {
        const node* const found = find(key);
        if (found != nullptr) value = memory_.load(&found->value);
        return found != nullptr;
    }

    /// The smallest key and its value. False if there is none.
    bool first(std::int64_t& key, std::int64_t& value) const {
        if (top() == nullptr) return false;
        const node* const found = first_below(top());
        key = memory_.load(&found->key);
        value = memory_.load(&found->value);
        return true;
    }

    /// Calls f(key, value) for each entry, in the order of the keys.
    template <class F>
    void each(F&& f) const {
        const node* at = top() != nullptr ? first_below(top()) : nullptr;
        while (at != nullptr) {
            f(memory_.load(&at->key), memory_.load(&at->value));
            at = next(at);
        }
    }

    std::uint64_t count() const
        requires counted
    {
        return memory_.load(&root_->count);
    }

    /// Order, parent links, no red node under a red one, equal black heights, and the count where there is one.
    check_report check() const {
        check_report report;
        if (top() != nullptr && red(top())) return report.problem = "the top is red", report;
        if (top() != nullptr && parent(top()) != nullptr) return report.problem = "the top has a parent", report;
        std::uint64_t blacks = 0;   // on the way from the top to `at`, itself included
        std::uint64_t height = 0;   // the same for the first end found
        const node* from = nullptr;
        const node* at = top();
        std::int64_t last_key = 0;
        while (at != nullptr) {
            const node* const left = child(at, 0);
            const node* const right = child(at, 1);
            const node* next = nullptr;
            if (from == parent(at)) {
                blacks += red(at) ? 0u : 1u;
                if (report.problem = problem_at(at, left, right); report.problem != nullptr) return report;
                if (left == nullptr || right == nullptr) {
                    if (height == 0) height = blacks;
                    if (height != blacks) return report.problem = "black heights differ", report;
                }
                next = left;
            }
            if (next == nullptr && (from == parent(at) || from == left)) {
                const std::int64_t key = memory_.load(&at->key);
                if (report.count > 0 && key <= last_key) return report.problem = "keys out of order", report;
                last_key = key;
                ++report.count;
                if (!count_is([&](std::uint64_t all) { return report.count <= all; }))
                    return report.problem = "more nodes than counted", report;
                next = right;
            }
            if (next == nullptr) {
                blacks -= red(at) ? 0u : 1u;
                next = parent(at);
            }
            from = at;
            at = next;
        }
        if (!count_is([&](std::uint64_t all) { return report.count == all; }))
            report.problem = "fewer nodes than counted";
        return report;
    }

private:
    using node = rbtree_node;

    void will_count() const {
        if constexpr (counted) memory_.will_write(&root_->count);
    }
    template <class F>
    bool count_is(F&& as_expected) const {
        if constexpr (counted) return as_expected(count());
        return true;
    }

    node* top() const { return memory_.load(&root_->top); }
    node* child(const node* at, unsigned side) const { return memory_.load(&at->child[side]); }
    node* parent(const node* at) const { return memory_.load(&at->parent); }
    bool red(const node* at) const { return memory_.load(&at->red) != 0; }
    const node* first_below(const node* at) const {
        while (child(at, 0) != nullptr) at = child(at, 0);
        return at;
    }
    const node* next(const node* at) const {
        if (child(at, 1) != nullptr) return first_below(child(at, 1));
        const node* above = parent(at);
        while (above != nullptr && child(above, 1) == at) {
            at = above;
            above = parent(at);
        }
        return above;
    }
    bool is_red(const node* at) const { return at != nullptr && red(at); }
    unsigned side_of(const node* at, const node* above) const { return child(above, 1) == at ? 1 : 0; }
    void paint(node* at, bool to_red) const {
        if (red(at) != to_red) memory_.store(&at->red, to_red ? 1 : 0);
    }

    node* find(std::int64_t key) const {
        node* at = top();
        while (at != nullptr) {
            const std::int64_t here = memory_.load(&at->key);
            if (here == key) break;
            at = child(at, key > here ? 1 : 0);
        }
        return at;
    }

    const char* problem_at(const node* at, const node* left, const node* right) const {
        if (left != nullptr && parent(left) != at) return "a left child has another parent";
        if (right != nullptr && parent(right) != at) return "a right child has another parent";
        if (red(at) && (is_red(left) || is_red(right))) return "a red node has a red child";
        return nullptr;
    }

    void replace_child(node* above, const node* old_child, node* new_child) const {
        if (above == nullptr) {
            memory_.store(&root_->top, new_child);
        } else {
            memory_.store(&above->child[side_of(old_child, above)], new_child);
        }
    }

    /// Moves `at` down to `side`; its child on the other side takes its place.
    void rotate(node* at, unsigned side) const {
        node* const riser = child(at, 1 - side);
        node* const inner = child(riser, side);
        node* const above = parent(at);
        memory_.will_write(at);
        memory_.will_write(riser);
        if (above != nullptr) memory_.will_write(above);
        if (inner != nullptr) memory_.will_write(&inner->parent);
        memory_.store(&at->child[1 - side], inner);
        if (inner != nullptr) memory_.store(&inner->parent, at);
        memory_.store(&riser->parent, above);
        replace_child(above, at, riser);
        memory_.store(&riser->child[side], at);
        memory_.store(&at->parent, riser);
    }

    void settle_insertion(node* at) const {
        node* above = parent(at);
        while (is_red(above)) {
            node* const grand = parent(above);
            const unsigned side = side_of(above, grand);
            node* const uncle = child(grand, 1 - side);
            memory_.will_write(&grand->red);
            memory_.will_write(&above->red);
            if (is_red(uncle)) {
                memory_.will_write(&uncle->red);
                paint(above, false);
                paint(uncle, false);
                if (parent(grand) == nullptr) return;
                paint(grand, true);
                at = grand;
                above = parent(at);
                continue;
            }
            if (child(above, 1 - side) == at) {
                rotate(above, side);
                above = at;
            }
            paint(above, false);
            paint(grand, true);
            rotate(grand, 1 - side);
            return;
        }
    }

    /// `at` (which may be none) under `above` lacks one black.
    void settle_removal(node* at, node* above) const {
        while (above != nullptr && !is_red(at)) {
            const unsigned side = at != nullptr ? side_of(at, above) : (child(above, 0) == nullptr ? 0 : 1);
            node* sibling = child(above, 1 - side);
            if (red(sibling)) {
                paint(sibling, false);
                paint(above, true);
                rotate(above, side);
                sibling = child(above, 1 - side);
            }
            if (!is_red(child(sibling, 0)) && !is_red(child(sibling, 1))) {
                paint(sibling, true);
                at = above;
                above = parent(at);
                continue;
            }
            if (!is_red(child(sibling, 1 - side))) {
                paint(child(sibling, side), false);
                paint(sibling, true);
                rotate(sibling, 1 - side);
                sibling = child(above, 1 - side);
            }
            paint(sibling, red(above));
            paint(above, false);
            paint(child(sibling, 1 - side), false);
            rotate(above, side);
            return;
        }
        if (at != nullptr) paint(at, false);
    }

    Access memory_;
    Root* root_;
};

}  // namespace holdfast::workload
