// hash_map: an unordered map that grows without ever rehashing everything.
#pragma once

#include <holdfast/container/algorithm.hpp>
#include <holdfast/container/hash_node.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

namespace holdfast {

/// A map with unique keys in no order, with the names of std::unordered_map. Key: trivially copyable, or string<Engine>
/// (looked up by std::string_view); see key_form, key_hash, key_equal. It is a root, a member of an object in a pool,
/// or an element of a container; zero bytes are an empty map. It takes 24 bytes, a block for each entry, and 8 bytes
/// for each 1 to 4 entries.
///
/// Thread safety: as std::unordered_map; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// References stay valid until their entry is erased, and so do iterators, whose order an insertion
/// or removal may change; all are invalid after rollback and close.
/// Costs: insert logs the entry, a link and the count, and every other one splits a bucket, a few words more; it never
/// grows with the size. clear and destruction log about one bit per freed block; if the log is too small for that,
/// their transaction fails (transaction_too_large), and `while (m.erase_some(1000) != 0);` empties it.
/// Errors: failure (out_of_space, transaction_too_large, misuse); at throws std::out_of_range.
/// A function that fails inside a transaction leaves the map unchanged: if space runs out, an element's constructor
/// throws, or the caller made a mistake. A failure after the first change dooms the transaction: if the log has no room
/// for a store, a block cannot be freed, or an element's own operator= throws in insert_or_assign.
template <class Key, class T, class Engine>
class hash_map {
    using node = detail::hash_node<Key, T, Engine>;
    using table = detail::bucket_table<node, Engine>;
    using link = typename table::link;

public:
    using key_type = Key;
    using mapped_type = held_element<T, Engine>;
    using value_type = detail::map_entry<Key, T, Engine>;
    using key_argument = typename key_form<Key>::argument;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;

    template <bool Constant>
    using basic_iterator = detail::hash_iterator<Key, T, Engine, Constant>;
    using iterator = basic_iterator<false>;
    using const_iterator = basic_iterator<true>;

