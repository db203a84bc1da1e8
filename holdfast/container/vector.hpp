// vector: a contiguous array that grows.
#pragma once

#include <holdfast/container/vector_storage.hpp>

#include <initializer_list>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace holdfast {

/// A growing array in a pool, like std::vector. It is a root, a member of an object in a pool, or an element of another
/// container; zero bytes are an empty vector. It takes 24 bytes and one block.
///
/// Thread safety: as std::vector; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// Iterators and references are plain pointers: invalid after growth, rollback and close.
/// Costs: push_back logs the element and the size. Growth copies into a block twice as large, whose stores need no log
/// if it is at least 16 KiB and clean (see heap_block); otherwise the transaction may fail with transaction_too_large,
/// and succeeds after pool.checkpoint(). insert and erase log every later element.
/// Errors: failure (out_of_space, transaction_too_large, misuse); at throws std::out_of_range.
/// A function that fails inside a transaction leaves the vector unchanged and iterators valid: if space runs out, an
/// element's constructor throws, or the caller made a mistake. A failure after the first change dooms the transaction:
/// if the log has no room for a store, or a block cannot be freed. The same holds if elements are moved out of a range
/// and one of them cannot be built.
template <class T, class Engine>
class vector : detail::vector_storage<T, Engine> {
    using storage = detail::vector_storage<T, Engine>;
    using room = typename storage::room;

public:
    using value_type = held_element<T, Engine>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using iterator = value_type*;
    using const_iterator = const value_type*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    /// A failing assignment leaves the vector unchanged.
    using holdfast_assigned_whole = void;

