// btree_map: an ordered map.
#pragma once

#include <holdfast/container/algorithm.hpp>
#include <holdfast/container/btree_tree.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace holdfast {

/// A map with unique keys in order, with the names of std::map: a B+ tree of up to 15 entries a leaf.
/// Key: trivially copyable, or string<Engine> (looked up by std::string_view); see key_form and key_less.
/// Less orders keys as functions take them, strictly and totally, and has no state: std::greater<> is one. It is part
/// of the pool's contents: check() finds keys in another order. The map is a root, a member of an object in a pool, or
/// an element of a container; zero bytes are an empty map. It takes 24 bytes and its leaves, which are full if keys
/// arrived in order and otherwise about 2/3 full; see detail::btree_tree for the minimum.
///
/// Thread safety: as std::map; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// Iterators are invalid after any insertion, removal, rollback and close; references to an entry
/// stay valid until a removal or a split of its leaf.
/// Costs: all in O(log n). insert logs the entry, a word for its place and the count; a split, every 8th insertion or
/// so, 7 entries more. clear and destruction log about one bit per freed block; if the log is too small for that, their
/// transaction fails (transaction_too_large), and `while (m.erase_some(1000) != 0);` empties it.
/// Errors: failure (out_of_space, transaction_too_large, misuse); at throws std::out_of_range.
/// A function that fails inside a transaction leaves the map unchanged: if space runs out, an element's constructor
/// throws, or the caller made a mistake. A failure after the first change dooms the transaction: if the log has no room
/// for a store, a block cannot be freed, an element's own operator= throws in insert_or_assign, or the copy of a key
/// throws in erase after the first entry of a range.
template <class Key, class T, class Engine, class Less = key_less<Key>>
class btree_map {
    static_assert(std::is_empty_v<Less>, "the order of a btree map is a type without members: nothing stores them");
    using tree = detail::btree_tree<Key, T, Engine, Less>;
    using leaf = typename tree::leaf;
    using position = typename tree::position;
    using path = typename tree::path;

public:
    using key_type = Key;
    using mapped_type = held_element<T, Engine>;
    using value_type = detail::map_entry<Key, T, Engine>;
    using key_argument = typename key_form<Key>::argument;
    using key_compare = Less;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;

    /// `iterator` and `const_iterator`.
    template <bool Constant>
    class basic_iterator {
    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = detail::map_entry<Key, T, Engine>;
        using difference_type = std::ptrdiff_t;
        using reference = std::conditional_t<Constant, const value_type&, value_type&>;
        using pointer = std::conditional_t<Constant, const value_type*, value_type*>;

        basic_iterator() = default;
        template <bool Other>
            requires(Constant && !Other)
        basic_iterator(const basic_iterator<Other>& other)
            : tree_(other.tree_), leaf_(other.leaf_), index_(other.index_) {}

        reference operator*() const { return leaf_->at(index_); }
        pointer operator->() const { return &leaf_->at(index_); }
        basic_iterator& operator++() {
            if (++index_ == leaf_->order().count()) {
                leaf_ = leaf_->next.get();
                index_ = 0;
            }
            return *this;
        }
        basic_iterator& operator--() {
            if (index_ == 0) {
                leaf_ = leaf_ == nullptr ? tree_->edge(true) : leaf_->previous.get();
                index_ = leaf_->order().count();
            }
            --index_;
            return *this;
        }
        basic_iterator operator++(int) {
            basic_iterator before = *this;
            ++*this;
            return before;
        }
        basic_iterator operator--(int) {
            basic_iterator before = *this;
            --*this;
            return before;
        }
        friend bool operator==(const basic_iterator& a, const basic_iterator& b) {
            return a.leaf_ == b.leaf_ && a.index_ == b.index_;
        }

    private:
        friend class btree_map;
        template <bool>
        friend class basic_iterator;
        basic_iterator(const tree* of, position place) : tree_(of), leaf_(place.node), index_(place.index) {
            if (leaf_ != nullptr && index_ == leaf_->order().count()) {
                leaf_ = leaf_->next.get();
                index_ = 0;
            }
        }