    hash_map() = default;
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~hash_map() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] {
            drop_all(table_.now());
            table_.free_all();
        });
    }
    hash_map(const hash_map&) = delete;
    hash_map& operator=(const hash_map&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes: by
    /// Engine::make or emplace only.
    hash_map(hash_map&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            table_.take(other.table_);
            count_ = other.count_;
            other.count_ = 0;
        });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    hash_map& operator=(hash_map&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            const typename table::shape before = table_.now();
            table_.take(other.table_);
            count_ = other.count_;
            other.count_ = 0;
            drop_all(before);
            table::free_segments(before);
        });
        return *this;
    }
    /// Invalidates the iterators of both, but not references.
    void swap(hash_map& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            table_.exchange(other.table_);
            holdfast::swap(count_, other.count_);
        });
    }
    friend void swap(hash_map& a, hash_map& b) { a.swap(b); }

    size_type size() const { return count_.get(); }
    bool empty() const { return size() == 0; }
    size_type bucket_count() const { return table_.buckets(); }

    iterator begin() { return first<iterator>(); }
    iterator end() { return iterator(&table_, nullptr); }
    const_iterator begin() const { return first<const_iterator>(); }
    const_iterator end() const { return const_iterator(&table_, nullptr); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }

    iterator find(const key_argument& key) { return iterator(&table_, search(key, hash_of(key))); }
    const_iterator find(const key_argument& key) const { return const_iterator(&table_, search(key, hash_of(key))); }
    bool contains(const key_argument& key) const { return search(key, hash_of(key)) != nullptr; }
    size_type count(const key_argument& key) const { return contains(key) ? 1 : 0; }
    mapped_type& at(const key_argument& key) { return require(key)->entry.second; }
    const mapped_type& at(const key_argument& key) const { return require(key)->entry.second; }
    /// Adds T() for a new key. `m[key] = value` writes a field and needs a transaction; outside one use
    /// insert_or_assign.
    mapped_type& operator[](const key_argument& key) { return try_emplace(key).first->second; }

    /// Adds an entry with the value T(arguments…) if the key is absent.
    template <class... Arguments>
    std::pair<iterator, bool> try_emplace(const key_argument& key, Arguments&&... arguments) {
        return detail::join<Engine>(this, [&]() -> std::pair<iterator, bool> {
            const std::uint64_t hash = hash_of(key);
            if (node* const found = search(key, hash)) return {iterator(&table_, found), false};
            addition added(hash, prepare_growth(hash), key, std::forward<Arguments>(arguments)...);
            return {iterator(&table_, add(added)), true};
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
            const std::uint64_t hash = hash_of(key);
            if (node* const found = search(key, hash)) {
                detail::assign_element<T, Engine>(found->entry.second, std::forward<Value>(value));
                return {iterator(&table_, found), false};
            }
            addition added(hash, prepare_growth(hash), key, std::forward<Value>(value));
            return {iterator(&table_, add(added)), true};
        });
    }

    /// Makes room for `count` entries: below that number no insertion splits a bucket. Removals release such buckets,
    /// two at a time. One transaction: 4 bytes for each entry, without a log if the block is large, and a move of each
    /// existing entry. Errors: out_of_space.
    void reserve(size_type count) {
        detail::modify<Engine>(this, [&] { return table_.prepare(count / 2 + count % 2 + (count == 0 ? 1 : 0)); },
                               [&](typename table::reservation& by) { table_.grow(by, empty()); });
    }

    /// Returns how many it removed: 0 or 1.
    size_type erase(const key_argument& key) {
        return detail::modify<Engine>(this, [&]() -> link* {
            if (table_.buckets() == 0) return nullptr;
            const std::uint64_t hash = hash_of(key);
            link* place = &table_.head_of_hash(hash);
            while (place->get() != nullptr && !matches(place->get(), key, hash)) place = &place->get()->next;
            return place->get() == nullptr ? nullptr : place;
        }, [&](link* place) -> size_type {
            if (place == nullptr) return 0;
            unlink(*place);
            return 1;
        });
    }
    /// Returns the iterator after the removed entry. A traversal of the whole map with it visits every entry exactly
    /// once. Errors: misuse (an iterator of another map, or the end).
    iterator erase(const_iterator place) {
        return detail::modify<Engine>(this, [&] { return link_to(place); }, [&](link* at) {
            iterator after(&table_, place.at_);
            ++after;
            unlink(*at, false);
            return after;
        });
    }
    iterator erase(iterator place) { return erase(const_iterator(place)); }
    /// Removes [first, last) and returns the iterator after it. Errors: misuse (an iterator of another map, or `last`
    /// not after `first`).
    iterator erase(const_iterator first, const_iterator last) {
        return detail::modify<Engine>(this, [&] {
            const_iterator at = first;
            if (first != last) link_to(first);
            while (at != last && at != cend()) ++at;
            if (at != last || last.table_ != &table_)
                fail(errc::misuse, "the iterators are not a range of this hash map");
            return last.at_;
        }, [&](node* behind) {
            const_iterator at = first;
            while (at.at_ != behind) at = erase(at);
            return iterator(&table_, behind);
        });
    }
    /// Removes the entries for which `leaves` is true; returns how many. Evaluates it for all entries before it removes
    /// the first: if it throws, nothing has changed.
    template <class Predicate>
    friend size_type erase_if(hash_map& from, Predicate leaves) {
        return detail::erase_marked<Engine>(from, leaves);
    }
    /// Whether both have the same keys with equal values, in any order.
    friend bool operator==(const hash_map& a, const hash_map& b)
        requires std::equality_comparable<T>
    {
        if (a.size() != b.size()) return false;
        for (const value_type& each : a) {
            const bool is_in_b = key_form<Key>::read(each.first, [&](const key_argument& key) {
                const const_iterator other = b.find(key);
                return other != b.end() && detail::same_element<T, Engine>(each.second, other->second);
            });
            if (!is_in_b) return false;
        }
        return true;
    }
    /// Removes up to `limit` entries in no order; returns how many. For clearing in steps what is too large for one
    /// transaction.
    size_type erase_some(size_type limit) {
        return detail::modify<Engine>(this, [&] {
            size_type erased = 0;
            while (erased < limit && !empty()) {
                link& head = table_.head(table_.buckets() - 1);
                if (head.get() == nullptr && table_.buckets() > table::first_buckets) {
                    table_.merge_one();
                } else if (head.get() != nullptr) {
                    unlink(head, false);
                    ++erased;
                } else {
                    unlink(table_.head_of_hash(begin().at_->hash()), false);
                    ++erased;
                }
            }
            if (empty()) table_.release();
            return erased;
        });
    }
    /// Removes everything and frees all blocks.
    void clear() {
        detail::modify<Engine>(this, [&] {
            drop_all(table_.now());
            table_.release();
            if (!empty()) count_ = 0;
        });
    }

    /// Calls f with every block that this map and its elements own.
    template <class F>
    void visit_blocks(F&& f) const {
        table_.visit_blocks(f);
        for (const_iterator at = begin(); at != end(); ++at) {
            f(static_cast<const void*>(at.at_));
            detail::visit_element(at->first, f);
            detail::visit_element(at->second, f);
        }
    }
    /// Bounds, every entry in its bucket, the count, and the elements' own. Errors: corrupt; misuse
    /// outside a pool.
    result<void> check() const {
        const detail::bounds pool(this);
        if (!pool.known()) return detail::bounds::unknown();
        if (auto checked = table_.check(pool); !checked) return checked;
        std::uint64_t found = 0;
        for (std::uint64_t bucket = 0; bucket < table_.buckets(); ++bucket) {
            for (const node* at = table_.head(bucket).get(); at != nullptr; at = at->next.get()) {
                if (!pool.hold(at, sizeof(node)))
                    return pool.broken_pointer(this, "a hash map's node is out of bounds");
                if (++found > size())
                    return pool.broken(this, "a hash map has more entries than counted", size(), found);
                if (auto checked = check_node(pool, *at, bucket); !checked) return checked;
            }
        }
        if (found != size()) return pool.broken(this, "a hash map has fewer entries than counted", size(), found);
        return {};
    }

