// queue: first in, first out.
#pragma once

#include <holdfast/container/algorithm.hpp>

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace holdfast {

namespace detail {

template <class T, class Engine>
struct queue_chunk {
    using element = held_element<T, Engine>;
    /// A chunk of about 500 bytes: one allocation for several elements.
    static constexpr std::uint64_t length = sizeof(element) >= 248 ? 2 : 496 / sizeof(element);

    basic_field<Engine, queue_chunk*> next;
    element elements[length];
};

}  // namespace detail

/// A queue in a pool, with the names of std::queue, and iterators from front to back. It is a root, a member of an
/// object in a pool, or an element of a container; zero bytes are an empty queue. It takes 32 bytes, and chunks of
/// about 500 bytes; a chunk is freed when its last element is removed.
///
/// Thread safety: as std::queue; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// References stay valid until their element is removed; all are invalid after rollback and close.
/// Costs: push logs the element and a counter, pop a counter; one call per chunk also allocates or frees. clear and
/// destruction log about one bit per freed block; if the log is too small for that, their transaction fails
/// (transaction_too_large), and `while (q.erase_some(1000) != 0);` empties it.
/// Errors: failure (out_of_space, transaction_too_large, misuse).
/// A function that fails inside a transaction leaves the queue unchanged: if space runs out, an element's constructor
/// throws, or the caller made a mistake. A failure after the first change dooms the transaction: if the log has no room
/// for a store, or a block cannot be freed.
template <class T, class Engine>
class queue {
    using chunk = detail::queue_chunk<T, Engine>;

public:
    using value_type = held_element<T, Engine>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;

    /// `iterator` and `const_iterator`.
    template <bool Constant>
    class basic_iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = held_element<T, Engine>;
        using difference_type = std::ptrdiff_t;
        using reference = std::conditional_t<Constant, const value_type&, value_type&>;
        using pointer = std::conditional_t<Constant, const value_type*, value_type*>;

        basic_iterator() = default;
        template <bool Other>
            requires(Constant && !Other)
        basic_iterator(const basic_iterator<Other>& other) : chunk_(other.chunk_), number_(other.number_) {}

        reference operator*() const { return chunk_->elements[number_ % chunk::length]; }
        pointer operator->() const { return &**this; }
        basic_iterator& operator++() {
            if (++number_ % chunk::length == 0) chunk_ = chunk_->next.get();
            return *this;
        }
        basic_iterator operator++(int) {
            basic_iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const basic_iterator& a, const basic_iterator& b) { return a.number_ == b.number_; }

    private:
        friend class queue;
        template <bool>
        friend class basic_iterator;
        basic_iterator(chunk* in, std::uint64_t number) : chunk_(in), number_(number) {}

        chunk* chunk_ = nullptr;
        std::uint64_t number_ = 0;
    };
    using iterator = basic_iterator<false>;
    using const_iterator = basic_iterator<true>;

    queue() = default;
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~queue() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] { free_all(); });
    }
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes: by
    /// Engine::make or emplace only.
    queue(queue&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { take(other, false); });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    queue& operator=(queue&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { take(other, true); });
        return *this;
    }
    void swap(queue& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            holdfast::swap(first_, other.first_);
            holdfast::swap(last_, other.last_);
            holdfast::swap(popped_, other.popped_);
            holdfast::swap(pushed_, other.pushed_);
        });
    }
    friend void swap(queue& a, queue& b) { a.swap(b); }

    size_type size() const { return pushed_.get() - popped_.get(); }
    bool empty() const { return size() == 0; }

    iterator begin() { return iterator(first_.get(), popped_.get()); }
    iterator end() { return iterator(nullptr, pushed_.get()); }
    const_iterator begin() const { return const_iterator(first_.get(), popped_.get()); }
    const_iterator end() const { return const_iterator(nullptr, pushed_.get()); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }

    /// Requires: not empty.
    reference front() { return first_.get()->elements[popped_.get() % chunk::length]; }
    const_reference front() const { return first_.get()->elements[popped_.get() % chunk::length]; }
    reference back() { return last_.get()->elements[(pushed_.get() - 1) % chunk::length]; }
    const_reference back() const { return last_.get()->elements[(pushed_.get() - 1) % chunk::length]; }

    template <class... Arguments>
    reference emplace(Arguments&&... arguments) {
        return *detail::modify<Engine>(this, [&]() -> addition {
            const std::uint64_t number = pushed_.get();
            detail::new_block<Engine> block;
            if (number % chunk::length == 0)
                block = detail::new_block<Engine>(sizeof(chunk), detail::block_alignment<chunk>);
            chunk* const in = block ? block.template as<chunk>() : last_.get();
            value_type* const place = &in->elements[number % chunk::length];
            // No thread reads past the last element, and no pointer names a new chunk yet.
            if constexpr (!detail::is_plain_value<T>) hint_push(place);
            return {std::move(block), number, place,
                    detail::new_element<T, Engine>(place, std::forward<Arguments>(arguments)...)};
        }, [&](addition& added) {
            if (added.block) link(added.block);
            if constexpr (detail::is_plain_value<T>) hint_push(added.place);
            added.made.put(added.place);
            pushed_ = added.number + 1;
            return added.place;
        });
    }
    void push(const T& value)
        requires detail::is_plain_value<T>
    {
        emplace(value);
    }
    /// For other elements: arguments from which T is constructed.
    template <class Value>
    void push(Value&& value)
        requires(!detail::is_plain_value<T>)
    {
        emplace(std::forward<Value>(value));
    }
    /// Errors: misuse (an empty queue).
    void pop() {
        detail::modify<Engine>(this, [&] {
            const std::uint64_t number = popped_.get();
            if (number == pushed_.get()) fail(errc::misuse, "the queue is empty");
            return number + 1;
        }, [&](std::uint64_t number) {
            detail::destroy_element(&front());
            popped_ = number;
            if (number % chunk::length == 0) drop_first_chunk();
        });
    }
    /// Removes [first, last) and returns the iterator after it. Every later element moves: O(n). Errors: misuse
    /// (iterators of another queue, or in the wrong order).
    iterator erase(const_iterator first, const_iterator last) {
        const std::uint64_t front = popped_.get();
        detail::modify<Engine>(this, [&] {
            if (first.number_ < front || first.number_ > last.number_ || last.number_ > pushed_.get())
                fail(errc::misuse, "the iterators are not a range of this queue");
            return detail::marked_range(size(), first.number_ - front, last.number_ - front);
        }, [&](const std::vector<bool>& marks) { return compact(marks); });
        iterator at = begin();
        for (std::uint64_t number = front; number != first.number_; ++number) ++at;
        return at;
    }
    iterator erase(const_iterator place) {
        const_iterator behind = place;
        // Only the number: an iterator that does not belong to this queue may have no chunk.
        ++behind.number_;
        return erase(place, behind);
    }
    /// Removes the elements for which `leaves` is true; returns how many. Evaluates it for all elements before it
    /// removes the first: if it throws, nothing has changed.
    template <class Predicate>
    friend size_type erase_if(queue& from, Predicate leaves) {
        return detail::modify<Engine>(&from, [&] { return detail::marked(std::as_const(from), leaves); },
                                      [&](const std::vector<bool>& marks) { return from.compact(marks); });
    }
    friend bool operator==(const queue& a, const queue& b)
        requires std::equality_comparable<T>
    {
        return detail::same_elements<T, Engine>(a, b);
    }
    /// Removes up to `limit` elements from the front; returns how many.
    size_type erase_some(size_type limit) {
        return detail::modify<Engine>(this, [&] {
            size_type erased = 0;
            for (; erased < limit && !empty(); ++erased) pop();
            return erased;
        });
    }
    /// Removes everything and frees all blocks.
    void clear() {
        detail::modify<Engine>(this, [&] {
            free_all();
            set_none();
        });
    }

    /// Calls f with every block that this queue and its elements own.
    template <class F>
    void visit_blocks(F&& f) const {
        for (const chunk* at = first_.get(); at != nullptr; at = at->next.get()) f(static_cast<const void*>(at));
        for (const value_type& element : *this) detail::visit_element(element, f);
    }
    /// Bounds, the chain of chunks, the counters, and the elements' own. Errors: corrupt; misuse
    /// outside a pool.
    result<void> check() const {
        const detail::bounds pool(this);
        if (!pool.known()) return detail::bounds::unknown();
        const std::uint64_t first = popped_.get();
        const std::uint64_t end = pushed_.get();
        if (first > end) return pool.broken(this, "a queue gave more than it took", end, first);
        const std::uint64_t wanted = (end + chunk::length - 1) / chunk::length - first / chunk::length;
        std::uint64_t found = 0;
        const chunk* last = nullptr;
        for (const chunk* at = first_.get(); at != nullptr; at = at->next.get()) {
            if (!pool.hold(at, sizeof(chunk))) return pool.broken_pointer(this, "a queue's chunk is out of bounds");
            last = at;
            if (++found > wanted) break;
        }
        if (found != wanted) return pool.broken(this, "a queue has another number of chunks", wanted, found);
        if (last_.get() != last) return pool.broken(this, "a queue's last chunk is another", 0, 1);
        for (const value_type& element : *this)
            if (auto checked = detail::check_element(element); !checked) return checked;
        return {};
    }

