// string: characters in a pool.
#pragma once

#include <holdfast/container/element.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {

/// The characters of a string, zero-terminated, for functions that take a const char*. It is a copy, and the pointer is
/// valid as long as the copy: that of `string.c_str()` to the end of the expression, like that of `str().c_str()`.
class c_string {
public:
    explicit c_string(std::string text) : text_(std::move(text)) {}
#if defined(__has_cpp_attribute) && __has_cpp_attribute(clang::lifetimebound)
    operator const char*() const noexcept [[clang::lifetimebound]] { return text_.c_str(); }
    const char* get() const noexcept [[clang::lifetimebound]] { return text_.c_str(); }
#else
    operator const char*() const noexcept { return text_.c_str(); }
    const char* get() const noexcept { return text_.c_str(); }
#endif

private:
    std::string text_;
};

/// A string of bytes in a pool, with the names of std::string. It is a root, a member of an object in a pool, or an
/// element or key of a container; zero bytes are an empty string. It takes 24 bytes, which hold up to 16 characters;
/// more are in one block. It is not zero-terminated: c_str() returns a copy that is.
///
/// Thread safety: as std::string; callers serialise access with locks of their own.
/// Each modifying function joins the open transaction or runs its own; reading runs none. Inside a transaction the
/// characters may still be in the write set, so reading copies them: str().
/// What holds if the process dies inside: nothing of the transaction, or all of it.
/// Iterators and references are plain pointers: invalid after any change of the length, rollback
/// and close. Costs: assign logs all characters and one word; append only the new ones.
/// Errors: failure (out_of_space, transaction_too_large, misuse); at throws std::out_of_range.
/// A function that fails inside a transaction leaves the string unchanged: if space runs out, or the caller made a
/// mistake. A failure after the first change dooms the transaction: if the log has no room for a store, or a block
/// cannot be freed.
template <class Engine>
class string {
public:
    using value_type = basic_field<Engine, char>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = value_type&;
    using const_reference = const value_type&;
    using iterator = value_type*;
    using const_iterator = const value_type*;
    static constexpr size_type npos = std::string_view::npos;
    static constexpr size_type inline_capacity = 16;
    /// A failing assignment leaves the string unchanged.
    using holdfast_assigned_whole = void;

