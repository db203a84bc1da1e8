// The nodes of hash_map, and its iterators. The map's face is hash_map.hpp.
#pragma once

#include <holdfast/container/hash_table.hpp>
#include <holdfast/container/key.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace holdfast {

template <class Key, class T, class Engine>
class hash_map;

namespace detail {

/// Hashes of keys that are not plain values are kept: computing one reads another block.
template <class Engine, bool Kept>
struct kept_hash {
    basic_field<Engine, std::uint64_t> hash_value;
};
template <class Engine>
struct kept_hash<Engine, false> {};

template <class Key, class T, class Engine>
struct hash_node : kept_hash<Engine, !detail::is_plain_value<Key>> {
    static constexpr bool keeps_hash = !detail::is_plain_value<Key>;

    std::uint64_t hash() const {
        if constexpr (keeps_hash) {
            return this->hash_value.get();
        } else {
            return key_hash<Key>()(entry.first.get());
        }
    }

    map_entry<Key, T, Engine> entry;
    basic_field<Engine, hash_node*> next;
};

/// An entry of a hash map, and the table it is in.
template <class Key, class T, class Engine, bool Constant>
class hash_iterator {
    using node = hash_node<Key, T, Engine>;
    using table = bucket_table<node, Engine>;

public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = map_entry<Key, T, Engine>;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<Constant, const value_type&, value_type&>;
    using pointer = std::conditional_t<Constant, const value_type*, value_type*>;

    hash_iterator() = default;
    template <bool Other>
        requires(Constant && !Other)
    hash_iterator(const hash_iterator<Key, T, Engine, Other>& other) : table_(other.table_), at_(other.at_) {}

    reference operator*() const { return at_->entry; }
    pointer operator->() const { return &at_->entry; }
    hash_iterator& operator++() {
        node* const next = at_->next.get();
        if (next != nullptr) {
            at_ = next;
        } else {
            go_to_bucket(bucket_place::bucket_of(at_->hash(), table_->buckets()) + 1);
        }
        return *this;
    }
    hash_iterator operator++(int) {
        hash_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const hash_iterator& a, const hash_iterator& b) { return a.at_ == b.at_; }

private:
    friend class hash_map<Key, T, Engine>;
    template <class, class, class, bool>
    friend class hash_iterator;
    hash_iterator(const table* of, node* at) : table_(of), at_(at) {}
    void go_to_bucket(std::uint64_t bucket) {
        for (at_ = nullptr; at_ == nullptr && bucket < table_->buckets(); ++bucket)
            at_ = table_->head(bucket).get();
    }

    const table* table_ = nullptr;
    node* at_ = nullptr;
};

}  // namespace detail
}  // namespace holdfast
