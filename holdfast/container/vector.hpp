// vector: a contiguous array that grows.
#pragma once

#include <holdfast/container/element.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

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
/// A function that fails inside a transaction leaves the vector as it was, and iterators valid: for want of
/// space, by an element's constructor, by the caller's mistake. What fails after the first change, where the
/// log has no room for a store or a block cannot be freed, dooms the transaction.
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
    /// An assignment that fails leaves the vector as it was.
    using holdfast_assigned_whole = void;

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
        detail::free_in_destructor<Engine>(this, [&] { free_all(); });
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

    /// The arguments may refer to elements of this vector.
    template <class... Arguments>
    reference emplace_back(Arguments&&... arguments) {
        return *add(at_end, std::forward<Arguments>(arguments)...);
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
    /// Errors: misuse (an empty vector).
    void pop_back() {
        detail::modify<Engine>(this, [&] {
            const size_type count = size();
            return require_place(1, count), count - 1;
        }, [&](size_type last) {
            size_ = last;
            detail::destroy_element(data() + last);
        });
    }

    /// The arguments may refer to elements of this vector. Errors: misuse (a place in another container).
    template <class... Arguments>
    iterator emplace(const_iterator place, Arguments&&... arguments) {
        return add(place_of(place), std::forward<Arguments>(arguments)...);
    }
    template <class Value>
    iterator insert(const_iterator place, Value&& value) {
        return emplace(place, std::forward<Value>(value));
    }
    iterator erase(const_iterator place) { return erase(place, place + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        return detail::modify<Engine>(this, [&] {
            const size_type at = require_place(place_of(first), size());
            return std::pair(at, require_place(place_of(last) - at, size() - at));
        }, [&](const std::pair<size_type, size_type>& range) {
            const auto [at, removed] = range;
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
        detail::modify<Engine>(this, [&] { return block_for(count, size(), 0); }, [&](room& in) { adopt(in); });
    }
    /// New elements are T(): zero for numbers, empty for containers.
    void resize(size_type count) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            resize(count, T());
        } else {
            struct grown {
                room in;
                detail::new_elements<T, Engine> added;
            };
            detail::modify<Engine>(this, [&] {
                grown made{room_for(count), detail::new_elements<T, Engine>(nullptr)};
                made.added.moved_to(made.in.data + size());
                while (size() + made.added.count() < count) made.added.add();
                return made;
            }, [&](grown& made) {
                shrink_to(count);
                adopt(made.in);
                made.added.keep();
                size_ = count;
            });
        }
    }
    void resize(size_type count, const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] { return room_for(count); }, [&](room& in) {
            shrink_to(count);
            adopt(in);
            fill(size(), count, copy);
            if (size() != count) size_ = count;
        });
    }
    /// Replaces the contents by [first, last), which may be in this vector. Builds the new elements first: of a
    /// trivially copyable T in ordinary memory, of any other in a block of their own.
    template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
    void assign(Iterator first, Sentinel last) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            std::vector<T> values;
            if constexpr (std::sized_sentinel_for<Sentinel, Iterator>)
                values.reserve(static_cast<size_type>(last - first));
            for (; first != last; ++first) values.emplace_back(*first);
            assign_values(values.data(), values.size());
        } else {
            assign_elements(std::move(first), last);
        }
    }
    void assign(size_type count, const T& value)
        requires std::is_trivially_copyable_v<T>
    {
        const T copy = value;
        detail::modify<Engine>(this, [&] { return room_instead(count); }, [&](room& in) {
            shrink_to(0);
            adopt(in);
            fill(0, count, copy);
            if (size() != count) size_ = count;
        });
    }
    /// Appends `count` elements from ordinary memory as one range: the fast way to load many.
    void append(const T* values, size_type count)
        requires std::is_trivially_copyable_v<T>
    {
        detail::modify<Engine>(this, [&] { return room_for(require_sum(size(), count)); }, [&](room& in) {
            adopt(in);
            detail::write_values<Engine, T>(data() + size(), values, count);
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
            const bool is_large = !empty() && capacity() > 2 * size();
            return is_large ? block_for(size(), size(), 0) : room{{}, data()};
        }, [&](room& in) {
            if (empty()) return release();
            adopt(in);
        });
    }
    friend void swap(vector& a, vector& b) {
        detail::modify<Engine>(&a, [&] { return detail::require_also<Engine>(&b); }, [&](bool) {
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
            if (const auto holds = pool.block_bytes(data()) / sizeof(value_type); holds != 0 && holds != capacity())
                return pool.broken(this, "a vector's capacity is not what its block holds", holds, capacity());
        for (size_type i = 0; i < size(); ++i)
            if (auto checked = detail::check_element(data()[i]); !checked) return checked;
        return {};
    }

private:
    static constexpr size_type first_bytes = 64;
    /// Places that are no numbers of elements.
    static constexpr size_type at_end = std::numeric_limits<size_type>::max();
    static constexpr size_type no_place = at_end - 1;

    void require(size_type i) const {
        if (i >= size()) throw std::out_of_range("holdfast::vector::at");
    }
    /// The number of the element at `place`; one that no vector has where the place is before this one.
    size_type place_of(const_iterator place) const {
        const std::uintptr_t bytes = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(data());
        const bool is_one = bytes % sizeof(value_type) == 0 && bytes / sizeof(value_type) <= max_size();
        return is_one ? bytes / sizeof(value_type) : no_place;
    }
    static size_type require_place(size_type at, size_type limit) {
        if (at > limit) [[unlikely]]
            fail(errc::misuse, "a place that is not in this vector");
        return at;
    }
    static size_type require_sum(size_type count, size_type more) {
        if (more > max_size() - count) [[unlikely]]
            fail_too_large();
        return count + more;
    }
    [[noreturn]] static void fail_too_large() {
        fail(errc::out_of_space, "a vector of more bytes than a pool can have");
    }

    /// Where the elements will stand: in a block that nothing names yet, with a copy of them, or where they do now.
    struct room {
        detail::new_block<Engine> block;
        value_type* data;
    };
    /// A new block for at least `count` > 0 elements, those from `at` on `gap` places further behind.
    room block_for(size_type count, size_type at, size_type gap) {
        room made = empty_block_for(count);
        detail::move_range<Engine>(made.data, data(), at * sizeof(value_type));
        if (at != size())
            detail::move_range<Engine>(made.data + at + gap, data() + at, (size() - at) * sizeof(value_type));
        return made;
    }
    room empty_block_for(size_type count) {
        if (count > max_size()) fail_too_large();
        detail::new_block<Engine> block(count * sizeof(value_type), detail::block_alignment<value_type>);
        auto* const first = block.template as<value_type>();
        return {std::move(block), first};
    }
    size_type grown_to(size_type count) const {
        return std::max({count, 2 * capacity(), first_bytes / sizeof(value_type)});
    }
    room room_for(size_type count) { return room_for(count, size(), 0); }
    room room_for(size_type count, size_type at, size_type gap) {
        if (count <= capacity()) return {{}, data()};
        return block_for(grown_to(count), at, gap);
    }
    /// The same for other elements than those there are.
    room room_instead(size_type count) {
        if (count <= capacity()) return {{}, data()};
        return empty_block_for(grown_to(count));
    }
    /// The elements stand there now.
    void adopt(room& in) {
        if (!in.block) return;
        value_type* const before = data();
        data_ = in.data;
        capacity_ = in.block.bytes() / sizeof(value_type);
        in.block.keep();
        Engine::deallocate(before);
    }

    /// What brings an element from behind the last one to its place.
    struct no_bytes {};
    using gap_bytes =
        std::conditional_t<std::is_trivially_copyable_v<T>, no_bytes, detail::carried_bytes<value_type, Engine>>;
    struct addition {
        room in;
        size_type count;
        size_type at;
        detail::new_element<T, Engine> made;
        [[no_unique_address]] gap_bytes carried{};
    };
    /// Adds an element before that at `wanted`, or behind the last one.
    template <class... Arguments>
    iterator add(size_type wanted, Arguments&&... arguments) {
        return detail::modify<Engine>(this, [&]() -> addition {
            const size_type count = size();
            const size_type at = wanted == at_end ? count : require_place(wanted, count);
            if constexpr (std::is_trivially_copyable_v<T>) {
                // The value first: an argument may be an element that moves.
                detail::new_element<T, Engine> made(nullptr, std::forward<Arguments>(arguments)...);
                return {room_for(count + 1, at, 1), count, at, std::move(made)};
            } else {
                room in = room_for(count + 1, at, 1);
                // Behind the last one nobody reads; in a new block it is where it will stay.
                value_type* const place = in.data + (in.block ? at : count);
                hint_add(place);
                detail::new_element<T, Engine> made(place, std::forward<Arguments>(arguments)...);
                return {std::move(in), count, at, std::move(made)};
            }
        }, [&](addition& added) {
            value_type* const place = added.in.data + added.at;
            if (!added.in.block && added.at != added.count) {
                insert_in_place(added);
            } else {
                adopt(added.in);
                if constexpr (std::is_trivially_copyable_v<T>) {
                    if (added.at == added.count) hint_add(place);
                }
                added.made.put(place);
            }
            size_ = added.count + 1;
            return place;
        });
    }
    void hint_add(value_type* at) {
        Engine::will_write(at, sizeof(value_type));
        Engine::will_write(&size_, sizeof size_);
    }
    void insert_in_place(addition& added) {
        value_type* const last = added.in.data + added.count;
        value_type* const place = added.in.data + added.at;
        if constexpr (!std::is_trivially_copyable_v<T>) added.carried.take(last);
        detail::move_range<Engine>(place + 1, place, (added.count - added.at) * sizeof(value_type));
        if constexpr (std::is_trivially_copyable_v<T>) {
            added.made.put(place);
        } else {
            added.carried.put(place);
            added.made.keep();
        }
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
            detail::write_values<Engine, T>(data() + first, values, std::min(chunk, last - first));
    }
    void assign_values(const T* values, size_type count) {
        detail::modify<Engine>(this, [&] { return room_instead(count); }, [&](room& in) {
            adopt(in);
            detail::write_values<Engine, T>(data(), values, count);
            if (size() != count) size_ = count;
        });
    }
    template <class Iterator, class Sentinel>
    void assign_elements(Iterator first, Sentinel last) {
        struct replacement {
            room in;
            detail::new_elements<T, Engine> made;
        };
        detail::modify<Engine>(this, [&] {
            replacement all{room{{}, nullptr}, detail::new_elements<T, Engine>(nullptr)};
            size_type room_is = 0;
            if constexpr (std::sized_sentinel_for<Sentinel, Iterator>) room_is = static_cast<size_type>(last - first);
            if (room_is != 0) all.in = empty_block_for(room_is);
            all.made.moved_to(all.in.data);
            for (; first != last; ++first) {
                if (all.made.count() * sizeof(value_type) + sizeof(value_type) > all.in.block.bytes())
                    move_to_larger(all.in, all.made);
                all.made.add(*first);
            }
            return all;
        }, [&](replacement& all) {
            shrink_to(0);
            adopt(all.in);
            if (const size_type count = all.made.count(); count != 0) size_ = count;
            all.made.keep();
        });
    }
    static void move_to_larger(room& in, detail::new_elements<T, Engine>& made) {
        const size_type count = std::max<size_type>(2 * made.count(), 4);
        detail::new_block<Engine> block(count * sizeof(value_type), detail::block_alignment<value_type>);
        auto* const first = block.template as<value_type>();
        detail::move_range<Engine>(first, in.data, made.count() * sizeof(value_type));
        made.moved_to(first);
        in.data = first;
        std::swap(in.block, block);
        if (block) block.free();
    }
    void assign_copy(const vector& other) {
        detail::modify<Engine>(this, [&] { return room_instead(other.size()); }, [&](room& in) {
            adopt(in);
            detail::move_range<Engine>(data(), other.data(), other.size() * sizeof(value_type));
            if (size() != other.size()) size_ = other.size();
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