private:
    /// An element that is not counted yet, and its chunk where that is new.
    struct addition {
        detail::new_block<Engine> block;
        std::uint64_t number;
        value_type* place;
        detail::new_element<T, Engine> made;
    };
    void hint_push(value_type* place) {
        Engine::will_write(place, sizeof *place);
        Engine::will_write(&pushed_, sizeof pushed_);
    }
    /// Appends a chunk to the last one.
    void link(detail::new_block<Engine>& block) {
        auto* const made = block.template as<chunk>();
        made->next = nullptr;
        if (last_.get() == nullptr) {
            first_ = made;
        } else {
            last_.get()->next = made;
        }
        last_ = made;
        block.keep();
    }
    void set_none() {
        if (first_.get() != nullptr) first_ = nullptr;
        if (last_.get() != nullptr) last_ = nullptr;
        if (pushed_.get() != 0) pushed_ = 0;
        if (popped_.get() != 0) popped_ = 0;
    }
    /// Takes over the elements of `other`, and then frees its own.
    void take(queue& other, bool frees_own) {
        chunk* const first = other.first_;
        chunk* const last = other.last_;
        const std::uint64_t popped = other.popped_;
        const std::uint64_t pushed = other.pushed_;
        other.set_none();
        if (frees_own) free_all();
        first_ = first;
        last_ = last;
        popped_ = popped;
        pushed_ = pushed;
    }
    /// Removes the marked elements: the others close up to the front. Returns how many it removed.
    size_type compact(const std::vector<bool>& marks) {
        const std::uint64_t before = pushed_.get();
        iterator to = begin();
        iterator from = begin();
        for (const bool leaves : marks) {
            value_type* const at = &*from;
            ++from;
            if (leaves) {
                detail::destroy_element(at);
                continue;
            }
            if (&*to != at) detail::move_range<Engine>(&*to, at, sizeof(value_type));
            ++to;
        }
        if (to.number_ == before) return 0;
        pushed_ = to.number_;
        drop_behind(to.number_);
        return before - to.number_;
    }
    /// Frees the chunks that `end` elements do not need.
    void drop_behind(std::uint64_t end) {
        std::uint64_t kept = (end + chunk::length - 1) / chunk::length - popped_.get() / chunk::length;
        chunk* last = nullptr;
        chunk* at = first_.get();
        for (; kept != 0; --kept) {
            last = at;
            at = at->next.get();
        }
        if (at == nullptr) return;
        if (last == nullptr) {
            first_ = nullptr;
        } else {
            last->next = nullptr;
        }
        last_ = last;
        while (at != nullptr) {
            chunk* const next = at->next.get();
            Engine::deallocate(at);
            at = next;
        }
    }
    void free_all() {
        if constexpr (detail::owns_blocks<value_type>)
            for (value_type& element : *this) detail::destroy_element(&element);
        for (chunk* at = first_.get(); at != nullptr;) {
            chunk* const next = at->next.get();
            Engine::deallocate(at);
            at = next;
        }
    }
    void drop_first_chunk() {
        chunk* const gone = first_.get();
        first_ = gone->next.get();
        if (last_.get() == gone) last_ = nullptr;
        Engine::deallocate(gone);
    }

    basic_field<Engine, chunk*> first_;
    basic_field<Engine, chunk*> last_;
    basic_field<Engine, std::uint64_t> popped_;  ///< how many left so far
    basic_field<Engine, std::uint64_t> pushed_;  ///< how many came so far
};

}  // namespace holdfast
