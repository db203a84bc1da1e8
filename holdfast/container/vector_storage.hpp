// The block of a vector: where elements stand and will stand, how they come in and leave. Its face is vector.hpp.
#pragma once

#include <holdfast/container/algorithm.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::detail {

/// Zero bytes are no block. Modifying members run inside a transaction.
template <class T, class Engine>
class vector_storage {
public:
    using value_type = held_element<T, Engine>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;

    size_type size() const { return size_.get(); }
    size_type capacity() const { return capacity_.get(); }
    bool empty() const { return size() == 0; }
    static constexpr size_type max_size() noexcept {
        return std::numeric_limits<difference_type>::max() / sizeof(value_type);
    }
    value_type* data() { return data_.get(); }
    const value_type* data() const { return data_.get(); }

protected:
    static constexpr size_type first_bytes = 64;
    /// Places that are no numbers of elements.
    static constexpr size_type at_end = std::numeric_limits<size_type>::max();
    static constexpr size_type no_place = at_end - 1;

    /// The index of the element at `place`; an impossible one if the place is before this vector.
    size_type place_of(const value_type* place) const {
        const std::uintptr_t bytes = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(data());
        const bool is_one = bytes % sizeof(value_type) == 0 && bytes / sizeof(value_type) <= max_size();
        return is_one ? bytes / sizeof(value_type) : no_place;
    }
    static size_type require_place(size_type at, size_type limit) {
        if (at > limit) [[unlikely]]
            fail(errc::misuse, "the iterator does not belong to this vector");
        return at;
    }
    static size_type require_sum(size_type count, size_type more) {
        if (more > max_size() - count) [[unlikely]]
            fail_too_large();
        return count + more;
    }
    [[noreturn]] static void fail_too_large() {
        fail(errc::out_of_space, "the vector would be larger than a pool can be");
    }

