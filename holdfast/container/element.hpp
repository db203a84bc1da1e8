// What all containers share: how elements are held, built, moved and visited.
#pragma once

#include <holdfast/engine/engine.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast {

/// What a container of T holds: a field for a trivially copyable T or a std::pair of such types, otherwise the T
/// itself, which is then made of fields and containers.
///
/// Containers move elements byte by byte, as realloc would: a T must not hold its own address. An
/// exception out of a T's constructor leaves the container as it was; see docs/guide/containers.md.
template <class T, class Engine>
using held_element = std::conditional_t<detail::is_plain_value<T>, basic_field<Engine, T>, T>;

namespace detail {

/// What a block that begins with an X is aligned to.
template <class X>
inline constexpr std::size_t block_alignment = alignof(X) > 16 ? alignof(X) : 16;

/// Throws failure (misuse) if `object` is not in the transaction's pool: its stores could not be rolled back.
inline void require_in_pool(const transaction_base& transaction, const void* object) {
    if (!transaction.pool()->contains(object)) [[unlikely]]
        fail(errc::misuse, "a container outside the open transaction's pool; containers live in pools only");
}

/// The same of a second object of a call, inside its transaction.
template <class Engine>
bool require_also(const void* object) {
    require_in_pool(current_transaction<Engine>(), object);
    return true;
}

/// Runs change in the open transaction, or in its own. An exception that leaves it dooms the open transaction, because
/// it is unknown how far the change got. Throws failure (misuse) as require_in_pool.
template <class Engine, class Change>
auto modify(const void* object, Change&& change) {
    if (auto* transaction = open_transaction_of<Engine>) {
        require_in_pool(*transaction, object);
        return all_or_doom(*transaction, change);
    }
    return Engine::transact(object, change);
}

/// Runs f in the open transaction, or in one of its own. f says itself what of it is a change, by all_or_doom.
template <class Engine, class F>
auto join(const void* object, F&& f) {
    if (auto* transaction = open_transaction_of<Engine>) {
        require_in_pool(*transaction, object);
        return f();
    }
    return Engine::transact(object, f);
}

/// Runs change(prepare()) as modify does. What leaves prepare dooms nothing: it stores only where nobody reads,
/// in blocks that nothing names and in elements that no container counts.
template <class Engine, class Prepare, class Change>
auto modify(const void* object, Prepare&& prepare, Change&& change) {
    if (auto* transaction = open_transaction_of<Engine>) {
        require_in_pool(*transaction, object);
        auto prepared = prepare();
        return all_or_doom(*transaction, [&] { return change(prepared); });
    }
    return Engine::transact(object, [&] {
        auto prepared = prepare();
        return change(prepared);
    });
}

/// Runs f, which frees what a destructor has to, if that runs inside a transaction on the pool that holds the object.
template <class Engine, class F>
void free_in_destructor(const void* object, F&& f) {
    auto* transaction = open_transaction_of<Engine>;
    if (transaction != nullptr && transaction->pool()->contains(object)) free_or_doom(*transaction, f);
}

/// Stores bytes that are not in a pool, as one range.
template <class Engine>
void write_range(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) current_transaction<Engine>().store(to, from, bytes);
}

/// Stores values that are not in a pool as one range. Throws failure (misuse) like a field of each value.
template <class Engine, class T>
void write_values(held_element<T, Engine>* to, const T* values, std::size_t count) {
    if constexpr (std::is_pointer_v<T>)
        for (std::size_t i = 0; i < count; ++i) current_transaction<Engine>().check_pointer(to, values[i]);
    write_range<Engine>(to, values, count * sizeof(T));
}

/// Copies bytes within the pool; the ranges may overlap.
template <class Engine>
void move_range(void* to, const void* from, std::size_t bytes) {
    alignas(8) std::byte buffer[4096];
    auto* const out = static_cast<std::byte*>(to);
    const auto* const in = static_cast<const std::byte*>(from);
    const bool backwards = out > in && out < in + bytes;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t part = bytes - done < sizeof buffer ? bytes - done : sizeof buffer;
        const std::size_t at = backwards ? bytes - done - part : done;
        read_bytes<Engine>(in + at, buffer, part);
        write_range<Engine>(out + at, buffer, part);
        done += part;
    }
}

