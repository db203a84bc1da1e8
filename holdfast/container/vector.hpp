// vector: a contiguous array that grows.
#pragma once

#include <holdfast/container/element.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <ranges>
#include <stdexcept>

namespace holdfast {

/// A growing array in a pool, as std::vector. It is a root, a member of something in a pool, or an
/// element of another container; zero bytes are an empty one. 24 bytes and one block.
///
/// Thread safety: as std::vector; a lock of the caller's isolates transactions.
/// Each modifying function joins the open transaction or runs its own; reading runs none.
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// Iterators and references are plain pointers: invalid after growth, rollback and close.
/// Costs: push_back logs the element and the size. Growth copies into a block twice as large, whose
/// stores need no log when it is at least 16 KiB and clean (see heap_block); the transaction may
/// otherwise fail with transaction_too_large, and succeeds after pool.checkpoint(). insert and erase
/// log every element behind the place.
/// Errors: failure (out_of_space, transaction_too_large, misuse); at throws std::out_of_range.
template <class T, class Engine>
class vector {
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

    vector() = default;
    /// Inside a transaction, on zeroed bytes: by Engine::make, pool.root or emplace only.
    explicit vector(size_type count) { resize(count); }
    vector(size_type count, const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        resize(count, value);
    }
    vector(std::initializer_list<T> values)
        requires std::is_trivially_copyable_v<T>
    {
        assign(values.begin(), values.end());
    }
    /// Frees what it owns when Engine::destroy runs it, and does nothing outside a transaction.
    ~vector() noexcept(false) {
        if (detail::may_free<Engine>(this)) free_all();
    }
    vector(const vector&) = delete;
    vector& operator=(const vector& other)
        requires std::is_trivially_copyable_v<T>
    {
        if (this != &other) assign_copy(other);
        return *this;
    }
    vector& operator=(std::initializer_list<T> values)
        requires std::is_trivially_copyable_v<T>
    {
        assign(values.begin(), values.end());
        return *this;
    }

    size_type size() const { return size_.get(); }
    size_type capacity() const { return capacity_.get(); }
    bool empty() const { return size() == 0; }
    static constexpr size_type max_size() noexcept {
        return std::numeric_limits<difference_type>::max() / sizeof(value_type);
    }
    value_type* data() { return data_.get(); }
    const value_type* data() const { return data_.get(); }

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

    /// Requires: references among the arguments stay valid when the array moves.
    template <class... Arguments>
    reference emplace_back(Arguments&&... arguments) {
        return *detail::modify<Engine>(this, [&] {
            const size_type count = size();
            if constexpr (std::is_trivially_copyable_v<T>) {
                const T value(std::forward<Arguments>(arguments)...);
                make_room(count + 1);
                hint_append(count);
                data()[count].set(value);
            } else {
                make_room(count + 1);
                hint_append(count);
                detail::construct_element<T, Engine>(data() + count, std::forward<Arguments>(arguments)...);
            }
            size_ = count + 1;
            return data() + count;
        });
    }
    void push_back(const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        emplace_back(value);
    }
    /// For other elements: whatever T is constructed from.
    template <class Value>
    void push_back(Value&& value)
        requires(!std::is_trivially_copyable_v<T>)
    {
        emplace_back(std::forward<Value>(value));
    }
    /// Requires: not empty.
    void pop_back() {
        detail::modify<Engine>(this, [&] {
            const size_type last = size() - 1;
            size_ = last;
            detail::destroy_element(data() + last);
        });
    }

