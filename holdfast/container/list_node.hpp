// The nodes of list, its iterators, and chains of nodes on their way in. The list's face is list.hpp.
#pragma once

#include <holdfast/container/algorithm.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace holdfast {

template <class T, class Engine>
class list;

namespace detail {

template <class T, class Engine>
struct list_node {
    using value_type = held_element<T, Engine>;

    /// The node that an element is in.
    static list_node* holding(value_type* element) {
        constexpr std::size_t links = 2 * sizeof(void*);
        constexpr std::size_t offset = (links + alignof(value_type) - 1) / alignof(value_type) * alignof(value_type);
        return reinterpret_cast<list_node*>(reinterpret_cast<std::byte*>(element) - offset);
    }

    basic_field<Engine, list_node*> previous;
    basic_field<Engine, list_node*> next;
    value_type element;
};

/// An element, and the field that names the last node of its list: the end iterator steps back by it, and is identified
/// by it.
template <class T, class Engine, bool Constant>
class list_iterator {
    using node = list_node<T, Engine>;

public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = held_element<T, Engine>;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<Constant, const value_type&, value_type&>;
    using pointer = std::conditional_t<Constant, const value_type*, value_type*>;

    list_iterator() = default;
    template <bool Other>
        requires(Constant && !Other)
    list_iterator(const list_iterator<T, Engine, Other>& other) : last_(other.last_), at_(other.at_) {}

    reference operator*() const { return at_->element; }
    pointer operator->() const { return &at_->element; }
    list_iterator& operator++() {
        at_ = at_->next;
        return *this;
    }
    list_iterator& operator--() {
        at_ = at_ == nullptr ? last_->get() : at_->previous.get();
        return *this;
    }
    list_iterator operator++(int) {
        list_iterator before = *this;
        ++*this;
        return before;
    }
    list_iterator operator--(int) {
        list_iterator before = *this;
        --*this;
        return before;
    }
    friend bool operator==(const list_iterator& a, const list_iterator& b) { return a.at_ == b.at_; }

private:
    friend class list<T, Engine>;
    template <class, class, bool>
    friend class list_iterator;
    list_iterator(const basic_field<Engine, node*>* last, node* at) : last_(last), at_(at) {}

    const basic_field<Engine, node*>* last_ = nullptr;
    node* at_ = nullptr;
};

/// Nodes one behind the other that no list names; freed again unless they are kept. Inside a transaction.
template <class T, class Engine>
class list_chain {
    using node = list_node<T, Engine>;

public:
    list_chain() = default;
    list_chain(list_chain&& other) noexcept
        : first_(other.first_), last_(other.last_), size_(std::exchange(other.size_, std::size_t{0})) {}
    ~list_chain() {
        if (size_ != 0) give_back();
    }
    /// A chain of the range's elements.
    template <class Iterator, class Sentinel>
    static list_chain from_range(Iterator first, Sentinel last) {
        return build_out_of<T, Engine, Iterator>([&] {
            list_chain made;
            for (; first != last; ++first) made.add(*first);
            return made;
        });
    }

    template <class... Arguments>
    void add(Arguments&&... arguments) {
        new_block<Engine> block(sizeof(node), block_alignment<node>);
        node* const made = block.template as<node>();
        Engine::will_write(made, sizeof(node));
        new_element<T, Engine> element(&made->element, std::forward<Arguments>(arguments)...);
        if (size_ != 0) {
            made->previous = last_;
            last_->next = made;
        }
        element.put(&made->element);
        block.keep();
        if (size_ == 0) first_ = made;
        last_ = made;
        ++size_;
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    /// Requires: not empty.
    node* first() const noexcept { return first_; }
    node* last() const noexcept { return last_; }
    /// A list names them now.
    void keep() noexcept { size_ = 0; }

    static void free_one(node* at) {
        destroy_element(&at->element);
        Engine::deallocate(at);
    }
    /// Frees from `first` up to `behind`.
    static void free_range(node* first, node* behind) {
        while (first != behind) {
            node* const next = first->next;
            free_one(first);
            first = next;
        }
    }

private:
    void give_back() noexcept {
        free_or_doom(current_transaction<Engine>(), [&] {
            // What the last one names is not stored.
            for (node* at = first_; size_ != 0; --size_) {
                node* const next = size_ == 1 ? nullptr : at->next.get();
                free_one(at);
                at = next;
            }
        });
    }

    node* first_ = nullptr;
    node* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace holdfast
