// list: a doubly linked list whose elements never move.
#pragma once

#include <holdfast/container/list_node.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace holdfast {

/// A doubly linked list in a pool, with the names of std::list. It is a root, a member of an object in a pool, or an
/// element of a container; zero bytes are an empty list. It takes 24 bytes, and for each element a block that is 16
/// bytes larger than it.
///
/// An element never moves. Its address may be stored in the pool, in a field or as the value of a map, and iterator_to
/// turns it into an iterator: so an element is found and erased in O(1), anywhere in the list.
///
/// Thread safety: as std::list; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// References and iterators stay valid until their element is erased. splice, swap and a move transfer elements to
/// another list: references stay valid, and iterator_to makes new iterators. Iterators are invalid after rollback and
/// close.
/// Costs: insertion logs the element and five words, erase three. clear and destruction log about one bit per freed
/// block; if the log is too small for that, their transaction fails (transaction_too_large), and
/// `while (l.erase_some(1000) != 0);` empties it.
/// Errors: failure (out_of_space, transaction_too_large, misuse).
/// A function that fails inside a transaction leaves the list unchanged: if space runs out, an element's constructor or
/// a predicate throws, or the caller made a mistake. A failure after the first change dooms the transaction: if the log
/// has no room for a store, or a block cannot be freed. The same holds if elements are moved out of a range and one of
/// them cannot be built.
template <class T, class Engine>
class list {
    using node = detail::list_node<T, Engine>;
    using chain = detail::list_chain<T, Engine>;

public:
    using value_type = held_element<T, Engine>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using iterator = detail::list_iterator<T, Engine, false>;
    using const_iterator = detail::list_iterator<T, Engine, true>;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    list() = default;
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~list() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] { chain::free_range(first_, nullptr); });
    }
    list(const list&) = delete;
    list& operator=(const list&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes: by
    /// Engine::make or emplace only.
    list(list&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { take(other); });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    list& operator=(list&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            node* const before = first_;
            take(other);
            chain::free_range(before, nullptr);
        });
        return *this;
    }
    void swap(list& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            holdfast::swap(first_, other.first_);
            holdfast::swap(last_, other.last_);
            holdfast::swap(size_, other.size_);
        });
    }
    friend void swap(list& a, list& b) { a.swap(b); }

    size_type size() const { return size_.get(); }
    bool empty() const { return size() == 0; }

    iterator begin() { return iterator(&last_, first_); }
    iterator end() { return iterator(&last_, nullptr); }
    const_iterator begin() const { return const_iterator(&last_, first_); }
    const_iterator end() const { return const_iterator(&last_, nullptr); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

    /// Requires: not empty.
    reference front() { return first_->element; }
    const_reference front() const { return first_->element; }
    reference back() { return last_->element; }
    const_reference back() const { return last_->element; }

    /// An iterator to an element. Requires: the element is in this list.
    iterator iterator_to(value_type& element) { return iterator(&last_, node::holding(&element)); }
    const_iterator iterator_to(const value_type& element) const {
        return const_iterator(&last_, node::holding(const_cast<value_type*>(&element)));
    }

    /// Adds an element before `place`. Errors: misuse (an iterator of another list).
    template <class... Arguments>
    iterator emplace(const_iterator place, Arguments&&... arguments) {
        return iterator(&last_, detail::modify<Engine>(this, [&] {
            node* const next = require_place(place);
            chain made;
            // What an engine logs for the links shares a fence with what it logs for the node.
            hint_link(next);
            made.add(std::forward<Arguments>(arguments)...);
            return std::pair(std::move(made), next);
        }, [&](std::pair<chain, node*>& added) {
            return link(added.first, added.second);
        }));
    }
    template <class Value>
    iterator insert(const_iterator place, Value&& value) {
        return emplace(place, std::forward<Value>(value));
    }
    iterator insert(const_iterator place, const T& value)
        requires detail::is_plain_value<T>
    {
        return emplace(place, value);
    }
    /// Inserts [first, last), which may be in this list, before `place`; returns an iterator to the first of them.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    iterator insert(const_iterator place, Iterator first, Sentinel last) {
        return iterator(&last_, detail::modify<Engine>(this, [&] {
            node* const next = require_place(place);
            return std::pair(chain::from_range(std::move(first), last), next);
        }, [&](std::pair<chain, node*>& added) {
            return added.first.empty() ? added.second : link(added.first, added.second);
        }));
    }
    iterator insert(const_iterator place, std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        return insert(place, values.begin(), values.end());
    }
    template <class... Arguments>
    reference emplace_back(Arguments&&... arguments) {
        return *emplace(cend(), std::forward<Arguments>(arguments)...);
    }
    template <class... Arguments>
    reference emplace_front(Arguments&&... arguments) {
        return *emplace(cbegin(), std::forward<Arguments>(arguments)...);
    }
    void push_back(const T& value)
        requires detail::is_plain_value<T>
    {
        emplace_back(value);
    }
    void push_front(const T& value)
        requires detail::is_plain_value<T>
    {
        emplace_front(value);
    }
    /// For other elements: arguments from which T is constructed.
    template <class Value>
    void push_back(Value&& value)
        requires(!detail::is_plain_value<T>)
    {
        emplace_back(std::forward<Value>(value));
    }
    template <class Value>
    void push_front(Value&& value)
        requires(!detail::is_plain_value<T>)
    {
        emplace_front(std::forward<Value>(value));
    }
    /// Replaces the contents by [first, last), which may be in this list. Builds the new elements first.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    void assign(Iterator first, Sentinel last) {
        detail::modify<Engine>(this, [&] { return chain::from_range(std::move(first), last); }, [&](chain& made) {
            node* const before = first_;
            set_none();
            if (!made.empty()) link(made, nullptr);
            chain::free_range(before, nullptr);
        });
    }
    void assign(std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        assign(values.begin(), values.end());
    }

    /// Returns the iterator after the removed element. Errors: misuse (the end, an iterator of another list, or one
    /// whose element was already removed, as far as its neighbours show it).
    iterator erase(const_iterator place) {
        return iterator(&last_, detail::modify<Engine>(this, [&] { return require_element(place); }, [&](node* gone) {
            node* const next = gone->next;
            unlink(gone, gone, 1);
            chain::free_one(gone);
            return next;
        }));
    }
    /// Errors: misuse (iterators of another list, or `last` not after `first`).
    iterator erase(const_iterator first, const_iterator last) {
        return iterator(&last_, detail::modify<Engine>(this, [&] { return require_range(first, last); },
                                                       [&](const range& gone) {
            if (gone.count == 0) return gone.behind;
            unlink(gone.first, gone.last, gone.count);
            chain::free_range(gone.first, gone.behind);
            return gone.behind;
        }));
    }
    /// Errors: misuse (an empty list).
    void pop_front() { erase(require_some(cbegin())); }
    void pop_back() { erase(require_some(empty() ? cend() : std::prev(cend()))); }
    /// Removes up to `limit` elements from the front; returns how many.
    size_type erase_some(size_type limit) {
        return detail::modify<Engine>(this, [&] {
            size_type erased = 0;
            for (; erased < limit && !empty(); ++erased) pop_front();
            return erased;
        });
    }
    /// Removes the elements for which `leaves` is true; returns how many. Evaluates it for all elements before it
    /// removes the first: if it throws, nothing has changed.
    template <class Predicate>
    friend size_type erase_if(list& from, Predicate leaves) {
        return detail::erase_marked<Engine>(from, leaves);
    }
    template <class Predicate>
    size_type remove_if(Predicate leaves) {
        return detail::erase_marked<Engine>(*this, leaves);
    }
    /// Removes everything and frees all blocks.
    void clear() {
        detail::modify<Engine>(this, [&] {
            chain::free_range(first_, nullptr);
            set_none();
        });
    }

    /// Moves the element at `element` of `other` before `place`, without a block or a copy. `other` may be this list.
    /// Errors: misuse (iterators of other lists, the end, a list in no pool or in another).
    void splice(const_iterator place, list& other, const_iterator element) {
        detail::modify<Engine>(this, [&] {
            detail::require_also<Engine>(&other);
            node* const next = require_place(place);
            node* const moved = other.require_element(element);
            return std::pair(moved, next);
        }, [&](const std::pair<node*, node*>& move) {
            const auto [moved, next] = move;
            const bool stays = this == &other && (moved == next || moved->next.get() == next);
            if (!stays) transfer(other, moved, moved, 1, next);
        });
    }
    /// The same for [first, last), which must not contain `place`; in O(n).
    void splice(const_iterator place, list& other, const_iterator first, const_iterator last) {
        detail::modify<Engine>(this, [&] {
            detail::require_also<Engine>(&other);
            node* const next = require_place(place);
            const range moved = other.require_range(first, last);
            for (node* at = moved.first; this == &other && at != moved.behind; at = at->next)
                if (at == next && at != moved.first)
                    fail(errc::misuse, "splice: the destination is inside the range");
            return std::pair(moved, next);
        }, [&](const std::pair<range, node*>& move) {
            const auto& [moved, next] = move;
            const bool stays = this == &other && (moved.first == next || moved.behind == next);
            if (moved.count != 0 && !stays) transfer(other, moved.first, moved.last, moved.count, next);
        });
    }
    /// The same for all elements of another list; in O(1).
    void splice(const_iterator place, list& other) {
        detail::modify<Engine>(this, [&] {
            detail::require_also<Engine>(&other);
            if (this == &other) fail(errc::misuse, "a list cannot be spliced into itself");
            return require_place(place);
        }, [&](node* next) {
            if (!other.empty()) transfer(other, other.first_, other.last_, other.size(), next);
        });
    }

    friend bool operator==(const list& a, const list& b)
        requires std::equality_comparable<T>
    {
        return detail::same_elements<T, Engine>(a, b);
    }

    /// Calls f with every block that this list and its elements own.
    template <class F>
    void visit_blocks(F&& f) const {
        for (const node* at = first_; at != nullptr; at = at->next) {
            f(static_cast<const void*>(at));
            detail::visit_element(at->element, f);
        }
    }
    /// Bounds, the links both ways, the count, and the elements' own. Errors: corrupt; misuse outside a pool.
    result<void> check() const {
        const detail::bounds pool(this);
        if (!pool.known()) return detail::bounds::unknown();
        std::uint64_t found = 0;
        const node* last = nullptr;
        for (const node* at = first_; at != nullptr; at = at->next) {
            if (!pool.hold(at, sizeof(node))) return pool.broken_pointer(this, "a list's node is out of bounds");
            if (at->previous.get() != last) return pool.broken(at, "a list's node names another one before it", 0, 1);
            if (++found > size()) return pool.broken(this, "a list has more elements than counted", size(), found);
            if (auto checked = detail::check_element(at->element); !checked) return checked;
            last = at;
        }
        if (found != size()) return pool.broken(this, "a list has fewer elements than counted", size(), found);
        if (last_.get() != last) return pool.broken(this, "a list's last node is another", 0, 1);
        return {};
    }