private:
    static std::uint64_t hash_of(const key_argument& key) { return key_hash<Key>()(key); }

    template <class Iterator>
    Iterator first() const {
        Iterator at(&table_, nullptr);
        if (size() != 0) at.go_to_bucket(0);
        return at;
    }
    static bool matches(const node* at, const key_argument& key, std::uint64_t hash) {
        if constexpr (node::keeps_hash) {
            if (at->hash() != hash) return false;
        }
        return key_form<Key>::read(at->entry.first,
                                   [&](const key_argument& other) { return key_equal<Key>()(other, key); });
    }
    node* search(const key_argument& key, std::uint64_t hash) const {
        if (table_.buckets() == 0) return nullptr;
        node* at = table_.head_of_hash(hash).get();
        while (at != nullptr && !matches(at, key, hash)) at = at->next.get();
        return at;
    }
    node* require(const key_argument& key) const {
        node* const found = search(key, hash_of(key));
        if (found == nullptr) throw std::out_of_range("holdfast::hash_map::at");
        return found;
    }

    /// The link that names the entry.
    link* link_to(const_iterator place) {
        link* at = nullptr;
        if (place.table_ == &table_ && place.at_ != nullptr && table_.buckets() != 0)
            at = &table_.head_of_hash(place.at_->hash());
        while (at != nullptr && at->get() != place.at_) at = at->get() != nullptr ? &at->get()->next : nullptr;
        if (at == nullptr) fail(errc::misuse, "the iterator does not belong to this hash map");
        return at;
    }

    static held_element<Key, Engine>* key_in(node* at) {
        return const_cast<held_element<Key, Engine>*>(&at->entry.first);
    }
    /// A node that no link names yet, with what the table needs for it.
    struct addition {
        template <class... Arguments>
        addition(std::uint64_t of, typename table::growth by, const key_argument& key, Arguments&&... arguments)
            : hash(of), growth(std::move(by)), block(sizeof(node), detail::block_alignment<node>) {
            node* const made = block.template as<node>();
            if constexpr (!is_value) {
                Engine::will_write(made, sizeof(node));
                if constexpr (node::keeps_hash) made->hash_value = hash;
            }
            first.emplace(key_in(made), key);
            second.emplace(&made->entry.second, std::forward<Arguments>(arguments)...);
        }
        std::uint64_t hash;
        typename table::growth growth{};
        detail::new_block<Engine> block{};
        std::optional<detail::new_element<Key, Engine>> first{};
        std::optional<detail::new_element<T, Engine>> second{};
    };
    /// Whether an entry is stored when it is linked, and not built before.
    static constexpr bool is_value = detail::is_plain_value<Key> && detail::is_plain_value<T>;

    typename table::growth prepare_growth(std::uint64_t hash) const {
        const std::uint64_t buckets = table_.buckets();
        if (buckets == 0) return table_.prepare_first_buckets();
        // Two nodes for each bucket at most, on average: one split for every second insertion.
        typename table::growth by;
        if (size() + 1 > 2 * buckets) by = table_.prepare_split();
        // What an engine logs for the insertion shares a fence with what it logs for the entry.
        if (!is_value && !by.segment) {
            if (by.wanted) table_.hint_split();
            Engine::will_write(&table_.head(detail::bucket_place::bucket_of(hash, buckets + by.wanted)), sizeof(link));
            Engine::will_write(&count_, sizeof count_);
        }
        return by;
    }
    node* add(addition& added) {
        return detail::all_or_doom(current_transaction<Engine>(), [&] {
            table_.grow(added.growth);
            node* const made = added.block.template as<node>();
            link& head = table_.head_of_hash(added.hash);
            if constexpr (is_value) Engine::will_write(made, sizeof(node));
            Engine::will_write(&head, sizeof head);
            Engine::will_write(&count_, sizeof count_);
            added.first->put(key_in(made));
            added.second->put(&made->entry.second);
            made->next = head.get();
            head = made;
            added.block.keep();
            count_ = size() + 1;
            return made;
        });
    }
    /// Frees a node that no link names any more.
    void drop(node* at) {
        detail::destroy_element(const_cast<held_element<Key, Engine>*>(&at->entry.first));
        detail::destroy_element(&at->entry.second);
        Engine::deallocate(at);
    }
    void drop_all(const typename table::shape& of) {
        for (std::uint64_t bucket = 0; bucket < of.buckets; ++bucket) {
            for (node* at = of.head(bucket).get(); at != nullptr;) {
                node* const next = at->next.get();
                drop(at);
                at = next;
            }
        }
    }
    void unlink(link& place, bool shrink = true) {
        node* const leaving = place.get();
        Engine::will_write(&place, sizeof place);
        Engine::will_write(&count_, sizeof count_);
        place = leaving->next.get();
        count_ = size() - 1;
        drop(leaving);
        // Far from the splitting point, so that neither undoes the other; two, so that it catches up.
        for (int merges = 0; shrink && merges < 2 && size() * 2 < table_.buckets(); ++merges) table_.merge_one();
    }
    result<void> check_node(const detail::bounds& pool, const node& at, std::uint64_t bucket) const {
        if (auto checked = detail::check_element(at.entry.first); !checked) return checked;
        if (auto checked = detail::check_element(at.entry.second); !checked) return checked;
        const std::uint64_t hash =
            key_form<Key>::read(at.entry.first, [](const key_argument& key) { return hash_of(key); });
        const std::uint64_t wanted = detail::bucket_place::bucket_of(hash, table_.buckets());
        if (wanted != bucket) return pool.broken(&at, "a hash map's entry is in the wrong bucket", wanted, bucket);
        if (at.hash() != hash)
            return pool.broken(&at, "a hash map's entry has another hash than its key", hash, at.hash());
        return {};
    }

    table table_;
    basic_field<Engine, std::uint64_t> count_;
};

}  // namespace holdfast