/// Builds an element on bytes that hold nothing. Inside a transaction.
template <class T, class Engine, class... Arguments>
void construct_element(held_element<T, Engine>* at, Arguments&&... arguments) {
    if constexpr (is_plain_value<T>) {
        at->set(T(std::forward<Arguments>(arguments)...));
    } else {
        Engine::template construct_at<T>(at, std::forward<Arguments>(arguments)...);
    }
}

/// A value of these arguments. Where there is one it is converted as the caller asked, without a warning.
template <class T, class... Arguments>
T value_of(Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 1) {
        return static_cast<T>((std::forward<Arguments>(arguments), ...));
    } else {
        return T(std::forward<Arguments>(arguments)...);
    }
}

/// Whether a failing assignment leaves a T unchanged: a container declares it by this name. For a program's own type it
/// is unknown.
template <class T>
concept assigned_whole = requires { typename T::holdfast_assigned_whole; };

/// Assigns a new value to an element. Inside a transaction, which is doomed if that fails half-way.
template <class T, class Engine, class Value>
void assign_element(held_element<T, Engine>& element, Value&& value) {
    if constexpr (is_plain_value<T>) {
        const T copy = value_of<T>(std::forward<Value>(value));
        all_or_doom(current_transaction<Engine>(), [&] { element.set(copy); });
    } else if constexpr (assigned_whole<T>) {
        element = std::forward<Value>(value);
    } else {
        all_or_doom(current_transaction<Engine>(), [&] { element = std::forward<Value>(value); });
    }
}

/// Whether destroying a T does anything: true for containers, and for structs that have one.
template <class T>
inline constexpr bool owns_blocks = !std::is_trivially_destructible_v<T>;

/// Frees what an element owns. Inside a transaction.
template <class Element>
void destroy_element(Element* element) {
    if constexpr (owns_blocks<Element>) holdfast::detail::destroy_in_pool(element);
}

/// An element that no container counts yet. A trivially copyable one is a value in ordinary memory, any other is
/// built on bytes of the pool that nobody reads; it is destroyed again unless it is put.
template <class T, class Engine>
class new_element {
    using held = held_element<T, Engine>;

public:
    /// Builds it, at `at` where it needs the pool.
    template <class... Arguments>
    explicit new_element(held* at, Arguments&&... arguments) : at_(at) {
        construct_element<T, Engine>(at, std::forward<Arguments>(arguments)...);
    }
    new_element(new_element&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
    ~new_element() {
        if (at_ != nullptr) destroy_element(at_);
    }
    /// Makes it the element at `to`, where it may already be.
    void put(held* to) {
        if (to != at_) move_range<Engine>(to, at_, sizeof(held));
        keep();
    }
    /// It is an element of a container now.
    void keep() noexcept { at_ = nullptr; }

private:
    held* at_;
};
template <class T, class Engine>
    requires is_plain_value<T>
class new_element<T, Engine> {
    using held = held_element<T, Engine>;

public:
    template <class... Arguments>
    explicit new_element(held*, Arguments&&... arguments)
        : value_(value_of<T>(std::forward<Arguments>(arguments)...)) {}
    void put(held* to) { to->set(value_); }

private:
    T value_;
};

/// Elements built one behind the other that no container counts yet; destroyed again unless they are kept.
template <class T, class Engine>
class new_elements {
    using held = held_element<T, Engine>;

public:
    explicit new_elements(held* first) noexcept : first_(first) {}
    new_elements(new_elements&& other) noexcept
        : first_(other.first_), count_(std::exchange(other.count_, std::size_t{0})) {}
    ~new_elements() {
        for (; count_ != 0; --count_) destroy_element(first_ + (count_ - 1));
    }
    template <class... Arguments>
    void add(Arguments&&... arguments) {
        construct_element<T, Engine>(first_ + count_, std::forward<Arguments>(arguments)...);
        ++count_;
    }
    std::size_t count() const noexcept { return count_; }
    /// Their bytes are there now.
    void moved_to(held* first) noexcept { first_ = first; }
    void keep() noexcept { count_ = 0; }

private:
    held* first_;
    std::size_t count_ = 0;
};

/// The bytes of a T in the pool, in ordinary memory.
template <class T, class Engine>
class carried_bytes {
public:
    void take(const T* from) { read_bytes<Engine>(from, bytes(), sizeof(T)); }
    void put(T* to) { write_range<Engine>(to, bytes(), sizeof(T)); }

private:
    static constexpr bool is_small = sizeof(T) <= 1024;