    vector() = default;
    /// Inside a transaction, on zeroed bytes: by Engine::make, pool.root or emplace only.
    explicit vector(size_type count) { resize(count); }
    vector(size_type count, const T& value)
        requires detail::is_plain_value<T>
    {
        resize(count, value);
    }
    vector(std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        assign(values.begin(), values.end());
    }
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~vector() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] { storage::free_all(); });
    }
    vector(const vector&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes, like the
    /// others.
    vector(vector&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { storage::take(other, false); });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    vector& operator=(vector&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { storage::take(other, true); });
        return *this;
    }
    vector& operator=(const vector& other)
        requires detail::is_plain_value<T>
    {
        if (this != &other) storage::assign_copy(other);
        return *this;
    }
    vector& operator=(std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        assign(values.begin(), values.end());
        return *this;
    }

    using storage::capacity;
    using storage::data;
    using storage::empty;
    using storage::max_size;
    using storage::size;

    iterator begin() { return data(); }
    iterator end() { return data() + size(); }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + size(); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }

    reference operator[](size_type i) { return data()[i]; }
    const_reference operator[](size_type i) const { return data()[i]; }
    reference at(size_type i) { return require(i), data()[i]; }
    const_reference at(size_type i) const { return require(i), data()[i]; }
    reference front() { return data()[0]; }
    const_reference front() const { return data()[0]; }
    reference back() { return data()[size() - 1]; }
    const_reference back() const { return data()[size() - 1]; }

    /// The arguments may refer to elements of this vector.
    template <class... Arguments>
    reference emplace_back(Arguments&&... arguments) {
        return *storage::add(storage::at_end, std::forward<Arguments>(arguments)...);
    }
    void push_back(const T& value)
        requires detail::is_plain_value<T>
    {
        emplace_back(value);
    }
    /// For other elements: arguments from which T is constructed.
    template <class Value>
    void push_back(Value&& value)
        requires(!detail::is_plain_value<T>)
    {
        emplace_back(std::forward<Value>(value));
    }
    /// Errors: misuse (an empty vector).
    void pop_back() {
        detail::modify<Engine>(this, [&] {
            const size_type count = size();
            if (count == 0) [[unlikely]]
                fail(errc::misuse, "the vector is empty");
            return count - 1;
        }, [&](size_type last) {
            this->size_ = last;
            detail::destroy_element(data() + last);
        });
    }

    /// The arguments may refer to elements of this vector. Errors: misuse (an iterator of another container).
    template <class... Arguments>
    iterator emplace(const_iterator place, Arguments&&... arguments) {
        return storage::add(storage::place_of(place), std::forward<Arguments>(arguments)...);
    }
    template <class Value>
    iterator insert(const_iterator place, Value&& value) {
        return emplace(place, std::forward<Value>(value));
    }
    /// Inserts [first, last), which may be in this vector, before `place`; returns an iterator to the first of them.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    iterator insert(const_iterator place, Iterator first, Sentinel last) {
        if constexpr (detail::is_plain_value<T>) {
            const std::vector<T> values = storage::values_of(std::move(first), last);
            return storage::insert_values(place, values.size(), [&](value_type* at) {
                detail::write_values<Engine, T>(at, values.data(), values.size());
            });
        } else {
            return storage::insert_elements(place, std::move(first), last);
        }
    }
    iterator insert(const_iterator place, std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        return insert(place, values.begin(), values.end());
    }
    template <class Value>
    iterator insert(const_iterator place, std::initializer_list<Value> values)
        requires(!detail::is_plain_value<T>)
    {
        return insert(place, values.begin(), values.end());
    }
    iterator insert(const_iterator place, size_type count, const T& value)
        requires detail::is_plain_value<T>
    {
        const T copy = value;
        return storage::insert_values(place, count, [&](value_type* at) {
            const auto first = static_cast<size_type>(at - data());
            storage::fill(first, first + count, copy);
        });
    }
    iterator erase(const_iterator place) { return erase(place, place + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        return detail::modify<Engine>(this, [&] {
            const size_type at = storage::require_place(storage::place_of(first), size());
            return std::pair(at, storage::require_place(storage::place_of(last) - at, size() - at));
        }, [&](const std::pair<size_type, size_type>& range) {
            const auto [at, removed] = range;
            const size_type count = size();
            for (size_type i = at; i < at + removed; ++i) detail::destroy_element(data() + i);
            if (removed != 0)
                detail::move_range<Engine>(data() + at, data() + at + removed,
                                           (count - at - removed) * sizeof(value_type));
            this->size_ = count - removed;
            return data() + at;
        });
    }

    /// Grows the capacity to at least `count`.
    void reserve(size_type count) {
        if (count <= capacity()) return;
        detail::modify<Engine>(this, [&] { return storage::block_for(count, size(), 0); },
                               [&](room& in) { storage::adopt(in); });
    }
    /// New elements are T(): zero for numbers, empty for containers.
    void resize(size_type count) {
        if constexpr (detail::is_plain_value<T>) {
            resize(count, T());
        } else {
            struct grown {
                room in;
                detail::new_elements<T, Engine> added;
            };
            detail::modify<Engine>(this, [&] {
                grown made{storage::room_for(count), detail::new_elements<T, Engine>(nullptr)};
                made.added.moved_to(made.in.data + size());
                while (size() + made.added.count() < count) made.added.add();
                return made;
            }, [&](grown& made) {
                storage::shrink_to(count);
                storage::adopt(made.in);
                made.added.keep();
                this->size_ = count;
            });
        }
    }
    void resize(size_type count, const T& value)
        requires detail::is_plain_value<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] { return storage::room_for(count); }, [&](room& in) {
            storage::shrink_to(count);
            storage::adopt(in);
            storage::fill(size(), count, copy);
            if (size() != count) this->size_ = count;
        });
    }
    /// Replaces the contents by [first, last), which may be in this vector. Builds the new elements first: those of a
    /// trivially copyable T in ordinary memory, others in their own block.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    void assign(Iterator first, Sentinel last) {
        if constexpr (detail::is_plain_value<T>) {
            const std::vector<T> values = storage::values_of(std::move(first), last);
            storage::assign_values(values.data(), values.size());
        } else {
            storage::assign_elements(std::move(first), last);
        }
    }
    void assign(std::initializer_list<T> values)
        requires detail::is_plain_value<T>
    {
        storage::assign_values(values.begin(), values.size());
    }
    template <class Value>
    void assign(std::initializer_list<Value> values)
        requires(!detail::is_plain_value<T>)
    {
        storage::assign_elements(values.begin(), values.end());
    }
    void assign(size_type count, const T& value)
        requires detail::is_plain_value<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] { return storage::empty_room_for(count); }, [&](room& in) {
            storage::shrink_to(0);
            storage::adopt(in);
            storage::fill(0, count, copy);
            if (size() != count) this->size_ = count;
        });
    }
    /// Appends `count` elements from ordinary memory as one range: the fastest way to load many.
    void append(const T* values, size_type count)
        requires detail::is_plain_value<T>
    {
        detail::modify<Engine>(this, [&] {
            return storage::room_for(storage::require_sum(size(), count));
        }, [&](room& in) {
            storage::adopt(in);
            detail::write_values<Engine, T>(data() + size(), values, count);
            this->size_ += count;
        });
    }
    /// Destroys the elements; the block stays.
    void clear() {
        detail::modify<Engine>(this, [&] { storage::shrink_to(0); });
    }
    /// Releases unused capacity if less than half is used.
    void shrink_to_fit() {
        detail::modify<Engine>(this, [&] {
            const bool is_large = !empty() && capacity() > 2 * size();
            return is_large ? storage::block_for(size(), size(), 0) : room{{}, data()};
        }, [&](room& in) {
            if (empty()) return storage::release();
            storage::adopt(in);
        });
    }
    void swap(vector& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { storage::exchange(other); });
    }
    friend void swap(vector& a, vector& b) { a.swap(b); }
    /// Removes the elements for which `leaves` is true; returns how many. Evaluates it for all elements before it
    /// removes the first: if it throws, nothing has changed.
    template <class Predicate>
    friend size_type erase_if(vector& from, Predicate leaves) {
        return from.storage::erase_where(leaves);
    }
    friend bool operator==(const vector& a, const vector& b)
        requires std::equality_comparable<T>
    {
        return detail::same_elements<T, Engine>(a, b);
    }

    /// Calls f with every block that this vector and its elements own.
    template <class F>
    void visit_blocks(F&& f) const {
        if (data() != nullptr) f(static_cast<const void*>(data()));
        for (size_type i = 0; i < size(); ++i) detail::visit_element(data()[i], f);
    }
    /// Size, capacity and bounds, and the elements' own. Errors: corrupt; misuse outside a pool.
    result<void> check() const {
        const detail::bounds pool(this);
        if (!pool.known()) return detail::bounds::unknown();
        if (size() > capacity()) return pool.broken(this, "a vector is larger than its capacity", capacity(), size());
        if (capacity() > pool.most_of(sizeof(value_type)))
            return pool.broken(this, "a vector is larger than its pool", pool.most_of(sizeof(value_type)), capacity());
        if (data() == nullptr && capacity() != 0) return pool.broken(this, "a vector without block", 0, capacity());
        if (data() != nullptr && !pool.hold(data(), capacity() * sizeof(value_type)))
            return pool.broken_pointer(this, "a vector's block is out of bounds");
        if (data() != nullptr && open_transaction_of<Engine> == nullptr)
            // Where no block begins the audit finds an owner of nothing.
            if (const auto holds = pool.block_bytes(data()) / sizeof(value_type); holds != 0 && holds != capacity())
                return pool.broken(this, "a vector's capacity is not what its block holds", holds, capacity());
        for (size_type i = 0; i < size(); ++i)
            if (auto checked = detail::check_element(data()[i]); !checked) return checked;
        return {};
    }

private:
    void require(size_type i) const {
        if (i >= size()) throw std::out_of_range("holdfast::vector::at");
    }
};

}  // namespace holdfast
