// The operators of a value that get() reads and set() writes.
#pragma once

#include <type_traits>

namespace holdfast {

/// A value that lives to the end of the expression that reads its members.
template <class T>
struct value_in_passing {
    const T value;
    const T* operator->() const { return &value; }
};

/// The operators of T, for a Holder with `T get() const` and `void set(const T&)`. Empty; a base of field<T> and
/// wrapped<T>.
template <class Holder, class T>
class value_operators {
public:
    using value_type = T;

    operator T() const { return self().get(); }

    T operator->() const
        requires std::is_pointer_v<T>
    {
        return self().get();
    }
    template <class U = T>
        requires std::is_pointer_v<U> && (!std::is_void_v<std::remove_pointer_t<U>>)
    std::remove_pointer_t<U>& operator*() const {
        return *self().get();
    }
    /// Reads members of a copy: `position->x`. Changes go through set or update.
    value_in_passing<T> operator->() const
        requires std::is_class_v<T>
    {
        return {self().get()};
    }
    /// Sets it to f(value), where f takes a T and returns one, or takes a T& and changes it.
    template <class F>
    void update(F&& f) {
        T value = self().get();
        if constexpr (std::is_void_v<std::invoke_result_t<F&, T&>>) {
            f(value);
            self().set(value);
        } else {
            self().set(f(value));
        }
    }

    Holder& operator+=(const T& by) { return become(static_cast<T>(self().get() + by)); }
    Holder& operator-=(const T& by) { return become(static_cast<T>(self().get() - by)); }
    Holder& operator*=(const T& by) { return become(static_cast<T>(self().get() * by)); }
    Holder& operator/=(const T& by) { return become(static_cast<T>(self().get() / by)); }
    Holder& operator|=(const T& by) { return become(static_cast<T>(self().get() | by)); }
    Holder& operator&=(const T& by) { return become(static_cast<T>(self().get() & by)); }
    Holder& operator^=(const T& by) { return become(static_cast<T>(self().get() ^ by)); }
    Holder& operator++() { return become(static_cast<T>(self().get() + 1)); }
    Holder& operator--() { return become(static_cast<T>(self().get() - 1)); }
    T operator++(int) {
        const T before = self().get();
        self().set(static_cast<T>(before + 1));
        return before;
    }
    T operator--(int) {
        const T before = self().get();
        self().set(static_cast<T>(before - 1));
        return before;
    }

private:
    Holder& become(const T& value) {
        self().set(value);
        return self();
    }
    Holder& self() { return static_cast<Holder&>(*this); }
    const Holder& self() const { return static_cast<const Holder&>(*this); }
};

}  // namespace holdfast
