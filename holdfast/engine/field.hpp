// field<T>: a T in a pool, written only inside transactions.
#pragma once

#include <holdfast/engine/lives_in_pool.hpp>
#include <holdfast/engine/transaction.hpp>
#include <holdfast/engine/value_operators.hpp>

#include <type_traits>

namespace holdfast {

/// A pointer to what is not in the pool, for a field that has to hold one: the program sees to it that nobody follows
/// it after a start.
template <class T>
struct outside_pointer {
    T* address;
    operator T*() const { return address; }
    T* operator->() const { return address; }
};

/// A T whose writes belong to the open transaction of `Engine`. Layout identical to T.
///
/// Requires: T trivially copyable, and such that its bytes mean the same to the next process (lives_in_pool.hpp): no
/// view, no address of a function. Reading inside a transaction gives its own writes; reading
/// outside needs the caller's lock. A write outside a transaction throws failure (misuse).
/// A field of a pointer in the pool points into the same pool or is null: any other pointer is refused, by failure
/// (misuse), since the next process has nothing there. A pointer inside a struct is not looked at, nor is an
/// outside_pointer.
/// A default-constructed field holds whatever bytes were there, like a T.
/// What holds if the process dies inside: the value before the transaction, or after it.
template <class Engine, class T>
class basic_field : public value_operators<basic_field<Engine, T>, T> {
    static_assert(std::is_trivially_copyable_v<T>, "field<T> needs a trivially copyable T");
    static_assert(!std::is_const_v<T> && !std::is_reference_v<T>);
    static_assert(detail::can_live<T, detail::held_as::value>);

public:
    basic_field() = default;
    basic_field(const T& value) { set(value); }
    basic_field(const basic_field& other) { set(other.get()); }
    ~basic_field() = default;

    T get() const { return read_value<Engine>(&value_); }
    void set(const T& value) {
        auto& transaction = current_transaction<Engine>();
        if constexpr (std::is_pointer_v<T>) transaction.check_pointer(&value_, value);
        store_value(transaction, &value_, value);
    }
    /// Exchanges two fields' values in a transaction. Throws failure: misuse, with nothing changed, when only one of
    /// them is in the pool. Rolling back would restore that one alone, and the other's value would be nowhere.
    void swap(basic_field& other) {
        auto& transaction = current_transaction<Engine>();
        transaction.check_both_or_neither_in_pool(this, &other);
        const T value = get();
        // What is exchanged comes from the pool, pointers too.
        store_value(transaction, &value_, other.get());
        store_value(transaction, &other.value_, value);
    }

    basic_field& operator=(const T& value) {
        set(value);
        return *this;
    }
    basic_field& operator=(const basic_field& other) {
        set(other.get());
        return *this;
    }

private:
    T value_;
};

template <class Engine, class T>
void swap(basic_field<Engine, T>& a, basic_field<Engine, T>& b) {
    a.swap(b);
}

}  // namespace holdfast