private:
    struct range {
        node* first;
        node* last;    ///< in the range; nullptr where it is empty
        node* behind;
        size_type count;
    };

    [[noreturn]] static void fail_by_place() { fail(errc::misuse, "the iterator does not belong to this list"); }
    /// The node at a place, or nullptr at the end. What is damaged or gone is seen where its neighbours do not name it.
    node* require_place(const_iterator place) const {
        if (place.last_ != &last_) fail_by_place();
        return place.at_ == nullptr ? nullptr : require_element(place);
    }
    node* require_element(const_iterator place) const {
        const node* const at = in_pool(place.at_);
        if (place.last_ != &last_) fail_by_place();
        const node* const previous = at->previous;
        const node* const next = at->next;
        if ((previous == nullptr ? first_.get() : in_pool(previous)->next.get()) != at) fail_by_place();
        if ((next == nullptr ? last_.get() : in_pool(next)->previous.get()) != at) fail_by_place();
        return place.at_;
    }
    /// A node that may be gone, and what such a one names as a neighbour.
    static const node* in_pool(const node* at) {
        if (!current_transaction<Engine>().pool()->contains(at)) fail_by_place();
        return at;
    }
    const_iterator require_some(const_iterator place) const {
        if (empty()) fail(errc::misuse, "the list is empty");
        return place;
    }
    range require_range(const_iterator first, const_iterator last) const {
        range found{require_place(first), nullptr, require_place(last), 0};
        for (node* at = found.first; at != found.behind; at = at->next) {
            if (at == nullptr) fail(errc::misuse, "the iterators are not a range of this list");
            found.last = at;
            ++found.count;
        }
        return found;
    }

    /// The link to the node before `next`, and the link to the node after `previous`.
    auto& link_before(node* next) { return next == nullptr ? last_ : next->previous; }
    auto& link_behind(node* previous) { return previous == nullptr ? first_ : previous->next; }

    void hint_link(node* next) {
        Engine::will_write(&link_before(next), sizeof last_);
        Engine::will_write(&link_behind(link_before(next)), sizeof first_);
        Engine::will_write(&size_, sizeof size_);
    }
    /// Hangs a chain before `next`; returns its first node.
    node* link(chain& made, node* next) {
        node* const first = made.first();
        put_between(first, made.last(), next);
        size_ = size() + made.size();
        made.keep();
        return first;
    }
    void put_between(node* first, node* last, node* next) {
        node* const previous = link_before(next);
        first->previous = previous;
        last->next = next;
        link_behind(previous) = first;
        link_before(next) = last;
    }
    /// Takes [first, last] out, which keeps its own links.
    void unlink(node* first, node* last, size_type count) {
        node* const previous = first->previous;
        node* const next = last->next;
        Engine::will_write(&link_behind(previous), sizeof first_);
        Engine::will_write(&link_before(next), sizeof last_);
        Engine::will_write(&size_, sizeof size_);
        link_behind(previous) = next;
        link_before(next) = previous;
        size_ = size() - count;
    }
    void transfer(list& from, node* first, node* last, size_type count, node* next) {
        from.unlink(first, last, count);
        put_between(first, last, next);
        size_ = size() + count;
    }
    void set_none() {
        if (first_.get() != nullptr) first_ = nullptr;
        if (last_.get() != nullptr) last_ = nullptr;
        if (size_.get() != 0) size_ = 0;
    }
    void take(list& other) {
        node* const first = other.first_;
        node* const last = other.last_;
        const std::uint64_t size = other.size_;
        other.set_none();
        first_ = first;
        last_ = last;
        size_ = size;
    }

    basic_field<Engine, node*> first_;
    basic_field<Engine, node*> last_;
    basic_field<Engine, std::uint64_t> size_;
};

}  // namespace holdfast