    template <class... Arguments>
    iterator emplace(const_iterator place, Arguments&&... arguments) {
        const auto at = static_cast<size_type>(place - cbegin());
        return detail::modify<Engine>(this, [&] {
            const size_type count = size();
            if constexpr (std::is_trivially_copyable_v<T>) {
                const T value(std::forward<Arguments>(arguments)...);
                open_gap(at, 1);
                data()[at].set(value);
            } else {
                open_gap(at, 1);
                detail::construct_element<T, Engine>(data() + at, std::forward<Arguments>(arguments)...);
            }
            size_ = count + 1;
            return data() + at;
        });
    }
    template <class Value>
    iterator insert(const_iterator place, Value&& value) {
        return emplace(place, std::forward<Value>(value));
    }
    iterator erase(const_iterator place) { return erase(place, place + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        const auto at = static_cast<size_type>(first - cbegin());
        const auto removed = static_cast<size_type>(last - first);
        return detail::modify<Engine>(this, [&] {
            const size_type count = size();
            for (size_type i = at; i < at + removed; ++i) detail::destroy_element(data() + i);
            if (removed != 0)
                detail::move_range<Engine>(data() + at, data() + at + removed,
                                           (count - at - removed) * sizeof(value_type));
            size_ = count - removed;
            return data() + at;
        });
    }

    /// Grows the capacity to at least `count`.
    void reserve(size_type count) {
        if (count <= capacity()) return;
        detail::modify<Engine>(this, [&] { grow_to(count); });
    }
    /// New elements are T(): zero for numbers, empty for containers.
    void resize(size_type count) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            resize(count, T());
        } else {
            detail::modify<Engine>(this, [&] {
                shrink_to(count);
                make_room(count);
                for (size_type i = size(); i < count; ++i) detail::construct_element<T, Engine>(data() + i);
                size_ = count;
            });
        }
    }
    void resize(size_type count, const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] {
            shrink_to(count);
            make_room(count);
            fill(size(), count, copy);
            if (size() != count) size_ = count;
        });
    }
    /// Replaces the contents by [first, last), which is not in this vector.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    void assign(Iterator first, Sentinel last) {
        detail::modify<Engine>(this, [&] {
            clear();
            if constexpr (std::sized_sentinel_for<Sentinel, Iterator>)
                reserve(static_cast<size_type>(last - first));
            for (; first != last; ++first) emplace_back(*first);
        });
    }
    void assign(size_type count, const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] {
            clear();
            resize(count, copy);
        });
    }
    /// Appends `count` elements from ordinary memory as one range: the fast way to load many.
    void append(const T* values, size_type count)
        requires std::is_trivially_copyable_v<T>
    {
        detail::modify<Engine>(this, [&] {
            make_room(size() + count);
            detail::write_range<Engine>(data() + size(), values, count * sizeof(T));
            size_ += count;
        });
    }
    /// Destroys the elements; the block stays.
    void clear() {
        detail::modify<Engine>(this, [&] { shrink_to(0); });
    }
    /// Gives back room when less than half is used.
    void shrink_to_fit() {
        detail::modify<Engine>(this, [&] {
            if (empty()) return release();
            if (capacity() > 2 * size()) relocate(size());
        });
    }
    friend void swap(vector& a, vector& b) {
        detail::modify<Engine>(&a, [&] {
            swap(a.data_, b.data_);
            swap(a.size_, b.size_);
            swap(a.capacity_, b.capacity_);
        });
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
            if (const auto room = pool.block_bytes(data()) / sizeof(value_type); room != 0 && room != capacity())
                return pool.broken(this, "a vector's capacity is not what its block holds", room, capacity());
        for (size_type i = 0; i < size(); ++i)
            if (auto checked = detail::check_element(data()[i]); !checked) return checked;
        return {};
    }

private:
    static constexpr size_type first_bytes = 64;

    void require(size_type i) const {
        if (i >= size()) throw std::out_of_range("holdfast::vector::at");
    }
    void hint_append(size_type count) {
        Engine::will_write(data() + count, sizeof(value_type));
        Engine::will_write(&size_, sizeof size_);
    }
    void make_room(size_type count) {
        if (count > capacity()) grow_to(std::max({count, 2 * capacity(), first_bytes / sizeof(value_type)}));
    }
    void grow_to(size_type count) {
        if (count > max_size()) fail(errc::out_of_space, "a vector of more bytes than a pool can have");
        relocate(count);
    }
    /// Requires: count >= size(), count > 0.
    void relocate(size_type count) {
        value_type* const before = data();
        const heap_block block =
            current_transaction<Engine>().allocate(count * sizeof(value_type), detail::block_alignment<value_type>);
        detail::move_range<Engine>(block.address, before, size() * sizeof(value_type));
        data_ = reinterpret_cast<value_type*>(block.address);
        capacity_ = block.bytes / sizeof(value_type);
        Engine::deallocate(before);
    }
    void open_gap(size_type at, size_type count) {
        make_room(size() + count);
        detail::move_range<Engine>(data() + at + count, data() + at, (size() - at) * sizeof(value_type));
    }
    void shrink_to(size_type count) {
        if (count >= size()) return;
        for (size_type i = count; detail::owns_blocks<value_type> && i < size(); ++i)
            detail::destroy_element(data() + i);
        size_ = count;
    }
    void fill(size_type first, size_type last, const T& value) {
        constexpr size_type chunk = std::max<size_type>(1, 4096 / sizeof(T));
        T values[chunk];
        std::fill_n(values, std::min(chunk, last > first ? last - first : 0), value);
        for (; first < last; first += std::min(chunk, last - first))
            detail::write_range<Engine>(data() + first, values, std::min(chunk, last - first) * sizeof(T));
    }
    void assign_copy(const vector& other) {
        detail::modify<Engine>(this, [&] {
            clear();
            reserve(other.size());
            detail::move_range<Engine>(data(), other.data(), other.size() * sizeof(value_type));
            size_ = other.size();
        });
    }
    /// What a destructor does: the fields themselves are about to be freed.
    void free_all() {
        for (size_type i = 0; detail::owns_blocks<value_type> && i < size(); ++i) detail::destroy_element(data() + i);
        Engine::deallocate(data());
    }
    void release() {
        free_all();
        size_ = 0;
        data_ = nullptr;
        capacity_ = 0;
    }

    basic_field<Engine, value_type*> data_;
    basic_field<Engine, std::uint64_t> size_;
    basic_field<Engine, std::uint64_t> capacity_;
};

}  // namespace holdfast