    std::byte* bytes() noexcept {
        if constexpr (is_small) {
            return small_;
        } else {
            return large_.get();
        }
    }

    alignas(8) std::byte small_[is_small ? sizeof(T) : 1];
    std::unique_ptr<std::byte[]> large_{is_small ? nullptr : new std::byte[sizeof(T)]};
};

/// Anything whose blocks the heap audit can ask for.
template <class T>
concept visits_blocks = requires(const T& object) { object.visit_blocks([](const void*) {}); };
/// Whether an element of these arguments takes what one of them owns: then a failure that destroys the element would
/// lose it.
template <class T, class... Arguments>
inline constexpr bool takes_contents =
    ((!std::is_reference_v<Arguments> && !std::is_const_v<Arguments> && !is_plain_value<Arguments> &&
      (std::is_same_v<Arguments, T> || visits_blocks<Arguments>)) || ...);
template <class T>
concept checks_itself = requires(const T& object) {
    { object.check() } -> std::same_as<result<void>>;
};

template <class Element, class F>
void visit_element(const Element& element, F& f) {
    if constexpr (visits_blocks<Element>) element.visit_blocks(f);
}
template <class Element>
result<void> check_element(const Element& element) {
    if constexpr (checks_itself<Element>) return element.check();
    return {};
}

/// The addresses to which a check may follow pointers.
class bounds {
public:
    /// The pool that holds `object`, if it is open.
    explicit bounds(const void* object) noexcept : pool_(find_open_pool(object)) {}

    bool known() const noexcept { return pool_ != nullptr; }
    /// Whether [address, address + bytes) lies in the pool, aligned as blocks are.
    bool hold(const void* address, std::uint64_t bytes) const noexcept {
        if (address == nullptr || !pool_->contains(address)) return false;
        const std::uint64_t offset = offset_of(address);
        return offset % 16 == 0 && bytes <= pool_->size() - offset;
    }
    /// The usable size of the allocated block at `address`; 0 if none begins there. Not inside a transaction, whose
    /// allocations may not be in the heap yet.
    std::uint64_t block_bytes(const void* address) const noexcept {
        return heap::block_bytes(pool_->base(), pool_->zones(), address);
    }
    /// The largest number of objects of `bytes` that a pool of this size could hold.
    std::uint64_t most_of(std::uint64_t bytes) const noexcept { return pool_->size() / bytes; }

    error broken(const void* at, std::string what, std::uint64_t expected, std::uint64_t found) const {
        error reason{.code = errc::corrupt, .what = std::move(what), .path = pool_->path()};
        if (pool_->contains(at)) reason.offset = offset_of(at);
        reason.expected = std::to_string(expected);
        reason.found = std::to_string(found);
        return reason;
    }
    error broken_pointer(const void* at, const char* what) const {
        error reason = broken(at, what, 0, 0);
        reason.expected = "a block in the pool";
        reason.found = "a pointer out of it";
        return reason;
    }
    static error unknown() {
        return error{.code = errc::misuse, .what = "the container is in no open pool"};
    }

private:
    std::uint64_t offset_of(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pool_->base());
    }

    const open_pool* pool_;
};

}  // namespace detail
}  // namespace holdfast