    string() = default;
    /// Inside a transaction, on zeroed bytes: by Engine::make, pool.root or emplace only.
    explicit string(std::string_view text) { assign(text); }
    explicit string(const char* text) { assign(text); }
    explicit string(const std::string& text) { assign(text); }
    /// Frees what the container owns if Engine::destroy runs it; does nothing outside a transaction.
    ~string() noexcept(false) {
        detail::free_in_destructor<Engine>(this, [&] { free_block(); });
    }
    string(const string&) = delete;
    /// Takes over the contents of `other`, which is empty afterwards. Inside a transaction, on zeroed bytes, like the
    /// others.
    string(string&& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); },
                               [&](bool) { take(other); });
    }
    /// Frees its contents and takes over those of `other`, which is empty afterwards.
    /// Errors: misuse (it is in no pool, or in another).
    string& operator=(string&& other) {
        if (this == &other) return *this;
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            free_block();
            take(other);
        });
        return *this;
    }
    string& operator=(const string& other) {
        if (this != &other) assign_outside(other.str());
        return *this;
    }
    string& operator=(std::string_view text) { return assign(text); }
    string& operator=(const char* text) { return assign(text); }
    string& operator=(const std::string& text) { return assign(text); }

    size_type size() const { return size_.get() & ~on_heap; }
    size_type length() const { return size(); }
    bool empty() const { return size() == 0; }
    size_type capacity() const { return is_inline() ? inline_capacity : capacity_.get(); }

    /// A copy, as the open transaction sees it.
    std::string str() const {
        std::string text(size(), '\0');
        read_bytes<Engine>(data(), text.data(), text.size());
        return text;
    }
    operator std::string() const { return str(); }
    /// The characters in place, until the string changes, the transaction ends or the pool closes. Throws failure:
    /// misuse, if the open transaction changed them and keeps them aside until it commits: str() and with_view read
    /// these. For engines without alias tables, where committed values are in place.
    std::string_view view() const
        requires(!Engine::has_shared_aliases)
    {
        const std::string_view standing(reinterpret_cast<const char*>(data()), size());
        if (Engine::description.logs_new_values && Engine::in_transaction() && str() != standing) [[unlikely]]
            fail(errc::misuse, "view() of a string that the open transaction has changed; use with_view() or str()");
        return standing;
    }
    explicit operator std::string_view() const
        requires(!Engine::has_shared_aliases)
    {
        return view();
    }
    c_string c_str() const { return c_string(str()); }
    /// Calls f with the characters: in place outside a transaction (except with softwrap), copied inside one. The view
    /// is invalid once f returns.
    template <class F>
    decltype(auto) with_view(F&& f) const {
        const size_type length = size();
        // Only where homes follow the log can they differ from what is seen: in a transaction, or after it too.
        if (!Engine::description.logs_new_values || !(Engine::in_transaction() || Engine::has_shared_aliases))
            return f(std::string_view(reinterpret_cast<const char*>(data()), length));
        char buffer[256];
        if (length > sizeof buffer) {
            const std::string text = str();
            return f(std::string_view(text));
        }
        read_bytes<Engine>(data(), buffer, length);
        return f(std::string_view(buffer, length));
    }

    value_type* data() { return const_cast<value_type*>(std::as_const(*this).data()); }
    const value_type* data() const {
        return is_inline() ? reinterpret_cast<const value_type*>(&block_) : block_.get();
    }
    iterator begin() { return data(); }
    iterator end() { return data() + size(); }
    const_iterator begin() const { return data(); }
    const_iterator end() const { return data() + size(); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }

    reference operator[](size_type i) { return data()[i]; }
    const_reference operator[](size_type i) const { return data()[i]; }
    reference at(size_type i) { return require(i, size()), data()[i]; }
    const_reference at(size_type i) const { return require(i, size()), data()[i]; }
    reference front() { return data()[0]; }
    const_reference front() const { return data()[0]; }
    reference back() { return data()[size() - 1]; }
    const_reference back() const { return data()[size() - 1]; }

    string& assign(std::string_view text) {
        if (is_inside(text)) return assign_outside(copy_of(text));
        return assign_outside(text);
    }
    string& append(std::string_view text) {
        std::string copy;
        if (is_inside(text)) text = copy = copy_of(text);
        detail::modify<Engine>(this, [&] { return room_for_more(text.size()); }, [&](room& in) {
            adopt(in);
            const size_type before = size();
            detail::write_range<Engine>(data() + before, text.data(), text.size());
            set_size(before + text.size());
        });
        return *this;
    }
    string& append(size_type count, char character) {
        detail::modify<Engine>(this, [&] { return room_for_more(count); }, [&](room& in) {
            adopt(in);
            const size_type before = size();
            char characters[256];
            std::fill_n(characters, std::min(count, sizeof characters), character);
            for (size_type done = 0; done < count; done += sizeof characters)
                detail::write_range<Engine>(data() + before + done, characters,
                                            std::min(count - done, sizeof characters));
            set_size(before + count);
        });
        return *this;
    }
    string& operator+=(std::string_view text) { return append(text); }
    string& operator+=(char character) { return append(std::string_view(&character, 1)); }
    void push_back(char character) { append(std::string_view(&character, 1)); }
    /// Errors: misuse (an empty string).
    void pop_back() {
        if (empty()) fail(errc::misuse, "the string is empty");
        resize(size() - 1);
    }
    /// Throws std::out_of_range if `place` is past the end.
    string& insert(size_type place, std::string_view text) {
        require(place, size() + 1);
        const std::string copy = is_inside(text) ? copy_of(text) : std::string(text);
        detail::modify<Engine>(this, [&] { return room_for_more(copy.size()); }, [&](room& in) {
            adopt(in);
            const size_type before = size();
            detail::move_range<Engine>(data() + place + copy.size(), data() + place, before - place);
            detail::write_range<Engine>(data() + place, copy.data(), copy.size());
            set_size(before + copy.size());
        });
        return *this;
    }
    string& erase(size_type place = 0, size_type count = npos) {
        require(place, size() + 1);
        detail::modify<Engine>(this, [&] {
            const size_type removed = std::min(count, size() - place);
            const size_type rest = size() - place - removed;
            detail::move_range<Engine>(data() + place, data() + place + removed, rest);
            set_size(place + rest);
        });
        return *this;
    }
    /// Removes [first, last) and returns an iterator to the next character. Errors: misuse (an iterator of another
    /// string).
    template <class Place>
        requires(std::is_pointer_v<Place> && std::convertible_to<Place, const_iterator>)
    iterator erase(Place first, std::type_identity_t<Place> last) {
        const auto number = [&](const_iterator place, size_type limit) {
            const auto at = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(data());
            if (at > limit) fail(errc::misuse, "the iterator does not belong to this string");
            return static_cast<size_type>(at);
        };
        const size_type end = number(last, size());
        const size_type begin = number(first, end);
        erase(begin, end - begin);
        return data() + begin;
    }
    template <class Place>
        requires(std::is_pointer_v<Place> && std::convertible_to<Place, const_iterator>)
    iterator erase(Place place) {
        return erase(place, place + 1);
    }
    void resize(size_type count, char character = '\0') {
        if (count > size()) {
            append(count - size(), character);
        } else {
            detail::modify<Engine>(this, [&] { set_size(count); });
        }
    }
    void reserve(size_type count) {
        if (count <= capacity()) return;
        detail::modify<Engine>(this, [&] { return room_for_more(count - size()); }, [&](room& in) { adopt(in); });
    }
    void clear() { resize(0); }
    /// Releases unused capacity.
    void shrink_to_fit() {
        if (capacity() > size() && !is_inline()) {
            detail::modify<Engine>(this, [&] {
                const size_type length = size();
                return length > inline_capacity ? block_for(length) : room{{}, length};
            }, [&](room& in) {
                if (in.block) return adopt(in);
                char text[inline_capacity];
                read_bytes<Engine>(data(), text, in.length);
                free_block();
                size_ = in.length;
                detail::write_range<Engine>(data(), text, in.length);
            });
        }
    }
    void swap(string& other) {
        detail::modify<Engine>(this, [&] { return detail::require_also<Engine>(&other); }, [&](bool) {
            holdfast::swap(block_, other.block_);
            holdfast::swap(capacity_, other.capacity_);
            holdfast::swap(size_, other.size_);
        });
    }
    friend void swap(string& a, string& b) { a.swap(b); }
    /// Removes the characters for which `leaves` is true; returns how many.
    template <class Predicate>
    friend size_type erase_if(string& from, Predicate leaves) {
        return detail::modify<Engine>(&from, [&] {
            std::string text = from.str();
            std::erase_if(text, leaves);
            return text;
        }, [&](const std::string& text) {
            const size_type erased = from.size() - text.size();
            if (erased == 0) return erased;
            detail::write_range<Engine>(from.data(), text.data(), text.size());
            from.set_size(text.size());
            return erased;
        });
    }

    std::string substr(size_type place = 0, size_type count = npos) const {
        require(place, size() + 1);
        return with_view([&](std::string_view view) { return std::string(view.substr(place, count)); });
    }
    size_type find(std::string_view text, size_type from = 0) const {
        return with_view([&](std::string_view view) { return view.find(text, from); });
    }
    size_type find(char character, size_type from = 0) const { return find(std::string_view(&character, 1), from); }
    bool contains(std::string_view text) const { return find(text) != npos; }
    bool starts_with(std::string_view text) const {
        return with_view([&](std::string_view view) { return view.starts_with(text); });
    }
    bool ends_with(std::string_view text) const {
        return with_view([&](std::string_view view) { return view.ends_with(text); });
    }
    int compare(std::string_view text) const {
        return with_view([&](std::string_view view) { return view.compare(text); });
    }
    friend bool operator==(const string& a, std::string_view b) { return a.size() == b.size() && a.compare(b) == 0; }
    friend std::strong_ordering operator<=>(const string& a, std::string_view b) { return a.compare(b) <=> 0; }
    friend bool operator==(const string& a, const string& b) {
        return b.with_view([&](std::string_view view) { return a == view; });
    }
    friend std::strong_ordering operator<=>(const string& a, const string& b) {
        return b.with_view([&](std::string_view view) { return a <=> view; });
    }

    /// Calls f with the block that this string owns, if any.
    template <class F>
    void visit_blocks(F&& f) const {
        if (!is_inline()) f(static_cast<const void*>(block_.get()));
    }
    /// Size, capacity and bounds. Errors: corrupt; misuse outside a pool.
    result<void> check() const {
        const detail::bounds pool(this);
        if (!pool.known()) return detail::bounds::unknown();
        if (size() > capacity()) return pool.broken(this, "a string is longer than its capacity", capacity(), size());
        if (!is_inline() && !pool.hold(block_.get(), capacity()))
            return pool.broken_pointer(this, "a string's block is out of bounds");
        if (is_inline() || open_transaction_of<Engine> != nullptr) return {};
        // Where no block begins the audit finds an owner of nothing.
        if (const std::uint64_t usable = pool.block_bytes(block_.get()); usable != 0 && usable != capacity())
            return pool.broken(this, "a string's capacity is not its block's size", usable, capacity());
        return {};
    }

