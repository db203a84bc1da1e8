// field<std::pair<A, B>>: std::pair is not trivially copyable, though its members may be. Included by engine.hpp.
#pragma once

#include <holdfast/engine/field.hpp>

#include <type_traits>
#include <utility>

namespace holdfast {

namespace detail {

/// Whether a T is held as one field: it is trivially copyable, or a std::pair of such types.
template <class T>
inline constexpr bool is_plain_value = std::is_trivially_copyable_v<T>;
template <class First, class Second>
inline constexpr bool is_plain_value<std::pair<First, Second>> =
    is_plain_value<First> && is_plain_value<Second> && !std::is_const_v<First> && !std::is_const_v<Second>;

/// A pair as stored in a pool.
template <class First, class Second>
struct plain_pair {
    First first;
    Second second;
};

/// A value, and the form of it that is trivially copyable.
template <class T>
struct plain_form {
    using type = T;
    static const T& convert(const T& value) { return value; }
    static const T& back(const T& value) { return value; }
};
template <class First, class Second>
struct plain_form<std::pair<First, Second>> {
    using type = plain_pair<typename plain_form<First>::type, typename plain_form<Second>::type>;
    static type convert(const std::pair<First, Second>& value) {
        return {plain_form<First>::convert(value.first), plain_form<Second>::convert(value.second)};
    }
    static std::pair<First, Second> back(const type& value) {
        return {plain_form<First>::back(value.first), plain_form<Second>::back(value.second)};
    }
};

}  // namespace detail

/// A pair whose members are written together. Thread safety, requirements, what holds if the process dies inside and
/// errors: as basic_field.
template <class Engine, class First, class Second>
    requires detail::is_plain_value<std::pair<First, Second>>
class basic_field<Engine, std::pair<First, Second>>
    : public value_operators<basic_field<Engine, std::pair<First, Second>>, std::pair<First, Second>> {
    using form = detail::plain_form<std::pair<First, Second>>;
    // Containers store arrays of values as bytes.
    static_assert(sizeof(typename form::type) == sizeof(std::pair<First, Second>));

public:
    using value_type = std::pair<First, Second>;

    basic_field() = default;
    basic_field(const value_type& value) { set(value); }
    basic_field(const basic_field& other) { set(other.get()); }
    ~basic_field() = default;

    value_type get() const { return form::back(held_.get()); }
    void set(const value_type& value) { held_.set(form::convert(value)); }
    void swap(basic_field& other) { held_.swap(other.held_); }

    basic_field& operator=(const value_type& value) {
        set(value);
        return *this;
    }
    basic_field& operator=(const basic_field& other) {
        set(other.get());
        return *this;
    }

private:
    basic_field<Engine, typename form::type> held_;
};

}  // namespace holdfast
