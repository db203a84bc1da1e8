// Variables and memory of the innermost open wrap, for programs whose types are templates: a structure written for
// memory becomes persistent if its members are wrapped and its allocator is a wrap_allocator.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/handle/wrap.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

namespace holdfast {

namespace detail {

[[noreturn]] void fail_without_wrap();

/// Where a variable is written that is in no pool: nowhere but there. Throws failure: misuse, where it is in one.
void require_in_no_pool(const void* home);

/// The innermost wrap that this thread has open on the pool that holds `home`; nullptr if there is none.
template <class Engine>
typename Engine::transaction* innermost_wrap_over(const void* home) {
    auto* const wrap = open_wraps<typename Engine::transaction>::innermost();
    return wrap != nullptr && wrap->pool()->contains(home) ? wrap : nullptr;
}

}  // namespace detail

/// A T that is loaded and stored through the innermost wrap that this thread has open on the T's pool; inside a
/// transaction, through that. Layout identical to T. `softwrap_lat::wrapped<long>`.
///
/// A read without either returns what was closed last (guarded by the caller's locks). Outside pools a wrapped T is a
/// plain variable. A store in a pool without either throws failure: misuse, because it would not be durable; so does
/// storing a pointer out of the pool, as for field<T>. A wrap from another thread becomes this thread's by
/// `wrap::continue_here`.
/// Requires: T as for field<T>. A default-constructed one is uninitialised.
/// What holds if the process dies inside: the value of the last closed wrap.
template <class Engine, class T>
class basic_wrapped : public value_operators<basic_wrapped<Engine, T>, T> {
    static_assert(Engine::opens_wraps, "this engine's transactions are not opened by hand: use a field");
    static_assert(std::is_trivially_copyable_v<T>, "wrapped<T> needs a trivially copyable T");
    static_assert(detail::can_live<T, detail::held_as::value>);

public:
    basic_wrapped() = default;
    basic_wrapped(const T& value) { set(value); }
    basic_wrapped(const basic_wrapped& other) { set(other.get()); }
    ~basic_wrapped() = default;

    T get() const {
        if (open_transaction_of<Engine> == nullptr)
            if (auto* wrap = detail::innermost_wrap_over<Engine>(&value_)) return load_value<T>(*wrap, &value_);
        return read_value<Engine>(&value_);
    }
    void set(const T& value) {
        if (auto* transaction = open_transaction_of<Engine>) return set_in(*transaction, value);
        if (auto* wrap = detail::innermost_wrap_over<Engine>(&value_)) return set_in(*wrap, value);
        detail::require_in_no_pool(&value_);
        std::memcpy(&value_, &value, sizeof value);
    }

    basic_wrapped& operator=(const T& value) {
        set(value);
        return *this;
    }
    basic_wrapped& operator=(const basic_wrapped& other) {
        set(other.get());
        return *this;
    }

private:
    void set_in(typename Engine::transaction& transaction, const T& value) {
        if constexpr (std::is_pointer_v<T>) transaction.check_pointer(&value_, value);
        store_value(transaction, &value_, value);
    }

    T value_;
};

/// A standard allocator, with blocks of the innermost wrap that this thread has open, or of the open transaction. They
/// are free again if the wrap is aborted; a freed block is reused only after the wrap is durable. All allocators are
/// equal. The container's members and elements must be wrapped, or stored to by wrapStore: an allocator sees no stores.
///
/// Throws failure: misuse (neither is open), out_of_space; std::bad_array_new_length.
template <class Engine, class T>
class wrap_allocator {
public:
    using value_type = T;

    wrap_allocator() = default;
    template <class U>
    wrap_allocator(const wrap_allocator<Engine, U>&) noexcept {}

    T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(static_cast<void*>(writer().allocate(count * sizeof(T), alignof(T)).address));
    }
    void deallocate(T* block, std::size_t) { writer().deallocate(block); }

    template <class U>
    bool operator==(const wrap_allocator<Engine, U>&) const noexcept {
        return true;
    }

private:
    static typename Engine::transaction& writer() {
        detail::check_thread_and_handler();
        if (auto* transaction = open_transaction_of<Engine>) return *transaction;
        if (auto* wrap = open_wraps<typename Engine::transaction>::innermost()) return *wrap;
        detail::fail_without_wrap();
    }
};

}  // namespace holdfast