    /// Where the elements will be: in a block that nothing names yet, with a copy of them, or where they do now.
    struct room {
        new_block<Engine> block;
        value_type* data;
    };
    /// A new block for at least `count` > 0 elements, those from `at` on `gap` places further behind.
    room block_for(size_type count, size_type at, size_type gap) {
        room made = empty_block_for(count);
        copy_around(made, at, gap);
        return made;
    }
    /// Copies the elements to a new block.
    void copy_around(room& in, size_type at, size_type gap) {
        move_range<Engine>(in.data, data(), at * sizeof(value_type));
        if (at != size())
            move_range<Engine>(in.data + at + gap, data() + at, (size() - at) * sizeof(value_type));
    }
    static room empty_block_for(size_type count) {
        if (count > max_size()) fail_too_large();
        new_block<Engine> block(count * sizeof(value_type), block_alignment<value_type>);
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
    /// The same without a copy of the elements.
    room empty_room_for(size_type count) {
        if (count <= capacity()) return {{}, data()};
        return empty_block_for(grown_to(count));
    }
    /// The elements are there now.
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
    using gap_bytes = std::conditional_t<is_plain_value<T>, no_bytes, carried_bytes<value_type, Engine>>;
    struct addition {
        room in;
        size_type count;
        size_type at;
        new_element<T, Engine> made;
        [[no_unique_address]] gap_bytes carried{};
    };
    /// Adds an element before that at `wanted`, or behind the last one.
    template <class... Arguments>
    value_type* add(size_type wanted, Arguments&&... arguments) {
        return modify<Engine>(this, [&]() -> addition {
            const size_type count = size();
            const size_type at = wanted == at_end ? count : require_place(wanted, count);
            if constexpr (is_plain_value<T>) {
                // The value first: an argument may be an element that moves.
                new_element<T, Engine> made(nullptr, std::forward<Arguments>(arguments)...);
                return {room_for(count + 1, at, 1), count, at, std::move(made)};
            } else {
                room in = empty_room_for(count + 1);
                // Behind the last one nobody reads; in a new block it is where it will stay.
                value_type* const place = in.data + (in.block ? at : count);
                hint_add(place);
                new_element<T, Engine> made(place, std::forward<Arguments>(arguments)...);
                // The others behind it: an argument may be one of them, and its contents taken.
                if (in.block) [[unlikely]] {
                    if constexpr (takes_contents<T, Arguments...>) {
                        all_or_doom(current_transaction<Engine>(), [&] { copy_around(in, at, 1); });
                    } else {
                        copy_around(in, at, 1);
                    }
                }
                return {std::move(in), count, at, std::move(made)};
            }
        }, [&](addition& added) {
            value_type* const place = added.in.data + added.at;
            if (!added.in.block && added.at != added.count) {
                insert_in_place(added);
            } else {
                adopt(added.in);
                if constexpr (is_plain_value<T>) {
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
        if constexpr (!is_plain_value<T>) added.carried.take(last);
        move_range<Engine>(place + 1, place, (added.count - added.at) * sizeof(value_type));
        if constexpr (is_plain_value<T>) {
            added.made.put(place);
        } else {
            added.carried.put(place);
            added.made.keep();
        }
    }

    /// A range as elements in a block of their own that nothing names yet.
    struct built {
        room in;
        new_elements<T, Engine> made;
    };
    template <class Iterator, class Sentinel>
    static built build(Iterator first, Sentinel last) {
        return build_out_of<T, Engine, Iterator>([&] {
            built all{room{{}, nullptr}, new_elements<T, Engine>(nullptr)};
            size_type wanted = 0;
            if constexpr (std::sized_sentinel_for<Sentinel, Iterator>) wanted = static_cast<size_type>(last - first);
            if (wanted != 0) all.in = empty_block_for(wanted);
            all.made.moved_to(all.in.data);
            for (; first != last; ++first) {
                if (all.made.count() * sizeof(value_type) + sizeof(value_type) > all.in.block.bytes())
                    move_to_larger(all.in, all.made);
                all.made.add(*first);
            }
            return all;
        });
    }
    static void move_to_larger(room& in, new_elements<T, Engine>& made) {
        const size_type count = std::max<size_type>(2 * made.count(), 4);
        new_block<Engine> block(count * sizeof(value_type), block_alignment<value_type>);
        auto* const first = block.template as<value_type>();
        move_range<Engine>(first, in.data, made.count() * sizeof(value_type));
        made.moved_to(first);
        in.data = first;
        std::swap(in.block, block);
        if (block) block.free();
    }
    /// A range as values in ordinary memory.
    template <class Iterator, class Sentinel>
    static std::vector<T> values_of(Iterator first, Sentinel last) {
        std::vector<T> values;
        if constexpr (std::sized_sentinel_for<Sentinel, Iterator>)
            values.reserve(static_cast<size_type>(last - first));
        for (; first != last; ++first) values.emplace_back(*first);
        return values;
    }
    /// Makes a gap of `gap` elements before that at `at`, where no new block has one; returns where it is.
    value_type* open_gap(room& in, size_type count, size_type at, size_type gap) {
        if (in.block) {
            adopt(in);
        } else {
            move_range<Engine>(data() + at + gap, data() + at, (count - at) * sizeof(value_type));
        }
        size_ = count + gap;
        return data() + at;
    }

    void shrink_to(size_type count) {
        if (count >= size()) return;
        for (size_type i = count; owns_blocks<value_type> && i < size(); ++i) destroy_element(data() + i);
        size_ = count;
    }
    void fill(size_type first, size_type last, const T& value) {
        constexpr size_type chunk = std::max<size_type>(1, 4096 / sizeof(T));
        T values[chunk];
        std::fill_n(values, std::min(chunk, last > first ? last - first : 0), value);
        for (; first < last; first += std::min(chunk, last - first))
            write_values<Engine, T>(data() + first, values, std::min(chunk, last - first));
    }
    /// Inserts `count` values, which `put` stores.
    template <class Put>
    value_type* insert_values(const value_type* place, size_type count, Put&& put) {
        struct insertion {
            room in;
            size_type count;
            size_type at;
        };
        return modify<Engine>(this, [&]() -> insertion {
            const size_type before = size();
            const size_type at = require_place(place_of(place), before);
            return {room_for(require_sum(before, count), at, count), before, at};
        }, [&](insertion& added) {
            if (count == 0) return data() + added.at;
            value_type* const first = open_gap(added.in, added.count, added.at, count);
            put(first);
            return first;
        });
    }
    template <class Iterator, class Sentinel>
    value_type* insert_elements(const value_type* place, Iterator first, Sentinel last) {
        struct insertion {
            built all;
            room in;
            size_type count;
            size_type at;
        };
        return modify<Engine>(this, [&]() -> insertion {
            const size_type before = size();
            const size_type at = require_place(place_of(place), before);
            auto all = build(std::move(first), last);
            // The elements may have been moved out of their range.
            return build_out_of<T, Engine, Iterator>([&]() -> insertion {
                const size_type gap = all.made.count();
                room in = room_for(require_sum(before, gap), at, gap);
                return {std::move(all), std::move(in), before, at};
            });
        }, [&](insertion& added) {
            const size_type gap = added.all.made.count();
            if (gap == 0) return data() + added.at;
            value_type* const to = open_gap(added.in, added.count, added.at, gap);
            move_range<Engine>(to, added.all.in.data, gap * sizeof(value_type));
            added.all.made.keep();
            added.all.in.block.free();
            return to;
        });
    }
    void assign_values(const T* values, size_type count) {
        modify<Engine>(this, [&] { return empty_room_for(count); }, [&](room& in) {
            adopt(in);
            write_values<Engine, T>(data(), values, count);
            if (size() != count) size_ = count;
        });
    }
    template <class Iterator, class Sentinel>
    void assign_elements(Iterator first, Sentinel last) {
        modify<Engine>(this, [&] { return build(std::move(first), last); },
                               [&](built& all) {
                                   shrink_to(0);
                                   adopt(all.in);
                                   if (const size_type count = all.made.count(); count != 0) size_ = count;
                                   all.made.keep();
                               });
    }
    void assign_copy(const vector_storage& other) {
        modify<Engine>(this, [&] { return empty_room_for(other.size()); }, [&](room& in) {
            adopt(in);
            move_range<Engine>(data(), other.data(), other.size() * sizeof(value_type));
            if (size() != other.size()) size_ = other.size();
        });
    }
    template <class Predicate>
    size_type erase_where(Predicate& leaves) {
        return modify<Engine>(this, [&] { return marked(std::span<const value_type>(data(), size()), leaves); },
                                      [&](const std::vector<bool>& marks) {
            size_type stay = 0;
            // Runs of elements that stay are moved as one.
            for (size_type i = 0; i < marks.size();) {
                if (marks[i]) {
                    destroy_element(data() + i++);
                    continue;
                }
                size_type behind = i + 1;
                while (behind < marks.size() && !marks[behind]) ++behind;
                if (i != stay) move_range<Engine>(data() + stay, data() + i, (behind - i) * sizeof(value_type));
                stay += behind - i;
                i = behind;
            }
            if (stay != marks.size()) size_ = stay;
            return marks.size() - stay;
        });
    }
    /// What a destructor does: the fields themselves are about to be freed.
    void free_all() {
        for (size_type i = 0; owns_blocks<value_type> && i < size(); ++i) destroy_element(data() + i);
        Engine::deallocate(data());
    }
    void set_none() {
        size_ = 0;
        data_ = nullptr;
        capacity_ = 0;
    }
    void release() {
        free_all();
        set_none();
    }
    /// Takes over the block and the elements of `other`, and frees its own behind them.
    void take(vector_storage& other, bool frees_own) {
        value_type* const data = other.data();
        const size_type size = other.size();
        const size_type capacity = other.capacity();
        other.set_none();
        if (frees_own) free_all();
        data_ = data;
        size_ = size;
        capacity_ = capacity;
    }
    void exchange(vector_storage& other) {
        swap(data_, other.data_);
        swap(size_, other.size_);
        swap(capacity_, other.capacity_);
    }

    basic_field<Engine, value_type*> data_;
    basic_field<Engine, std::uint64_t> size_;
    basic_field<Engine, std::uint64_t> capacity_;
};

}  // namespace holdfast::detail
