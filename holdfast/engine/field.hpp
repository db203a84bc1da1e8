// field<T>: a T in a pool, written only inside transactions.
#pragma once

#include <holdfast/engine/lives_in_pool.hpp>
#include <holdfast/engine/transaction.hpp>
#include <holdfast/engine/value_operators.hpp>

#include <type_traits>

namespace holdfast {

/// A pointer to an object outside the pool, for a field that has to hold one. The program ensures that it is not
/// followed after a restart.
template <class T>
struct outside_pointer {
    T* address;
    operator T*() const { return address; }
    T* operator->() const { return address; }
};

/// A T whose writes belong to the open transaction of `Engine`. Layout identical to T.
///
/// Requires: T is trivially copyable, and its bytes mean the same to the next process (lives_in_pool.hpp): no view, no
/// address of a function. A read inside a transaction returns the transaction's own writes; a read outside needs the
/// caller's lock. A write outside a transaction throws failure (misuse). A pointer field in the pool points into the
/// same pool or is null: any other pointer is refused by failure (misuse), because it would dangle in the next process.
/// A pointer inside a struct is not checked, nor is an outside_pointer. A default-constructed field is uninitialised,
/// like a T.
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
    /// Exchanges two fields' values in a transaction. Throws failure: misuse, with nothing changed, if only one of them
    /// is in the pool: a rollback would restore only that one, and the other's value would be lost.
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
