// A map in the order of its keys: the red-black tree with values of a type.
#pragma once

#include <workload/rbtree.hpp>

#include <type_traits>

namespace holdfast::workload {

namespace detail {

/// A value as the tree keeps it.
template <class T>
std::int64_t to_tree(T value) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::int64_t>(value);
    } else {
        return static_cast<std::int64_t>(value);
    }
}
template <class T>
T from_tree(std::int64_t kept) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(kept);
    } else {
        return static_cast<T>(kept);
    }
}

}  // namespace detail

/// `Value` is a pointer or an integer. insert adds a key that is absent, update changes the value of one that is
/// present, remove takes one away; each returns whether it did, and does nothing otherwise. get looks.
///
/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions. There is no
/// count, in which all changes would meet.
template <access Access, class Value>
    requires std::is_pointer_v<Value> || std::is_integral_v<Value>
class map {
public:
    map(Access memory, rbtree_uncounted_root* root) noexcept : tree_(memory, root) {}

    bool insert(std::int64_t key, Value value) const { return tree_.insert(key, detail::to_tree(value)); }
    bool update(std::int64_t key, Value value) const { return tree_.update(key, detail::to_tree(value)); }
    bool remove(std::int64_t key) const { return tree_.remove(key); }
    bool contains(std::int64_t key) const {
        std::int64_t kept = 0;
        return tree_.get(key, kept);
    }
    bool get(std::int64_t key, Value& value) const {
        std::int64_t kept = 0;
        if (!tree_.get(key, kept)) return false;
        value = detail::from_tree<Value>(kept);
        return true;
    }

    /// The smallest key and its value. False if there is none.
    bool first(std::int64_t& key, Value& value) const {
        std::int64_t kept = 0;
        if (!tree_.first(key, kept)) return false;
        value = detail::from_tree<Value>(kept);
        return true;
    }

    /// Calls f(key, value) for each entry, in the order of the keys.
    template <class F>
    void each(F&& f) const {
        tree_.each([&](std::int64_t key, std::int64_t kept) { f(key, detail::from_tree<Value>(kept)); });
    }

    /// The tree's invariants, and how many entries there are.
    check_report check() const { return tree_.check(); }

private:
    rbtree<Access, rbtree_uncounted_root> tree_;
};

}  // namespace holdfast::workload