private:
    static constexpr std::uint64_t on_heap = std::uint64_t{1} << 63;

    bool is_inline() const { return (size_.get() & on_heap) == 0; }
    void set_size(size_type count) {
        const std::uint64_t value = count | (size_.get() & on_heap);
        if (value != size_.get()) size_ = value;
    }
    static void require(size_type place, size_type limit) {
        if (place >= limit) throw std::out_of_range("holdfast::string: the place is past the end");
    }
    /// Whether the characters are in this string's own pool, where a store may overwrite them.
    bool is_inside(std::string_view text) const {
        const auto* transaction = open_transaction_of<Engine>;
        const open_pool* pool = transaction != nullptr ? transaction->pool() : find_open_pool(this);
        return pool != nullptr && pool->contains(text.data());
    }
    /// Characters of the pool as the open transaction sees them.
    static std::string copy_of(std::string_view text) {
        std::string copy(text.size(), '\0');
        read_bytes<Engine>(text.data(), copy.data(), copy.size());
        return copy;
    }
    /// Requires: `text` is not in the pool.
    string& assign_outside(std::string_view text) {
        detail::modify<Engine>(this, [&] {
            return text.size() > capacity() ? empty_block_for(text.size()) : room{{}, 0};
        }, [&](room& in) {
            adopt(in);
            Engine::will_write(data(), text.size());
            Engine::will_write(&size_, sizeof size_);
            detail::write_range<Engine>(data(), text.data(), text.size());
            set_size(text.size());
        });
        return *this;
    }

    /// Where the characters will be: in a block that nothing names yet, with a copy of `length` of them, or where they
    /// do now.
    struct room {
        detail::new_block<Engine> block;
        size_type length;
    };
    room empty_block_for(size_type count) { return {detail::new_block<Engine>(count, 16), 0}; }
    room block_for(size_type count) {
        room made = empty_block_for(count);
        made.length = size();
        detail::move_range<Engine>(made.block.template as<std::byte>(), data(), made.length);
        return made;
    }
    room room_for_more(size_type more) {
        const size_type length = size();
        if (more >= on_heap / 2 - length) [[unlikely]]
            fail(errc::out_of_space, "the string would be larger than a pool can be");
        const size_type count = length + more;
        if (count <= capacity()) return {{}, length};
        // An empty string gets what it asks for: most are assigned once.
        return block_for(length == 0 ? count : std::max(count, 2 * capacity()));
    }
    /// The characters are there now.
    void adopt(room& in) {
        if (!in.block) return;
        free_block();
        block_ = in.block.template as<value_type>();
        capacity_ = in.block.bytes();
        size_ = in.length | on_heap;
        in.block.keep();
    }
    /// Takes over the fields of `other`, regardless of its own.
    void take(string& other) {
        if (other.is_inline()) {
            // Characters are no pointer, and its field would refuse them.
            detail::move_range<Engine>(&block_, &other.block_, other.size());
        } else {
            block_ = other.block_;
            capacity_ = other.capacity_;
        }
        size_ = other.size_;
        other.size_ = 0;
    }
    void free_block() {
        if (!is_inline()) Engine::deallocate(block_.get());
    }

    // The first two words are the characters while the string is inline.
    basic_field<Engine, value_type*> block_;
    basic_field<Engine, std::uint64_t> capacity_;
    basic_field<Engine, std::uint64_t> size_;  ///< the top bit says that there is a block
};

}  // namespace holdfast