        const tree* tree_ = nullptr;
        leaf* leaf_ = nullptr;
        unsigned index_ = 0;
    };
    using iterator = basic_iterator<false>;
    using const_iterator = basic_iterator<true>;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    btree_map() = default;
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~btree_map() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] { tree_.free_all(); });
    }
    btree_map(const btree_map&) = delete;
    btree_map& operator=(const btree_map&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes: by
    /// Engine::make or emplace only.
    btree_map(btree_map&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { tree_.take(other.tree_, false); });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    btree_map& operator=(btree_map&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { tree_.take(other.tree_, true); });
        return *this;
    }
    /// Invalidates the iterators of both, but not references.
    void swap(btree_map& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { tree_.exchange(other.tree_); });
    }
    friend void swap(btree_map& a, btree_map& b) { a.swap(b); }

    size_type size() const { return tree_.size(); }
    bool empty() const { return size() == 0; }

    iterator begin() { return iterator(&tree_, {tree_.edge(false), 0}); }
    iterator end() { return iterator(&tree_, {}); }
    const_iterator begin() const { return const_iterator(&tree_, {tree_.edge(false), 0}); }
    const_iterator end() const { return const_iterator(&tree_, {}); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

    iterator find(const key_argument& key) { return iterator(&tree_, search(key)); }
    const_iterator find(const key_argument& key) const { return const_iterator(&tree_, search(key)); }
    bool contains(const key_argument& key) const { return search(key).node != nullptr; }
    size_type count(const key_argument& key) const { return contains(key) ? 1 : 0; }
    /// The first entry whose key is not below `key`.
    iterator lower_bound(const key_argument& key) { return iterator(&tree_, position_at_or_after(key)); }
    const_iterator lower_bound(const key_argument& key) const {
        return const_iterator(&tree_, position_at_or_after(key));
    }
    /// The first entry whose key is above `key`.
    iterator upper_bound(const key_argument& key) { return iterator(&tree_, position_after(key)); }
    const_iterator upper_bound(const key_argument& key) const { return const_iterator(&tree_, position_after(key)); }
    std::pair<iterator, iterator> equal_range(const key_argument& key) { return {lower_bound(key), upper_bound(key)}; }
    std::pair<const_iterator, const_iterator> equal_range(const key_argument& key) const {
        return {lower_bound(key), upper_bound(key)};
    }
    mapped_type& at(const key_argument& key) { return require(key)->second; }
    const mapped_type& at(const key_argument& key) const { return require(key)->second; }
    /// Adds T() for a new key. `m[key] = value` writes a field and needs a transaction; outside one use
    /// insert_or_assign.
    mapped_type& operator[](const key_argument& key) { return try_emplace(key).first->second; }

    /// Adds an entry with the value T(arguments…) if the key is absent.
    template <class... Arguments>
    std::pair<iterator, bool> try_emplace(const key_argument& key, Arguments&&... arguments) {
        return detail::join<Engine>(this, [&]() -> std::pair<iterator, bool> {
            path way;
            const position place = belongs(key, &way);
            if (place.node != nullptr && tree::is_at(*place.node, place.index, key))
                return {iterator(&tree_, place), false};
            typename tree::addition added(tree_, key, place, way, std::forward<Arguments>(arguments)...);
            return {iterator(&tree_, tree_.add(added)), true};
        });
    }
    template <class... Arguments>
    std::pair<iterator, bool> emplace(const key_argument& key, Arguments&&... arguments) {
        return try_emplace(key, std::forward<Arguments>(arguments)...);
    }
    template <class First, class Second>
    std::pair<iterator, bool> insert(const std::pair<First, Second>& entry) {
        return try_emplace(key_argument(entry.first), entry.second);
    }
    std::pair<iterator, bool> insert(const std::pair<key_argument, T>& entry)
        requires detail::is_plain_value<T>
    {
        return try_emplace(entry.first, entry.second);
    }
    template <class Value>
    std::pair<iterator, bool> insert_or_assign(const key_argument& key, Value&& value) {
        return detail::join<Engine>(this, [&]() -> std::pair<iterator, bool> {
            path way;
            const position place = belongs(key, &way);
            if (place.node != nullptr && tree::is_at(*place.node, place.index, key)) {
                detail::assign_element<T, Engine>(place.node->at(place.index).second, std::forward<Value>(value));
                return {iterator(&tree_, place), false};
            }
            typename tree::addition added(tree_, key, place, way, std::forward<Value>(value));
            return {iterator(&tree_, tree_.add(added)), true};
        });
    }

    /// Replaces the contents by [first, last): pairs of a key and the arguments of a value, with strictly ascending
    /// keys. Builds full leaves without a search, before the old entries go, in one transaction, which logs all of it.
    /// For a larger range insert the keys in order, many per transaction, which fills the leaves as well. Errors:
    /// misuse (keys out of order; the map is as it was).
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    void assign_sorted(Iterator first, Sentinel last) {
        detail::modify<Engine>(this, [&] {
            return detail::build_out_of<T, Engine, Iterator>([&] {
                typename tree::loaded all;
                for (; first != last; ++first) {
                    auto&& each = *first;
                    all.add(key_argument(each.first), std::forward<decltype(each)>(each).second);
                }
                all.finish();
                return all;
            });
        }, [&](typename tree::loaded& all) { tree_.adopt(all); });
    }

    /// Returns how many it removed: 0 or 1.
    size_type erase(const key_argument& key) {
        return detail::modify<Engine>(this, [&] {
            removal gone;
            gone.place = belongs(key, &gone.way);
            if (gone.place.node != nullptr && !tree::is_at(*gone.place.node, gone.place.index, key)) gone.place = {};
            return gone;
        }, [&](removal& gone) -> size_type {
            if (gone.place.node == nullptr) return 0;
            tree_.remove(gone.place, gone.way);
            return 1;
        });
    }
    /// Returns the iterator after the removed entry. Errors: misuse (an iterator of another map, or the end).
    iterator erase(const_iterator place) {
        return detail::modify<Engine>(this, [&] { return key_of(require_here(place)); },
                                      [&](const typename tree::owned& key) {
                                          erase(key_argument(key));
                                          return lower_bound(key_argument(key));
                                      });
    }
    iterator erase(iterator place) { return erase(const_iterator(place)); }
    /// Removes [first, last) and returns the iterator after it. Errors: misuse (an iterator of another map, or `last`
    /// before `first`).
    iterator erase(const_iterator first, const_iterator last) {
        const bool to_end = last == cend();
        return detail::modify<Engine>(this, [&] {
            if (first != last) require_here(first);
            typename tree::owned end_key = to_end ? typename tree::owned() : key_of(require_here(last));
            const bool is_here = first.tree_ == &tree_ && last.tree_ == &tree_;
            if (!is_here || (first != last && !to_end && !is_below(first, key_argument(end_key))))
                fail(errc::misuse, "the iterators are not a range of this btree map");
            return end_key;
        }, [&](const typename tree::owned& end_key) {
            if (first == last) return iterator(&tree_, position{last.leaf_, last.index_});
            iterator at = erase(first);
            while (at != end() && (to_end || is_below(at, key_argument(end_key)))) at = erase(const_iterator(at));
            return at;
        });
    }
    /// Removes the entries for which `leaves` is true; returns how many. Evaluates it for all entries before it removes
    /// the first: if it throws, nothing has changed.
    template <class Predicate>
    friend size_type erase_if(btree_map& from, Predicate leaves) {
        return detail::erase_marked<Engine>(from, leaves);
    }
    /// Whether both have the same keys with equal values.
    friend bool operator==(const btree_map& a, const btree_map& b)
        requires std::equality_comparable<T>
    {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
                   return detail::same_element<Key, Engine>(x.first, y.first) &&
                          detail::same_element<T, Engine>(x.second, y.second);
               });
    }
    /// Removes up to `limit` entries, lowest keys first; returns how many. For clearing in steps what is too large for
    /// one transaction.
    size_type erase_some(size_type limit) {
        return detail::modify<Engine>(this, [&] {
            size_type erased = 0;
            for (; erased < limit && !empty(); ++erased) erase(cbegin());
            return erased;
        });
    }
    /// Removes everything and frees all blocks.
    void clear() {
        detail::modify<Engine>(this, [&] { tree_.clear(); });
    }

    /// Calls f with every block that this map and its elements own.
    template <class F>
    void visit_blocks(F&& f) const {
        tree_.visit_blocks(f);
    }
    /// Bounds, order, fill, leaf links, the count, and the elements' own. Errors: corrupt; misuse
    /// outside a pool.
    result<void> check() const { return tree_.check(); }

