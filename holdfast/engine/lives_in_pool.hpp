// Which types can live in a pool. The compiler rejects others and names the member that is wrong.
#pragma once

#include <holdfast/engine/members.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

/// Declares that a T can live in a pool, whatever the compiler finds in it:
///
///     template <>
///     inline constexpr bool holdfast::lives_in_pool<my_type> = true;
///
/// Then T is not checked. The program ensures that its bytes mean the same to the next process, and that each store to
/// it goes through a field, a wrap or an atomic block.
template <class T>
inline constexpr bool lives_in_pool = false;

/// Bytes that keep two members apart. They are never read, so no transaction needs to know of them.
template <std::size_t Bytes>
struct padding {
    std::byte unused[Bytes];
};
template <std::size_t Bytes>
inline constexpr bool lives_in_pool<padding<Bytes>> = true;

/// A type changed by its own transactions, which use no log: line<T>, lines<T> and woven classes.
template <class T>
concept made_of_lines = requires { typename T::holdfast_of_lines; } || requires { typename T::holdfast_woven; };

namespace detail {

/// Why a type cannot live in a pool.
enum class misfit { none, plain, owner, view, function, virtual_functions, lock, lines, unseen };

/// How a type is held: as the value of a field, or as an object made of fields.
enum class held_as { value, object };

/// This function's name contains the compiler's name for T, after "T = ".
template <class T>
consteval std::string_view name_of_type() {
    std::string_view name = __PRETTY_FUNCTION__;
    name.remove_prefix(name.find("T = ") + 4);
    return name;
}
template <class T>
consteval bool is_of_standard_library() {
    return name_of_type<T>().starts_with("std::");
}
template <class T>
consteval bool is_lock() {
    constexpr auto name = name_of_type<T>();
    if (name.starts_with("pthread_")) return true;
    if (!is_of_standard_library<T>()) return false;
    for (const std::string_view kind : {"atomic", "mutex", "recursive_mutex", "timed_mutex", "shared_mutex",
                                        "shared_timed_mutex", "condition_variable", "once_flag", "counting_semaphore",
                                        "latch", "barrier"}) {
        std::string_view rest = name.substr(5);
        if (rest.starts_with("__1::")) rest.remove_prefix(5);
        if (rest.starts_with(kind)) return true;
    }
    return false;
}

template <class T>
inline constexpr bool is_view = false;
template <class Character, class Traits>
inline constexpr bool is_view<std::basic_string_view<Character, Traits>> = true;
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;
template <class T>
inline constexpr bool is_view<std::initializer_list<T>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;

template <class T>
inline constexpr bool is_function_address =
    std::is_member_function_pointer_v<T> || std::is_function_v<std::remove_pointer_t<T>>;

/// The parts of what the standard library makes of other types.
template <class T>
struct parts {
    static constexpr bool are_known = false;
};
template <class... Members>
struct parts_are {
    static constexpr bool are_known = true;
    using type = member_list<Members...>;
};
template <class First, class Second>
struct parts<std::pair<First, Second>> : parts_are<First, Second> {};
template <class... Members>
struct parts<std::tuple<Members...>> : parts_are<Members...> {};
template <class T, std::size_t Count>
struct parts<std::array<T, Count>> : parts_are<T> {};
template <class T>
struct parts<std::optional<T>> : parts_are<T> {};
template <class... Members>
struct parts<std::variant<Members...>> : parts_are<Members...> {};
/// Bytes of their own, outside the parts, say which part is present; transactions do not know these bytes.
template <class T>
inline constexpr bool counts_its_parts = false;
template <class T>
inline constexpr bool counts_its_parts<std::optional<T>> = true;
template <class... Members>
inline constexpr bool counts_its_parts<std::variant<Members...>> = true;

/// What is wrong with T itself. Its members are another question.
template <class T, held_as As>
consteval misfit misfit_of() {
    if constexpr (lives_in_pool<T>) {
        return misfit::none;
    } else if constexpr (is_function_address<T>) {
        return misfit::function;
    } else if constexpr (!std::is_class_v<T> && !std::is_union_v<T>) {
        return As == held_as::value ? misfit::none : misfit::plain;
    } else if constexpr (is_view<T>) {
        return misfit::view;
    } else if constexpr (is_lock<T>()) {
        return misfit::lock;
    } else if constexpr (As == held_as::value) {
        // One of too many members is taken as it is: a value is wrong more rarely than an object.
        return std::is_aggregate_v<T> && !requires { T{}; } ? misfit::unseen : misfit::none;
    } else if constexpr (made_of_lines<T>) {
        return misfit::lines;
    } else if constexpr (std::is_polymorphic_v<T>) {
        return misfit::virtual_functions;
    } else if constexpr (std::is_empty_v<T>) {
        return misfit::none;
    } else if constexpr (std::is_trivially_copyable_v<T> || counts_its_parts<T>) {
        return misfit::plain;
    } else if constexpr (parts<T>::are_known) {
        return misfit::none;
    } else if constexpr (is_of_standard_library<T>()) {
        return misfit::owner;
    } else if constexpr (std::is_aggregate_v<T> && !has_base<T>) {
        return std::is_same_v<members_of<T>, unseen_members> ? misfit::unseen : misfit::none;
    } else {
        return misfit::none;
    }
}

/// Compilation stops here. Number counts the members of T from 1; 0 is T itself.
template <class T, int Number, misfit Reason>
struct refused;

#define HOLDFAST_REFUSED(number, subject)                                                                             \
    template <class T, misfit Reason>                                                                                \
    struct refused<T, number, Reason> {                                                                               \
        static_assert(Reason != misfit::plain,                                                                       \
                      subject " is plain, so no transaction sees what is stored to it: make it a field<T>");          \
        static_assert(Reason != misfit::owner,                                                                       \
                      subject " is of the standard library and keeps its contents outside the pool: use a container " \
                              "of holdfast");                                                                         \
        static_assert(Reason != misfit::view,                                                                        \
                      subject " refers to memory that it does not own, which another process does not have: keep a "  \
                              "string, or a pointer into the pool");                                                  \
        static_assert(Reason != misfit::function,                                                                    \
                      subject " is the address of a function, which is another one in the next process: keep a "      \
                              "number, and look the function up");                                                    \
        static_assert(Reason != misfit::virtual_functions,                                                           \
                      subject " has virtual functions, whose table is elsewhere in the next process: keep a "         \
                              "number that says the kind");                                                           \
        static_assert(Reason != misfit::lock,                                                                        \
                      subject " is a lock or an atomic, and stays as a process that died left it: keep it outside "   \
                              "the pool");                                                                            \
        static_assert(Reason != misfit::lines,                                                                       \
                      subject " is of lines or woven, which live in a line_pool: here nothing would make them "       \
                              "durable");                                                                             \
        static_assert(Reason != misfit::unseen,                                                                      \
                      subject " cannot be looked into (48 members at most, each made by {}): declare "                \
                              "holdfast::lives_in_pool<T>");                                                          \
    }
HOLDFAST_REFUSED(0, "this type");
HOLDFAST_REFUSED(1, "member 1 of this type");
HOLDFAST_REFUSED(2, "member 2 of this type");
HOLDFAST_REFUSED(3, "member 3 of this type");
HOLDFAST_REFUSED(4, "member 4 of this type");
HOLDFAST_REFUSED(5, "member 5 of this type");
HOLDFAST_REFUSED(6, "member 6 of this type");
HOLDFAST_REFUSED(7, "member 7 of this type");
HOLDFAST_REFUSED(8, "member 8 of this type");
HOLDFAST_REFUSED(9, "member 9 of this type");
HOLDFAST_REFUSED(10, "member 10 of this type");
HOLDFAST_REFUSED(11, "member 11 of this type");
HOLDFAST_REFUSED(12, "member 12 of this type");
HOLDFAST_REFUSED(13, "member 13 of this type");
HOLDFAST_REFUSED(14, "member 14 of this type");
HOLDFAST_REFUSED(15, "member 15 of this type");
HOLDFAST_REFUSED(16, "member 16 of this type");
HOLDFAST_REFUSED(17, "member 17 of this type");
HOLDFAST_REFUSED(18, "member 18 of this type");
HOLDFAST_REFUSED(19, "member 19 of this type");
HOLDFAST_REFUSED(20, "member 20 of this type");
HOLDFAST_REFUSED(21, "member 21 of this type");
HOLDFAST_REFUSED(22, "member 22 of this type");
HOLDFAST_REFUSED(23, "member 23 of this type");
HOLDFAST_REFUSED(24, "member 24 of this type");
HOLDFAST_REFUSED(25, "member 25 of this type");
HOLDFAST_REFUSED(26, "member 26 of this type");
HOLDFAST_REFUSED(27, "member 27 of this type");
HOLDFAST_REFUSED(28, "member 28 of this type");
HOLDFAST_REFUSED(29, "member 29 of this type");
HOLDFAST_REFUSED(30, "member 30 of this type");
HOLDFAST_REFUSED(31, "member 31 of this type");
HOLDFAST_REFUSED(32, "member 32 of this type");
HOLDFAST_REFUSED(33, "member 33 of this type");
HOLDFAST_REFUSED(34, "member 34 of this type");
HOLDFAST_REFUSED(35, "member 35 of this type");
HOLDFAST_REFUSED(36, "member 36 of this type");
HOLDFAST_REFUSED(37, "member 37 of this type");
HOLDFAST_REFUSED(38, "member 38 of this type");
HOLDFAST_REFUSED(39, "member 39 of this type");
HOLDFAST_REFUSED(40, "member 40 of this type");
HOLDFAST_REFUSED(41, "member 41 of this type");
HOLDFAST_REFUSED(42, "member 42 of this type");
HOLDFAST_REFUSED(43, "member 43 of this type");
HOLDFAST_REFUSED(44, "member 44 of this type");
HOLDFAST_REFUSED(45, "member 45 of this type");
HOLDFAST_REFUSED(46, "member 46 of this type");
HOLDFAST_REFUSED(47, "member 47 of this type");
HOLDFAST_REFUSED(48, "member 48 of this type");
#undef HOLDFAST_REFUSED

template <class T, held_as As>
consteval bool check_type();

/// Member `Number` of `Of`, and what it is made of.
template <class Of, int Number, class Member, held_as As>
consteval bool check_member() {
    using type = std::remove_cv_t<std::remove_all_extents_t<Member>>;
    constexpr misfit reason = misfit_of<type, As>();
    if constexpr (reason != misfit::none) {
        return std::is_empty_v<refused<Of, Number, reason>>;
    } else {
        return check_type<type, As>();
    }
}
template <class Of, held_as As, class... Members, std::size_t... Indices>
consteval bool check_members(member_list<Members...>, std::index_sequence<Indices...>) {
    return (check_member<Of, static_cast<int>(Indices) + 1, Members, As>() && ...);
}
template <class Of, held_as As, class... Members>
consteval bool check_members(member_list<Members...> list) {
    return check_members<Of, As>(list, std::index_sequence_for<Members...>{});
}

/// What T is made of. T itself was asked.
template <class T, held_as As>
consteval bool check_type() {
    if constexpr (lives_in_pool<T> || !std::is_class_v<T> || std::is_empty_v<T>) {
        return true;
    } else if constexpr (parts<T>::are_known) {
        return check_members<T, As>(typename parts<T>::type{});
    } else if constexpr (std::is_aggregate_v<T> && !has_base<T>) {
        // The value of a field need not be seen whole: what it may be was asked of T.
        if constexpr (!std::is_same_v<members_of<T>, unseen_members>) return check_members<T, As>(members_of<T>{});
        return true;
    } else {
        return true;
    }
}

/// True; otherwise compilation stops with a message that says what cannot live in a pool.
///
/// It checks aggregates, arrays, pairs, tuples, optionals and variants. It does not see private members, or members of
/// bases and of classes with constructors.
template <class T, held_as As>
inline constexpr bool can_live = check_member<T, 0, T, As>();

}  // namespace detail
}  // namespace holdfast
