// What the compiler can say of a woven member function by its types: whether the weaver can hand on what it takes, and
// whether what it returns could be used to write the object outside a transaction. weave.py asserts it where each
// function stands. It needs no more than <type_traits>, and names no class of the standard library.
#pragma once

#include <holdfast/line/woven_medium.hpp>

#include <stddef.h>
#include <type_traits>
#include <utility>

namespace holdfast {
namespace woven {

/// Whether a member of the class, as the weaver knows it, is of type `T`: then a value of that type is no way to the
/// object.
template <class Members, class T, int Index = 0>
constexpr bool is_of_a_member() {
    if constexpr (Index < int{Members::MEMBERS}) {
        using type = std::remove_all_extents_t<typename Members::template Member<Index>::Type>;
        return std::is_same<std::remove_cv_t<type>, T>::value || is_of_a_member<Members, T, Index + 1>();
    } else {
        return false;
    }
}

template <class T>
inline constexpr bool is_writable = !std::is_function<T>::value && !std::is_const<T>::value;

/// Stands for anything, and for a pointer by which a member could be written, where a structure is initialised.
struct anything {
    template <class T>
    operator T() const;
};
template <class Members>
struct writable_pointer {
    template <class T, class = std::enable_if_t<is_writable<T> && !is_of_a_member<Members, T*>()>>
    operator T*() const;
};

template <size_t>
using anything_at = anything;
template <class T, class Members, class Indices, class = void>
struct takes_pointer_behind : std::false_type {};
template <class T, class Members, size_t... Index>
struct takes_pointer_behind<T, Members, std::index_sequence<Index...>,
                            std::void_t<decltype(T{anything_at<Index>{}..., writable_pointer<Members>{}})>>
    : std::true_type {};

/// Whether one of the members of a structure behind that number of others is such a pointer.
template <class T, class Members, size_t... Before>
constexpr bool has_pointer(std::index_sequence<Before...>) {
    return (takes_pointer_behind<T, Members, std::make_index_sequence<Before>>::value || ...);
}

#define HOLDFAST_WRITABLE_BY(name, expression)                                                            \
    template <class T, class = void>                                                                      \
    struct name : std::false_type {};                                                                     \
    template <class T>                                                                                    \
    struct name<T, std::void_t<decltype(expression)>>                                                     \
        : std::bool_constant<(std::is_lvalue_reference<decltype(expression)>::value ||                    \
                              std::is_pointer<decltype(expression)>::value) &&                            \
                             is_writable<std::remove_pointer_t<std::remove_reference_t<decltype(expression)>>>> {}
HOLDFAST_WRITABLE_BY(by_indirection, *std::declval<const T&>());
HOLDFAST_WRITABLE_BY(by_get, std::declval<const T&>().get());
HOLDFAST_WRITABLE_BY(by_data, std::declval<const T&>().data());
#undef HOLDFAST_WRITABLE_BY

template <class Members, class T>
constexpr bool hands_out();

template <class Members, class T, class = void>
struct element_hands_out : std::false_type {};
template <class Members, class T>
struct element_hands_out<Members, T, std::void_t<typename T::value_type>>
    : std::bool_constant<hands_out<Members, typename T::value_type>()> {};

template <class Members, class T>
struct elements_hand_out : std::false_type {};
template <class Members, template <class...> class Of, class... Elements>
struct elements_hand_out<Members, Of<Elements...>> : std::bool_constant<(hands_out<Members, Elements>() || ...)> {};

/// Whether a `T` could be a way to write a member: a pointer, a reference, an iterator, or what holds one.
template <class Members, class T>
constexpr bool hands_out() {
    if constexpr (std::is_reference<T>::value) {
        return is_writable<std::remove_reference_t<T>>;
    } else if constexpr (std::is_pointer<T>::value) {
        return is_writable<std::remove_pointer_t<T>> && !is_of_a_member<Members, std::remove_cv_t<T>>();
    } else if constexpr (std::is_class<T>::value && !is_of_a_member<Members, std::remove_cv_t<T>>()) {
        if constexpr (by_indirection<T>::value || by_get<T>::value || by_data<T>::value ||
                      elements_hand_out<Members, std::remove_cv_t<T>>::value || element_hands_out<Members, T>::value) {
            return true;
        } else if constexpr (std::is_aggregate<T>::value) {
            return has_pointer<T, Members>(std::make_index_sequence<8>{});
        }
    }
    return false;
}

template <class JoinPoint, int Index = 0>
constexpr bool arguments_can_be_copied() {
    if constexpr (Index < int{JoinPoint::ARGS}) {
        using type = typename JoinPoint::template Arg<Index>::Type;
        return (std::is_reference<type>::value || std::is_copy_constructible<type>::value) &&
               arguments_can_be_copied<JoinPoint, Index + 1>();
    } else {
        return true;
    }
}

/// `Members` is what the weaver knows of the class, `JoinPoint` what it knows of the function.
template <class JoinPoint, class Members>
struct signature {
    using result = typename function<typename JoinPoint::Entity>::result;
    using target = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<result>>>;
    static constexpr bool of_object = std::is_same<target, std::remove_cv_t<typename JoinPoint::That>>::value;
    static constexpr bool keeps_the_object = of_object || !hands_out<Members, result>();
    static constexpr bool result_is_copied = of_object || std::is_reference<result>::value ||
                                             std::is_void<result>::value || copied_as_bytes<result>;
    static constexpr bool arguments_are_copied = arguments_can_be_copied<JoinPoint>();
};

}  // namespace woven
}  // namespace holdfast