private:
    struct removal {
        position place;
        path way;
    };
    const_iterator require_here(const_iterator place) const {
        if (place.tree_ != &tree_ || place.leaf_ == nullptr)
            fail(errc::misuse, "the iterator does not belong to this btree map");
        return place;
    }
    /// Where `key` is or would be; no node in an empty map.
    position belongs(const key_argument& key, path* way) const {
        leaf* const node = tree_.descend(key, way);
        return {node, node == nullptr ? 0 : tree::lower(*node, key)};
    }
    position position_at_or_after(const key_argument& key) const { return belongs(key, nullptr); }
    position position_after(const key_argument& key) const {
        leaf* const node = tree_.descend(key, nullptr);
        return {node, node == nullptr ? 0 : tree::upper(*node, key)};
    }
    position search(const key_argument& key) const {
        const position place = belongs(key, nullptr);
        if (place.node != nullptr && tree::is_at(*place.node, place.index, key)) return place;
        return {};
    }
    value_type* require(const key_argument& key) const {
        const position place = search(key);
        if (place.node == nullptr) throw std::out_of_range("holdfast::btree_map::at");
        return &place.node->at(place.index);
    }
    static typename tree::owned key_of(const_iterator place) {
        return key_form<Key>::read(place->first, [](const key_argument& key) { return typename tree::owned(key); });
    }
    static bool is_below(const_iterator place, const key_argument& key) {
        return key_form<Key>::read(place->first,
                                   [&](const key_argument& other) { return Less()(other, key); });
    }

    tree tree_;
};

}  // namespace holdfast
